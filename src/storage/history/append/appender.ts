import type { Call } from "../../../domain/call.js";
import type { LogResult, TurnAppend, TurnOutcome } from "../../storage-provider.js";
import type { SessionRecord } from "../log-store.js";
import { type DraftMessages, type Job, jobOf, type MessageWithId, PendingJobs } from "./append-job.js";
import { AppendTurn, type AppendTurnParts } from "./append-turn.js";

/** Appends to sessions. Appends that are given together go into one write at the end of the open log where possible. */
export class Appender {
  readonly #parts: AppendTurnParts;

  constructor(parts: AppendTurnParts) {
    this.#parts = parts;
  }

  /** Implements {@link StorageProvider.logTurn}: resolves to one outcome for each append. */
  async run(sessionId: string, appends: readonly TurnAppend[]): Promise<readonly TurnOutcome[]> {
    const outcomes: TurnOutcome[] = [];
    const jobs: Job[] = [];
    for (const [index, append] of appends.entries()) {
      try {
        jobs.push(jobOf(append, index, this.#parts.context.options));
      } catch (error) {
        outcomes[index] = { ok: false, error };
      }
    }
    await new AppendTurn(this.#parts, sessionId, new PendingJobs(jobs, outcomes)).run();
    return outcomes;
  }

  /**
   * Appends the message of a finished draft, whose limits were checked before it was finished. When another message has
   * taken the draft's id, `renamed` is appended. Throws `DraftEnded` when the record no longer names the draft as open.
   */
  async appendDraft(
    { sessionId }: SessionRecord,
    { own, renamed }: DraftMessages,
    { log, finishMicros }: { readonly log: string; readonly finishMicros: number },
    call?: Call,
  ): Promise<LogResult> {
    const givenOf = (message: DraftMessages["own"]): MessageWithId => {
      return { id: message.id, isMade: false, message, atMicros: finishMicros };
    };
    const draft = { log, renamed: givenOf(renamed) };
    const job = { index: 0, given: [givenOf(own)], expectedPosition: undefined, call, draft };
    const outcomes: TurnOutcome[] = [];
    await new AppendTurn(this.#parts, sessionId, new PendingJobs([job], outcomes)).run();
    const [outcome] = outcomes;
    if (!outcome?.ok) throw outcome?.error;
    return outcome.result;
  }
}
