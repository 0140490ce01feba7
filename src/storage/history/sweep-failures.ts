import { type Call, checkCall } from "../../domain/call.js";
import { DomainError, type ErrorCode } from "../../domain/errors.js";
import type { ResolvedHistoryOptions } from "./history-options.js";
import type { SessionRecord } from "./log-store.js";

/** Errors of the store or of the call, which every other session would meet as well. */
const CODES_FOR_ALL: readonly ErrorCode[] = ["unavailable", "deadline_exceeded", "canceled"];

/** How many sessions of one sweep are reported, so that a store that refuses every write does not flood the log. */
const REPORTED = 20;

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
   * failed before, resolves to null. The first failures are reported. Rejects when the call has ended or the failure
   * concerns the whole store.
   */
  async attempt<T>(record: SessionRecord, call: Call, step: () => Promise<T>): Promise<T | null> {
    if (this.has(record)) return null;
    try {
      return await step();
    } catch (error) {
      checkCall(call);
      if (error instanceof DomainError && CODES_FOR_ALL.includes(error.code)) throw error;
      this.#uids.add(record.uid);
      this.#report(record, error);
      return null;
    }
  }

  #report({ sessionId, uid }: SessionRecord, error: unknown): void {
    if (this.count <= REPORTED) {
      const session = `Session ${JSON.stringify(sessionId)} (uid ${uid})`;
      this.#options.onAnomaly(`${session} could not be swept; the next sweep will try again`, error);
    } else if (this.count === REPORTED + 1) {
      this.#options.onAnomaly(`More than ${REPORTED} sessions could not be swept; the others are not named`, error);
    }
  }
}
