import { type Call, checkCall } from "../../domain/call.js";
import type { ByteCounts } from "./byte-counts.js";
import type { ResolvedHistoryOptions } from "./history-options.js";
import type { LogStore, Markable, Segment, SessionRecord } from "./log-store.js";
import { OPEN_END, ownRanges } from "./segments.js";

/** How many records are read at a time. */
const BATCH = 100;
/** How long after sessions were looked for that are not counted they may be looked for again. */
const PAUSE_MS = 60_000;

/** Measures the entries of sessions whose bytes are not counted yet, and those whose count may be wrong. */
export class Measuring {
  readonly #store: LogStore;
  readonly #options: ResolvedHistoryOptions;
  readonly #counts: ByteCounts;
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  #endedMs = Number.NEGATIVE_INFINITY;

  constructor(store: LogStore, options: ResolvedHistoryOptions, counts: ByteCounts) {
    this.#store = store;
    this.#options = options;
    this.#counts = counts;
  }

  /** Begins to measure, in the background, the sessions that are not counted, unless that has just been done. */
  begin(): void {
    const { clockMs, onAnomaly } = this.#options;
    if (this.#running !== null || this.#stop.signal.aborted || clockMs() - this.#endedMs < PAUSE_MS) return;
    const { signal } = this.#stop;
    this.#running = this.#measureUncounted({ signal })
      .catch((error: unknown) => {
        if (!signal.aborted) onAnomaly("The bytes of earlier sessions could not be counted", error);
      })
      .finally(() => {
        this.#running = null;
        this.#endedMs = clockMs();
      });
  }

  /** Ends the work in the background, which goes on the next time. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Counts the bytes of a session anew. What others write meanwhile may be counted twice or not at all. */
  async recount(record: SessionRecord, call: Call): Promise<void> {
    await this.#counts.forget(record);
    const attached = (await this.#store.attachments?.usage(record.uid, call))?.bytes ?? 0;
    const bytes = attached + (await this.#bytesOf(ownRanges(record), call));
    await this.#store.setBytes(new Map([[record.uid, bytes]]), call);
  }

  /**
   * Marks what a sweep has found, with the bytes of the range that it stands for if those are counted. An earlier mark
   * stays. The bytes are kept with the mark so that they are counted down exactly once, by the sweep that removes it
   * from the record, even if several sweeps clear the same range away.
   */
  async mark<T extends Markable>(record: SessionRecord, one: T, range: Segment, nowMs: number, call: Call): Promise<T> {
    if (one.markedAtMs !== undefined) return one;
    const counted = this.#counts.counts(record) && { bytes: await this.#bytesOf([range], call) };
    return { ...one, markedAtMs: nowMs, ...counted };
  }

  /**
   * By how much the count of a session falls when what a sweep has marked is cleared away. Measures the range, which
   * must still be there, if the sweep did not count.
   */
  async bytesOfMarked(record: SessionRecord, { bytes }: Markable, range: Segment, call: Call): Promise<number> {
    if (!this.#counts.counts(record)) return 0;
    return bytes ?? (await this.#bytesOf([range], call));
  }

  async #measureUncounted(call: Call): Promise<void> {
    for (let after = ""; ; ) {
      checkCall(call);
      const records = await this.#store.scanRecords(after, BATCH, call);
      for (const { uid, isCounted } of records) {
        after = uid;
        // Other processes measure as well.
        const record = isCounted ? null : await this.#store.readRecordByUid(uid, call);
        if (record === null || record.deleted || record.isCounted) continue;
        await this.recount(record, call);
        const { forks: _forks, ...rest } = record;
        // If somebody else has changed the record meanwhile, it is measured again the next time.
        const counted = { ...rest, isCounted: true as const, revision: record.revision + 1 };
        await this.#store.replaceRecord(counted, record.revision, call);
      }
      if (records.length < BATCH) return;
    }
  }

  /** Reads ranges piece by piece, so that other work can run in between. */
  async #bytesOf(ranges: readonly Segment[], call: Call): Promise<number> {
    const { chunk } = this.#options;
    let bytes = 0;
    for (const { log, first, last } of ranges) {
      const end = last === OPEN_END ? ((await this.#store.tail(log, call)).last?.seq ?? 0) : last;
      for (let from = first; from <= end; from += chunk) {
        checkCall(call);
        bytes += await this.#store.entryBytes([{ log, first: from, last: Math.min(end, from + chunk - 1) }], call);
      }
    }
    return bytes;
  }
}
