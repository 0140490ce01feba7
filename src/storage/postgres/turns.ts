import type { Call } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { withinLimit } from "./time-limit.js";

/**
 * Lets one piece of work a key run at a time, in the order in which they came. Writes of one session wait for each
 * other at its record's row anyway; when they wait here instead, a row that somebody has locked holds one connection of
 * the pool and not all of them.
 */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();
  readonly #timeoutMs: number;

  /** Waiting and work together may take `timeoutMs`. */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Rejects with the call's error, without running the work, when the call ends before its turn; with `unavailable`
   * when the time is over. The work gets the call with that limit.
   */
  take<T>(key: string, call: Call | undefined, work: (limited: Call) => Promise<T>): Promise<T> {
    return withinLimit(call, this.#timeoutMs, async (limited) => {
      const before = this.#last.get(key);
      let end = () => {};
      const own = new Promise<void>((resolve) => {
        end = resolve;
      });
      const last = before === undefined ? own : before.then(() => own);
      this.#last.set(key, last);
      // Who gives up ends its own turn, but not those before it.
      void last.then(() => {
        if (this.#last.get(key) === last) this.#last.delete(key);
      });
      try {
        if (before !== undefined) await untilCallEnd(before, limited);
        return await work(limited);
      } finally {
        end();
      }
    });
  }
}
