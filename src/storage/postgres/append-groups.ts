import type { Call } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { BUSY } from "./functions.js";
import { isUnknownOutcome, wasRefused } from "./postgres-errors.js";
import type { PostgresPool } from "./postgres-pool.js";
import type { Statements } from "./statements.js";
import type { Value } from "./values.js";

/** How many statements with appends are under way at a time. The appends that come meanwhile share the next one. */
const MOST_RUNNING = 4;
/** How many appends share a statement at most. */
const MOST_APPENDS = 64;

interface Waiting {
  /** The parameters of `append_one_3`, but for the last. */
  readonly values: readonly Value[];
  readonly call: Call;
  readonly resolve: (answer: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends appends of one message to different sessions together, in one statement and so in one commit. None waits for a
 * locked record, so no session delays another.
 */
export class AppendGroups {
  readonly #pool: PostgresPool;
  readonly #sql: Statements;
  #waiting: Waiting[] = [];
  #running = 0;
  #isPlanned = false;

  constructor(pool: PostgresPool, sql: Statements) {
    this.#pool = pool;
    this.#sql = sql;
  }

  /**
   * Resolves to what `append_one_3` answers. BUSY: the append was not carried out and has to be sent by itself, because
   * the record is locked or missing, or because another append has made the statement fail. Rejects when the call ends,
   * or with an error after which the append may have been carried out or may succeed when it is sent again.
   */
  async append(values: readonly Value[], call: Call): Promise<number> {
    const answer = new Promise<number>((resolve, reject) => {
      this.#waiting.push({ values, call, resolve, reject });
    });
    this.#plan();
    return untilCallEnd(answer, call);
  }

  /** Appends of one iteration of the event loop go together. */
  #plan(): void {
    if (this.#isPlanned || this.#waiting.length === 0 || this.#running === MOST_RUNNING) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#waiting = this.#waiting.filter(({ call }) => !hasEnded(call));
      while (this.#waiting.length > 0 && this.#running < MOST_RUNNING) {
        void this.#send(this.#waiting.splice(0, MOST_APPENDS));
      }
    });
  }

  async #send(group: readonly Waiting[]): Promise<void> {
    this.#running++;
    try {
      const answers = await this.#answersTo(group);
      for (const [i, { resolve }] of group.entries()) resolve(answers[i] as number);
    } catch (error) {
      const mayRepeat = isUnknownOutcome(error) || wasRefused(error);
      for (const { resolve, reject } of group) mayRepeat || group.length === 1 ? reject(error) : resolve(BUSY);
    } finally {
      this.#running--;
      this.#plan();
    }
  }

  async #answersTo(group: readonly Waiting[]): Promise<readonly number[]> {
    const [{ values, call }] = group as [Waiting];
    const isOne = group.length === 1;
    const columns = values.map((_, i) => group.map((one) => one.values[i] as string | number | null));
    // A group goes on until nobody waits for it any more.
    const limit = isOne
      ? call
      : { deadlineMs: Math.max(...group.map((one) => one.call.deadlineMs ?? Number.POSITIVE_INFINITY)) };
    const sent = isOne ? [...values, false] : columns;
    const rows = await this.#pool.run(isOne ? this.#sql.appendOne : this.#sql.appendGroup, sent, limit);
    return rows.map(([answer]) => answer as number);
  }
}

/** Its caller has got the error already. */
function hasEnded({ signal, deadlineMs }: Call): boolean {
  return signal?.aborted === true || (deadlineMs !== undefined && deadlineMs <= Date.now());
}
