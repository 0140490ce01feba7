import type { Call } from "../../../domain/call.js";
import type { Head, HistoryContext } from "../heads.js";
import type { NamedLog, SessionRecord } from "../log-store.js";
import { namesLog } from "../record-facts.js";
import { Again } from "../retries.js";
import { nextOf, type RecordReplacer } from "./record-replacer.js";

/** The logs other than the open one, which a record names before entries are written to them. */
export class NamedLogs {
  readonly #context: HistoryContext;
  readonly #replacer: RecordReplacer;

  constructor(context: HistoryContext, replacer: RecordReplacer) {
    this.#context = context;
    this.#replacer = replacer;
  }

  /**
   * Makes the record name a fresh log, so that entries may be appended to it. A log for a copy is added to the others;
   * a log for older messages replaces the previous one. Resolves to the head with that record; null when somebody else
   * was first.
   */
  async name(head: Head, purpose: NamedLog["purpose"], call?: Call): Promise<{ head: Head; log: string } | null> {
    const { record } = head;
    const log = this.#context.newLog(record.uid);
    const others = record.namedLogs.filter((named) => purpose === "copy" || named.purpose !== purpose);
    const stored = await this.#replacer.replace(
      record,
      { ...nextOf(record), namedLogs: [...others, { log, purpose }] },
      call,
    );
    return stored && { head: { ...head, record: stored }, log };
  }

  /** Removes the name of an unneeded log from the record, so that its entries can be swept. */
  unname({ uid, sessionId }: SessionRecord, log: string, call?: Call): Promise<void> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const record = await this.#context.store.readRecordByUid(uid, call);
      if (!record || !namesLog(record, log)) return;
      saw(record);
      const namedLogs = record.namedLogs.filter((named) => named.log !== log);
      if (!(await this.#replacer.replace(record, { ...nextOf(record), namedLogs }, call))) throw new Again();
    });
  }
}

/** The named logs except those of copies. Copies were begun for a different history, so their writers start over. */
export function withoutCopies({ namedLogs }: SessionRecord): readonly NamedLog[] {
  return namedLogs.filter(({ purpose }) => purpose !== "copy");
}
