import { permits } from "../../../domain/access.js";
import type { Call } from "../../../domain/call.js";
import { DomainError } from "../../../domain/errors.js";
import type { Head, HistoryContext } from "../heads.js";
import type { NextRecord } from "../log-store.js";

/**
 * Raises and lowers the `forks` of sessions whose logs another record is about to name. These steps go on after the end
 * of the call, because a caller that does not learn whether a count was raised cannot know whether to lower it.
 */
export class ForkCounts {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /**
   * Raises a source in the step that reads its record. From then on, everything it names is protected, however long
   * reading the head takes. Null when there is no source that the caller may see.
   */
  async loadRaised(sessionId: string, call: Call | undefined): Promise<Head | null> {
    const { store } = this.#context;
    // Rule: hidden-not-written.
    if (call?.access !== undefined && !(await this.#context.visibleRecord(sessionId, call))) return null;
    const atMs = this.#context.knownMs();
    const record = await store.raiseForks(sessionId);
    if (!record) return null;
    // Rule: access-by-the-record.
    if (this.#context.isExpired(record) || !permits(call, record)) {
      await this.lower(record.uid);
      return null;
    }
    try {
      const head = await this.#context.headOf(record, atMs);
      this.#context.remember(head);
      return head;
    } catch (error) {
      await this.lower(record.uid);
      throw error;
    }
  }

  /** Lowers a count that was raised. If that fails, the count stays too high, which costs space but never data. */
  async lower(uid: string): Promise<void> {
    try {
      await this.#context.store.addFork(uid, -1);
    } catch (error) {
      this.#context.options.onAnomaly(
        `The number of forks of ${uid} may be too high; sweep --repair counts them`,
        error,
      );
    }
  }

  /**
   * Stores a record that names a raised source. An unknown outcome is read back. If the record is not there, it may
   * still arrive, so the source stays raised; it is lowered only after a definite refusal.
   */
  async create(record: NextRecord, sourceUid: string): Promise<"created" | "exists"> {
    try {
      return await this.#context.store.createRecord(record);
    } catch (error) {
      if (error instanceof DomainError && !isUnknown(error)) {
        await this.lower(sourceUid);
        throw error;
      }
      const stored = await this.#context.store.readRecord(record.sessionId).catch(() => null);
      if (stored?.uid === record.uid) return "created";
      throw error;
    }
  }
}

/** Whether a write that was rejected with this error may have happened anyway. */
function isUnknown({ code }: DomainError): boolean {
  return ["unavailable", "deadline_exceeded", "canceled", "internal"].includes(code);
}
