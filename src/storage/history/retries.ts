import { type Call, checkCall } from "../../domain/call.js";
import { DomainError, type ErrorCode } from "../../domain/errors.js";
import type { ResolvedHistoryOptions } from "./history-options.js";
import type { SessionRecord, Tail } from "./log-store.js";

/** How many attempts in a row may be based on the same state of a session before the session counts as damaged. */
export const MAX_ATTEMPTS = 100;
const FIRST_PAUSE_MS = 4;
const PAUSE_GROWTH = 1.5;
const MAX_PAUSE_MS = 500;

/** The state of a session that an attempt is based on: its head, or only its record. */
export type Seen =
  | SessionRecord
  | { readonly record: SessionRecord; readonly seq: number; readonly state: Tail["state"] };

/** Thrown when something that was read is out of date and must be read again. It never leaves this folder. */
export class Again extends Error {
  constructor(reason = "The history has changed meanwhile") {
    super(reason);
  }
}

/** Thrown when rows that a record names do not exist. */
export class MissingRows extends Again {}

const DEFINITE: readonly ErrorCode[] = [
  "not_found",
  "invalid_argument",
  "failed_precondition",
  "already_exists",
  "aborted",
  "resource_exhausted",
];

/** Whether an error concerns the history rather than the store or the call. */
export function isDefinite(error: DomainError): boolean {
  return DEFINITE.includes(error.code);
}

/**
 * Limits a loop that starts over whenever the history has changed under it. As long as somebody changes the history
 * there is progress, even if it is not ours. A history that stands still and yet gives no answer is damaged, and
 * another attempt would not help.
 */
export class Retries {
  readonly #options: ResolvedHistoryOptions;
  readonly #sessionId: string;
  #seen = "";
  #attempts = 0;
  #pauses = 0;

  constructor(options: ResolvedHistoryOptions, sessionId: string) {
    this.#options = options;
    this.#sessionId = sessionId;
  }

  /**
   * Counts an attempt that gave no answer for these heads or records. `internal` when too many in a row saw the same
   * ones.
   */
  count(seen: readonly Seen[], reason: string): void {
    const state = seen.map(stateOf).join("; ");
    this.#attempts = state === this.#seen ? this.#attempts + 1 : 1;
    this.#seen = state;
    if (this.#attempts < MAX_ATTEMPTS) return;
    const session = `Session ${JSON.stringify(this.#sessionId)}`;
    const error = new DomainError("internal", `${session} is damaged: ${MAX_ATTEMPTS} attempts met the same state`);
    this.#options.onAnomaly(`${session} is damaged: ${reason}${state && ` (${state})`}`, error);
    throw error;
  }

  /** Forgets the attempts so far, because something was achieved. */
  reset(): void {
    this.#attempts = 0;
    this.#pauses = 0;
  }

  /**
   * Waits for a random time before the next attempt. It grows with every attempt, whether or not the state has changed,
   * so that many writers of one session soon stop disturbing each other. Rejects when the call has ended.
   */
  async pause(call?: Call): Promise<void> {
    const mostMs = Math.min(FIRST_PAUSE_MS * PAUSE_GROWTH ** this.#pauses++, MAX_PAUSE_MS);
    await this.#options.pause(this.#options.random() * mostMs, call?.signal);
    checkCall(call);
  }
}

function stateOf(seen: Seen): string {
  if (!("record" in seen)) return `uid ${seen.uid}, revision ${seen.revision}`;
  const { record, seq, state } = seen;
  return `uid ${record.uid}, revision ${record.revision}, log ${record.log}, ${state} after ${seq} messages`;
}
