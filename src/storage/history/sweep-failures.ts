import { type Call, checkCall } from "../../domain/call.js";
import { DomainError, type ErrorCode } from "../../domain/errors.js";
import type { ResolvedHistoryOptions } from "./history-options.js";
import type { SessionRecord } from "./log-store.js";

/** Errors of the store or of the call, which every other session would meet as well. */
const CODES_FOR_ALL: readonly ErrorCode[] = ["unavailable", "deadline_exceeded", "canceled"];

/**
 * The sessions that one sweep could not finish. The sweep leaves them to the next one, so that they do not keep it from
 * the others.
 */
export class SweepFailures {
  readonly #options: ResolvedHistoryOptions;
  readonly #uids = new Set<string>();

  constructor(options: ResolvedHistoryOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#uids.size;
  }

  has({ uid }: SessionRecord): boolean {
    return this.#uids.has(uid);
  }

  /**
   * Does one step of the sweep for a session, and resolves to its result. When the step fails, or the session has
   * failed before, resolves to null; the failure is reported. Rejects when the call has ended or the failure concerns
   * the whole store.
   */
  async attempt<T>(record: SessionRecord, call: Call, step: () => Promise<T>): Promise<T | null> {
    if (this.has(record)) return null;
    try {
      return await step();
    } catch (error) {
      checkCall(call);
      if (error instanceof DomainError && CODES_FOR_ALL.includes(error.code)) throw error;
      this.#uids.add(record.uid);
      const session = `Session ${JSON.stringify(record.sessionId)} (uid ${record.uid})`;
      this.#options.onAnomaly(`${session} could not be swept; the next sweep will try again`, error);
      return null;
    }
  }
}
