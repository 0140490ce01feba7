import { type Call, checkCall } from "../../../domain/call.js";
import type { StorageProvider } from "../../storage-provider.js";
import type { HistoryContext } from "../heads.js";
import type { DraftRef, SessionRecord } from "../log-store.js";
import { openDrafts } from "../record-facts.js";
import { isVerdict } from "./draft-entry.js";
import type { Drafts } from "./drafts.js";

/** How many records are read at a time. */
const BATCH = 100;

/** Ends drafts that nobody extends any more. */
export class AbandonedDrafts {
  readonly #context: HistoryContext;
  readonly #drafts: Drafts;

  constructor(context: HistoryContext, drafts: Drafts) {
    this.#context = context;
    this.#drafts = drafts;
  }

  /** Implements {@link StorageProvider.endAbandonedDrafts}. */
  async end(call?: Call): Promise<number> {
    const { store, options } = this.#context;
    const logs = new Set<string>();
    let ended = 0;
    for (let after: string | undefined = ""; after !== undefined; ) {
      checkCall(call);
      const records: readonly SessionRecord[] = await store.listDrafting(after, BATCH, call);
      // Drafts of expired sessions are left to the sweep, which deletes these sessions.
      for (const record of records.filter((one) => !this.#context.isExpired(one))) {
        for (const ref of openDrafts(record)) {
          logs.add(ref.log);
          if (await this.#look(record, ref, call)) ended++;
        }
      }
      after = records.length < BATCH ? undefined : records.at(-1)?.uid;
    }
    for (const log of options.seenDrafts.keys()) if (!logs.has(log)) options.seenDrafts.delete(log);
    return ended;
  }

  /** Resolves to whether it has ended the draft. A failure is reported and does not affect the other drafts. */
  async #look(record: SessionRecord, ref: DraftRef, call?: Call): Promise<boolean> {
    const { seenDrafts, clockMs, draftTimeoutMs } = this.#context.options;
    try {
      const { last } = await this.#context.store.tail(ref.log, call);
      const version = last?.seq ?? 0;
      const isDecided = last !== null && isVerdict(last.id);
      const before = seenDrafts.get(ref.log);
      const nowMs = clockMs();
      const since = before?.version === version ? before : { version, sinceMs: nowMs };
      seenDrafts.set(ref.log, since);
      // Rule: abandoned-by-own-watch.
      const isAbandoned = nowMs - since.sinceMs >= draftTimeoutMs;
      return (isDecided || isAbandoned) && (await this.#end(record, ref, version, call));
    } catch (error) {
      checkCall(call);
      const draft = `Draft ${JSON.stringify(ref.messageId)} of session ${JSON.stringify(record.sessionId)}`;
      this.#context.options.onAnomaly(`${draft} could not be ended`, error);
      return false;
    }
  }

  async #end(record: SessionRecord, ref: DraftRef, version: number, call?: Call): Promise<boolean> {
    const draft = await this.#drafts.finder.load(record.sessionId, ref.messageId, call);
    if (draft?.ref.log !== ref.log || draft.ref.end !== undefined || draft.state.version !== version) return false;
    if (draft.state.end !== null) {
      await this.#drafts.completer.carryOut(draft, call);
      return true;
    }
    const isDropped = ref.discardWhenAbandoned || version === 0;
    const interrupted = { kind: "finished", deltas: [], metadata: { interrupted: true } } as const;
    return this.#drafts.decide(draft, isDropped ? { kind: "discarded" } : interrupted, call);
  }
}
