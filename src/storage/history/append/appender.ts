import type { Call } from "../../../domain/call.js";
import type { NewChatMessage } from "../../../domain/chat-message.js";
import type { LogResult, TurnAppend, TurnOutcome } from "../../storage-provider.js";
import type { SessionRecord } from "../log-store.js";
import { type Job, jobOf, PendingJobs } from "./append-job.js";
import { AppendTurn, type AppendTurnParts } from "./append-turn.js";

/** Appends to sessions. All appends of a turn go into one write at the end of the open log where possible. */
export class Appender {
  readonly #parts: AppendTurnParts;

  constructor(parts: AppendTurnParts) {
    this.#parts = parts;
  }

  /** Resolves to one outcome for each append; see StorageProvider.logTurn. */
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
   * Appends the message of a finished draft, whose limits were checked before it was finished. DraftTaken: the record
   * no longer names the draft as open.
   */
  async appendDraft(
    { sessionId }: SessionRecord,
    message: NewChatMessage & { readonly id: string },
    draft: { readonly log: string; readonly finishMicros: number },
    call?: Call,
  ): Promise<LogResult> {
    const given = [{ id: message.id, isMade: false, message, atMicros: draft.finishMicros }];
    const job = { index: 0, given, expectedPosition: undefined, call, draftLog: draft.log };
    const outcomes: TurnOutcome[] = [];
    await new AppendTurn(this.#parts, sessionId, new PendingJobs([job], outcomes)).run();
    const [outcome] = outcomes;
    if (!outcome?.ok) throw outcome?.error;
    return outcome.result;
  }
}
