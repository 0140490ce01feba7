import type { Head } from "../heads.js";
import type { SessionRecord } from "../log-store.js";

/** Remembers the logs that this process has sealed, so that it does not wait for itself to replace their records. */
export class OwnSeals {
  readonly #maxSessions: number;
  /** Maps a session's id to the open log that this process sealed last. */
  readonly #logs = new Map<string, string>();

  constructor(maxSessions: number) {
    this.#maxSessions = maxSessions;
  }

  /** Whether the open log was sealed by this process. */
  has({ state, record }: Head): boolean {
    return state === "sealed" && this.#logs.get(record.sessionId) === record.log;
  }

  note({ sessionId, log }: SessionRecord): void {
    this.#logs.delete(sessionId);
    this.#logs.set(sessionId, log);
    const [oldest] = this.#logs.keys();
    if (oldest !== undefined && this.#logs.size > this.#maxSessions) this.#logs.delete(oldest);
  }

  forget({ sessionId }: SessionRecord): void {
    this.#logs.delete(sessionId);
  }
}
