import type { Call } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";

/**
 * Lets one piece of work a key run at a time, in the order in which they came. Writes of one session wait for each
 * other at its record's row anyway; when they wait here instead, a row that somebody has locked holds one connection of
 * the pool and not all of them.
 */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Rejects with the call's error, without running the work, when the call ends before its turn. */
  async take<T>(key: string, call: Call | undefined, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    let end = () => {};
    const promise = new Promise<void>((resolve) => {
      end = resolve;
    });
    const mine = before === undefined ? promise : before.then(() => promise);
    this.#last.set(key, mine);
    try {
      if (before !== undefined) await untilCallEnd(before, call);
      return await work();
    } finally {
      end();
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
