import type { TurnAppend, TurnOutcome } from "../../storage-provider.js";
import { type Job, jobOf, PendingJobs } from "./append-job.js";
import { AppendTurn, type AppendTurnParts } from "./append-turn.js";

/** Appends to sessions. All appends of a turn go into one write at the end of the open log where that is possible. */
export class Appender {
  readonly #parts: AppendTurnParts;

  constructor(parts: AppendTurnParts) {
    this.#parts = parts;
  }

  /** An outcome for each append; see StorageProvider.logTurn. */
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
}
