import { type Call, checkCall } from "../../domain/call.js";
import type { StorageProvider, SweepOptions, SweepReport } from "../storage-provider.js";
import type { AttachmentRemoval } from "./attachments/attachment-removal.js";
import { DraftSweep } from "./drafts/draft-sweep.js";
import type { Editor } from "./edit/editor.js";
import type { HistoryContext } from "./heads.js";
import type { DroppedRange, Markable, Segment, SessionRecord } from "./log-store.js";
import { tombstoneOf } from "./record-facts.js";
import { Again } from "./retries.js";
import { OPEN_END } from "./segments.js";
import { SweepFailures } from "./sweep-failures.js";
import { nextOf } from "./write/record-replacer.js";

/** How many records are read at a time. */
const BATCH = 100;
/**
 * A record that is being restored counts as abandoned once its mark is this many times as old as other marks must be
 * for a sweep: 144 times ten minutes, which is a day.
 */
const ABANDONED_AGES = 144;

/**
 * Removes what nothing names any more. A sweep may be killed at any point; the next one finishes its work. The file is
 * long because it has every kind of what is removed, in the order in which it must be.
 */
export class Sweeper {
  readonly #context: HistoryContext;
  readonly #drafts: DraftSweep;
  readonly #editor: Editor;
  readonly #removal: AttachmentRemoval;

  constructor(context: HistoryContext, editor: Editor, removal: AttachmentRemoval) {
    this.#context = context;
    this.#drafts = new DraftSweep(context, (range, call) => this.#deleteRange(range, call));
    this.#editor = editor;
    this.#removal = removal;
  }

  /** Implements {@link StorageProvider.sweep}. */
  async run(options: SweepOptions = {}): Promise<SweepReport> {
    const report = { sessions: 0, ranges: 0, attachments: 0, repairedForks: 0, orphans: 0 };
    const failures = new SweepFailures(this.#context.options);
    const soFar = () => ({ ...report, failed: failures.count });
    const reportProgress = () => options.onProgress?.(soFar());
    if (options.repair) await this.#repair(report, reportProgress, options);
    await this.#deleteExpired(failures, options);
    await this.#emptyBin(failures, options);
    await this.#pruneFeed(options);
    const { store, options: own } = this.#context;
    // Rule: sweep-old-only.
    const ageMs = own.sweepAgeMs;
    // Rule: sweep-store-clock.
    const untilMs = (await store.timeMs(options)) - ageMs;
    await this.#drafts.run(untilMs, failures, options, () => {
      report.ranges++;
      reportProgress();
    });
    await this.#removal.sweep(failures, options, () => {
      report.attachments++;
      reportProgress();
    });
    // Records that are being restored stay in the list until they are a day old, and those that could not be swept
    // until a later sweep. Each batch is longer by their number, so that they do not hide what comes after them.
    const stays = (record: SessionRecord) => record.restoring || failures.has(record);
    let staying = 0;
    for (;;) {
      checkCall(options);
      const batch = await store.listSweepable(untilMs, BATCH + staying, options);
      // This time is after the batch was read. What is marked now was not needed any more then, so a sweep may remove
      // it ten minutes after this time.
      const nowMs = batch.length === 0 ? 0 : await store.timeMs(options);
      let changed = 0;
      for (const record of batch) {
        const step = () => this.#sweepRecord(record, untilMs, nowMs, report, options);
        if (!(await failures.attempt(record, options, step))) continue;
        if (!record.restoring) changed++;
        reportProgress();
      }
      const before = staying;
      staying = batch.filter(stays).length;
      // Something that was just swept may have been the last user of something else, so look again. Records that
      // another sweep is working on do not count.
      if (changed === 0 && staying <= before) return soFar();
    }
  }

  /** Deletes expired sessions, as the first step of a sweep does. */
  async deleteExpired(call: Call = {}): Promise<void> {
    await this.#deleteExpired(new SweepFailures(this.#context.options), call);
  }

  /** Removes what the feed keeps for readers that have stayed away too long. */
  async #pruneFeed(call: Call): Promise<void> {
    const { store, options } = this.#context;
    await store.feed?.prune((await store.timeMs(call)) - options.feedRetentionMs, call);
  }

  /** Resolves to false if another sweep is working on the record. */
  async #sweepRecord(
    record: SessionRecord,
    untilMs: number,
    nowMs: number,
    report: { sessions: number; ranges: number },
    call: Call,
  ): Promise<boolean> {
    if (record.restoring) await this.#endAbandoned(record, nowMs, call);
    else if (!record.deleted) report.ranges += await this.#sweepDropped(record, untilMs, nowMs, call);
    else if (record.markedAtMs === null) await this.#markTombstone(record, nowMs, call);
    else if (await this.#sweepTombstone(record, call)) report.sessions++;
    else return false;
    return true;
  }

  /** Deletes expired sessions as DeleteSession does. What they leave behind is cleared away with the rest. */
  async #deleteExpired(failures: SweepFailures, call: Call): Promise<void> {
    const { store, options } = this.#context;
    // Brings the store's clock up to date, because that clock decides what has expired.
    await store.timeMs(call);
    const nowMicros = this.#context.storeMicros();
    const isKept = options.retentionMs === Number.POSITIVE_INFINITY;
    const bounds = {
      expireTimeMicros: nowMicros,
      ...(!isKept && { updateTimeMicros: nowMicros - options.retentionMs * 1000 }),
    };
    for (;;) {
      checkCall(call);
      const failed = failures.count;
      // A session that has failed may be listed twice: for its own expiry, and because its retention is over.
      const batch = await store.listExpired(bounds, BATCH + 2 * failed, call);
      let deleted = 0;
      for (const record of batch) {
        const step = () => this.#editor.deleteExpired(record.sessionId, call);
        if (await failures.attempt(record, call, step)) deleted++;
      }
      // The remaining ones have failed or were changed meanwhile, or another sweep is deleting them.
      if (deleted === 0 && failures.count === failed) return;
    }
  }

  /** Makes plain tombstones of deleted sessions that cannot be brought back any more, also of those with forks. */
  async #emptyBin(failures: SweepFailures, call: Call): Promise<void> {
    const { store } = this.#context;
    if (store.bin === undefined) return;
    const nowMicros = Math.floor((await store.timeMs(call)) * 1000);
    for (;;) {
      checkCall(call);
      const failed = failures.count;
      const batch = await store.bin.listDue(nowMicros, BATCH + failed, call);
      let emptied = 0;
      for (const record of batch) {
        // Rule: bin-emptied-first. From here on the session cannot be brought back, so its entries may be deleted.
        const next = { ...tombstoneOf(nextOf(record)), revision: record.revision + 1 };
        const step = async () => (await store.replaceRecord(next, record.revision, call)) !== null;
        if (await failures.attempt(record, call, step)) emptied++;
      }
      if (emptied === 0 && failures.count === failed) return;
    }
  }

  /** Marks a record that is being restored. Once nobody has finished it for long enough, makes it a plain tombstone. */
  async #endAbandoned(record: SessionRecord, nowMs: number, call: Call): Promise<void> {
    const { markedAtMs } = record;
    const untilMs = nowMs - this.#context.options.sweepAgeMs * ABANDONED_AGES;
    if (markedAtMs !== null && markedAtMs > untilMs) return;
    const changed = { ...nextOf(record), revision: record.revision + 1 };
    // Rule: restoring-ended-first. From here on the record cannot be published, so its entries may be deleted.
    const ended =
      markedAtMs === null ? { ...changed, markedAtMs: nowMs } : { ...changed, restoring: undefined, markedAtMs: null };
    await this.#context.store.replaceRecord(ended, record.revision, call);
  }

  /**
   * Marks a tombstone without forks. Those of its sources that are tombstones themselves, with no other fork, are
   * marked along with it, because only this record still needs them. So a chain of deleted sessions is cleared in one
   * sweep.
   */
  async #markTombstone(first: SessionRecord, firstMs: number, call: Call): Promise<void> {
    const { store } = this.#context;
    const waiting = [{ record: first, nowMs: firstMs }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { record, nowMs } = next;
      const sources = await Promise.all(record.sources.map((uid) => store.readRecordByUid(uid, call)));
      const marked = { ...nextOf(record), revision: record.revision + 1, markedAtMs: nowMs };
      // If this replacement succeeds, the record existed, and was a fork of its sources, when they were read.
      if (!(await store.replaceRecord(marked, record.revision, call))) continue;
      for (const source of sources) {
        if (!source?.deleted || source.restoring || source.bin || source.forks !== 1) continue;
        waiting.push({ record: source, nowMs: await store.timeMs(call) });
      }
    }
  }

  /**
   * Removes the entries, the record, and the entries that a slow writer has added since. Then each source has one fork
   * less.
   */
  async #sweepTombstone({ uid, sources }: SessionRecord, call: Call): Promise<boolean> {
    const { store } = this.#context;
    await this.#deleteAll({ uid }, call);
    // Whoever removes the record must learn that it did and lower the sources, so this step ignores the end of the
    // call.
    const isOurs = await store.deleteRecord(uid);
    try {
      // Rule: entries-after-record.
      await this.#deleteAll({ uid }, call);
    } finally {
      // Rule: lower-once.
      if (isOurs) {
        for (const source of sources) await store.addFork(source, -1);
      }
    }
    return isOurs;
  }

  /**
   * Clears away ranges with an old mark, removes the names of copies with one, and marks the rest. Resolves to how many
   * ranges were cleared.
   */
  async #sweepDropped(seen: SessionRecord, untilMs: number, seenMs: number, call: Call): Promise<number> {
    const { store, measuring, quotas } = this.#context;
    const isOld = ({ markedAtMs }: Markable) => markedAtMs !== undefined && markedAtMs <= untilMs;
    const old = seen.dropped.filter(isOld);
    const bytes = new Map<Segment, number>();
    for (const range of old) {
      bytes.set(range, await measuring.bytesOfMarked(seen, range, range, call));
      await this.#deleteRange(range, call);
    }
    let first: { readonly now: SessionRecord; readonly nowMs: number } | null = { now: seen, nowMs: seenMs };
    return this.#context.retrying(seen.sessionId, call, async (saw) => {
      const now = first?.now ?? (await store.readRecordByUid(seen.uid, call));
      const nowMs = first?.nowMs ?? (await store.timeMs(call));
      first = null;
      if (!now || now.deleted || now.forks > 0) return old.length;
      saw(now);
      // Only copies are ever marked.
      const dead = now.namedLogs.filter(isOld).map(({ log }) => ({ log, first: 1, last: OPEN_END }));
      const left = now.dropped.filter((range) => !old.some((swept) => isSameRange(swept, range)));
      const dropped: DroppedRange[] = [];
      for (const range of left) dropped.push(await measuring.mark(now, range, range, nowMs, call));
      const next = {
        ...nextOf(now),
        revision: now.revision + 1,
        namedLogs: now.namedLogs
          .filter((named) => !isOld(named))
          .map((named) => (named.purpose === "copy" ? marked(named, nowMs) : named)),
        dropped: [...dropped, ...dead],
      };
      if (!(await store.replaceRecord(next, now.revision, call))) throw new Again();
      // Another sweep may have cleared away the same ranges. The one that removes them from the record counts them.
      for (const range of old) {
        if (now.dropped.some((one) => isSameRange(one, range))) quotas.note(now, -(bytes.get(range) ?? 0));
      }
      return old.length;
    });
  }

  /** Deletes a range, and the attachments that only its entries have named. */
  async #deleteRange(range: Segment, call: Call): Promise<void> {
    const targets = await this.#removal.targetsIn(range, call);
    await this.#deleteAll(range, call);
    await this.#removal.removeLeft(targets, call);
  }

  async #deleteAll(target: { readonly uid: string } | Segment, call: Call): Promise<void> {
    while (await this.#context.store.deleteEntries(target, this.#context.options.chunk, call)) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /**
   * Recounts forks, and bytes where they are counted, and deletes entries without an owner. Must only run while nobody
   * else writes.
   */
  async #repair(
    report: { repairedForks: number; orphans: number },
    reportProgress: () => void,
    call: Call,
  ): Promise<void> {
    const { store } = this.#context;
    const forks = new Map<string, number>();
    const named = new Map<string, number>();
    for (let after = ""; ; ) {
      const records = await store.scanRecords(after, BATCH, call);
      for (const record of records) {
        forks.set(record.uid, record.forks);
        if ((!record.deleted || record.bin) && this.#context.counts.counts(record)) {
          await this.#context.measuring.recount(record, call);
        }
        for (const source of record.sources) named.set(source, (named.get(source) ?? 0) + 1);
        after = record.uid;
      }
      if (records.length < BATCH) break;
    }
    for (const [uid, count] of forks) {
      const right = named.get(uid) ?? 0;
      if (right === count) continue;
      for (let i = count; i > right; i--) await store.addFork(uid, -1, call);
      for (let i = count; i < right; i++) await store.addFork(uid, 1, call);
      report.repairedForks++;
      reportProgress();
    }
    for (let orphans = await store.listOrphans(BATCH, call); orphans.length > 0; ) {
      for (const uid of orphans) {
        await this.#deleteAll({ uid }, call);
        report.orphans++;
        reportProgress();
      }
      orphans = await store.listOrphans(BATCH, call);
    }
  }
}

/** Whether two dropped ranges are the same one: ranges of one log never overlap. */
function isSameRange(a: Segment, b: Segment): boolean {
  return a.log === b.log && a.first === b.first;
}

function marked<T extends Markable>(one: T, nowMs: number): T {
  return { ...one, markedAtMs: one.markedAtMs ?? nowMs };
}
