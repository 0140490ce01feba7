import { type Call, checkCall } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";
import type { DraftRef, Segment, SessionRecord } from "../log-store.js";
import { isOpenDraft } from "../record-facts.js";
import { OPEN_END } from "../segments.js";
import type { SweepFailures } from "../sweep-failures.js";
import { nextOf } from "../write/record-replacer.js";

/** How many records are read at a time. */
const BATCH = 100;

/**
 * Clears away the logs of ended drafts ten minutes after a sweep has seen that they ended. No other session ever names
 * such a log, so forks do not keep it.
 */
export class DraftSweep {
  readonly #context: HistoryContext;
  readonly #deleteAll: (range: Segment, call: Call) => Promise<void>;

  constructor(context: HistoryContext, deleteAll: (range: Segment, call: Call) => Promise<void>) {
    this.#context = context;
    this.#deleteAll = deleteAll;
  }

  /** Calls `onSwept` for each log that was cleared away. A mark of `untilMs` or earlier is old enough. */
  async run(untilMs: number, failures: SweepFailures, call: Call, onSwept: () => void): Promise<void> {
    const { store } = this.#context;
    for (let after: string | undefined = ""; after !== undefined; ) {
      checkCall(call);
      const records: readonly SessionRecord[] = await store.listDrafting(after, BATCH, call);
      const hasEnded = records.filter(({ drafts }) => !drafts.every(isOpenDraft));
      const nowMs = hasEnded.length === 0 ? 0 : await store.timeMs(call);
      for (const record of hasEnded) {
        await failures.attempt(record, call, () => this.#sweep(record, untilMs, nowMs, call, onSwept));
      }
      after = records.length < BATCH ? undefined : records.at(-1)?.uid;
    }
  }

  /** If the record was replaced meanwhile, the next sweep does it. */
  async #sweep(record: SessionRecord, untilMs: number, nowMs: number, call: Call, onSwept: () => void): Promise<void> {
    const isOld = (draft: DraftRef) => !isOpenDraft(draft) && (draft.markedAtMs ?? Number.POSITIVE_INFINITY) <= untilMs;
    // Rule: sweep-old-only.
    const old = record.drafts.filter(isOld);
    const { measuring, quotas, store } = this.#context;
    let bytes = 0;
    for (const draft of old) {
      bytes += await measuring.bytesOfMarked(record, draft, rangeOf(draft), call);
      await this.#deleteAll(rangeOf(draft), call);
    }
    const drafts: DraftRef[] = [];
    for (const draft of record.drafts.filter((one) => !old.includes(one))) {
      drafts.push(isOpenDraft(draft) ? draft : await measuring.mark(record, draft, rangeOf(draft), nowMs, call));
    }
    const isMarked = record.drafts.every((draft) => isOpenDraft(draft) || draft.markedAtMs !== undefined);
    if (isMarked && old.length === 0) return;
    const next = { ...nextOf(record), revision: record.revision + 1, drafts };
    if (!(await store.replaceRecord(next, record.revision, call))) return;
    quotas.note(record, -bytes);
    for (const _ of old) onSwept();
  }
}

function rangeOf({ log }: DraftRef): Segment {
  return { log, first: 1, last: OPEN_END };
}
