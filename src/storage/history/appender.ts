import type { TurnAppend, TurnOutcome } from "../storage-provider.js";
import { AppendPlanner, type Job } from "./append-plan.js";
import { AppendTurn, type AppendTurnParts } from "./append-turn.js";
import type { Head, HistoryContext } from "./heads.js";
import type { Placer } from "./placer.js";
import type { RecordWriter } from "./record-writer.js";

/** Appends of one turn: all that wait for the session go into one write at the end of its open log. */
export class Appender {
  readonly #parts: AppendTurnParts;

  constructor(context: HistoryContext, writer: RecordWriter, placer: Placer, onAppended: (head: Head) => void) {
    this.#parts = { context, writer, placer, planner: new AppendPlanner(context), onAppended };
  }

  /** An outcome for each append; see StorageProvider.logTurn. */
  async run(sessionId: string, appends: readonly TurnAppend[]): Promise<readonly TurnOutcome[]> {
    const outcomes: TurnOutcome[] = [];
    const jobs: Job[] = [];
    for (const [index, append] of appends.entries()) {
      try {
        jobs.push(this.#parts.planner.jobOf(append, index));
      } catch (error) {
        outcomes[index] = { ok: false, error };
      }
    }
    await new AppendTurn(this.#parts, sessionId, jobs, outcomes).run();
    return outcomes;
  }
}
