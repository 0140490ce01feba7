import { type Call, checkCall } from "../../domain/call.js";
import type { SweepOptions, SweepReport } from "../storage-provider.js";
import type { HistoryContext } from "./heads.js";
import type { Segment, SessionRecord, Sweepable } from "./log-store.js";
import { nextOf } from "./record-writer.js";

/** Records looked at in one go. */
const BATCH = 100;

/** Clears away what nothing names any more. Killed at any point, the next one finishes. */
export class Sweeper {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** See StorageProvider.sweep. */
  async run(options: SweepOptions = {}): Promise<SweepReport> {
    const report = { sessions: 0, ranges: 0, repairedForks: 0, orphans: 0 };
    const tell = () => options.onProgress?.({ ...report });
    if (options.repair) await this.#repair(report, tell, options);
    const ageMs = this.#context.keeps("sweep-old-only") ? this.#context.options.sweepAgeMs : 0;
    for (let previous = ""; ; ) {
      checkCall(options);
      const batch = await this.#context.store.listSweepable(ageMs, BATCH, options);
      for (const sweepable of batch) {
        if (sweepable.record.deletedAtMs !== null) {
          if (await this.#sweepTombstone(sweepable.record, options)) report.sessions++;
        } else {
          report.ranges += await this.#sweepDropped(sweepable, options);
        }
        tell();
      }
      // What could not be cleared (somebody else is at it) must not keep this sweep going for ever.
      const seen = batch.map(({ record }) => `${record.uid} ${record.revision}`).join();
      if (batch.length < BATCH || seen === previous) return report;
      previous = seen;
    }
  }

  /** Entries, the record, and the entries once more: a slow writer may have come in between. Then the sources have one fork less. */
  async #sweepTombstone({ uid, sources }: SessionRecord, call: Call): Promise<boolean> {
    const { store } = this.#context;
    await this.#deleteAll({ uid }, call);
    const isOurs = await store.deleteRecord(uid, call);
    if (this.#context.keeps("entries-after-record")) await this.#deleteAll({ uid }, call);
    if (isOurs || !this.#context.keeps("lower-once")) {
      for (const source of sources) await store.addFork(source, -1, undefined, call);
    }
    return isOurs;
  }

  async #sweepDropped({ record, dropped }: Sweepable, call: Call): Promise<number> {
    const { store } = this.#context;
    for (const range of dropped) await this.#deleteAll(range, call);
    const isSwept = (range: Segment) =>
      dropped.some(({ log, first, last }) => range.log === log && range.first === first && range.last === last);
    for (;;) {
      const now = await store.readRecord(record.sessionId, {}, call);
      if (now?.uid !== record.uid) return dropped.length;
      const next = {
        ...nextOf(now),
        revision: now.revision + 1,
        dropped: now.dropped.filter((range) => !isSwept(range)),
      };
      if (await store.replaceRecord(next, now.revision, call)) return dropped.length;
      await this.#context.jitter(call);
    }
  }

  async #deleteAll(target: { readonly uid: string } | Segment, call: Call): Promise<void> {
    while (await this.#context.store.deleteEntries(target, this.#context.options.chunk, call)) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /** Recounts forks and deletes entries without an owner. Only while nobody else writes. */
  async #repair(report: { repairedForks: number; orphans: number }, tell: () => void, call: Call): Promise<void> {
    const { store } = this.#context;
    const forks = new Map<string, number>();
    const named = new Map<string, number>();
    for (let after = ""; ; ) {
      const records = await store.scanRecords(after, BATCH, call);
      for (const record of records) {
        forks.set(record.uid, record.forks);
        for (const source of record.sources) named.set(source, (named.get(source) ?? 0) + 1);
        after = record.uid;
      }
      if (records.length < BATCH) break;
    }
    for (const [uid, count] of forks) {
      const right = named.get(uid) ?? 0;
      if (right === count) continue;
      for (let i = count; i > right; i--) await store.addFork(uid, -1, undefined, call);
      for (let i = count; i < right; i++) await store.addFork(uid, 1, undefined, call);
      report.repairedForks++;
      tell();
    }
    for (let orphans = await store.listOrphans(BATCH, call); orphans.length > 0; ) {
      for (const uid of orphans) {
        await this.#deleteAll({ uid }, call);
        report.orphans++;
        tell();
      }
      orphans = await store.listOrphans(BATCH, call);
    }
  }
}
