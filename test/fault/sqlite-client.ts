import { expect } from "vitest";
import type { NaiveSession } from "../contract/model/naive-session.js";
import { apply, type Circumstances, EMPTY_STATE, type ModelState } from "../simulation/model.js";
import type { Operation, Outcome } from "../simulation/operations.js";
import type { Random } from "../simulation/random.js";
import { Killed, type SqliteProcess } from "./sqlite-process.js";

/** Some moment in 2025, in microseconds. */
const T0 = 1_750_000_000_000_000;
const MOST_MESSAGES = 300;
let operations = 0;

/**
 * Works on sessions of its own, one call after the other, and knows what they must hold. After a call that was cut off,
 * they hold the state either before or after it.
 */
export class SqliteClient {
  readonly #name: string;
  readonly #random: Random;
  #state: ModelState = EMPTY_STATE;
  #messages = 0;
  #unanswered: { readonly operation: Operation; readonly after: ModelState } | null = null;

  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  /** Makes calls until the process is killed. */
  async work(process: SqliteProcess): Promise<void> {
    try {
      for (;;) {
        const operation = this.#next();
        const [after, wanted] = await apply(this.#state, operation, circumstances());
        this.#unanswered = { operation, after };
        expect(await send(process, operation), JSON.stringify(operation)).toEqual(JSON.parse(JSON.stringify(wanted)));
        this.#state = after;
        this.#unanswered = null;
      }
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }

  /** Compares the stored sessions with what they must hold. */
  async check(process: SqliteProcess): Promise<void> {
    const cut = this.#unanswered;
    this.#unanswered = null;
    const ids = new Set([...this.#state.sessions.keys(), ...(cut?.after.sessions.keys() ?? [])]);
    const stored = await this.#read(process, [...ids]);
    if (cut !== null && stored === (await contentOf(cut.after, [...ids]))) this.#state = cut.after;
    else expect(stored, `cut off: ${JSON.stringify(cut?.operation)}`).toBe(await contentOf(this.#state, [...ids]));
    if (cut?.operation.op !== "append") return;
    // A client that got no answer repeats its call, which must not store anything twice.
    const [after, wanted] = await apply(this.#state, cut.operation, circumstances());
    expect(await send(process, cut.operation)).toEqual(wanted);
    this.#state = after;
    expect(await this.#read(process, [...ids])).toBe(await contentOf(after, [...ids]));
  }

  async deleteAll(process: SqliteProcess): Promise<void> {
    for (const id of this.#state.sessions.keys()) expect(await send(process, { op: "delete", id })).toEqual({});
    this.#state = EMPTY_STATE;
  }

  async #read(process: SqliteProcess, ids: readonly string[]): Promise<string> {
    return readAll(ids, (operation) => send(process, operation));
  }

  #next(): Operation {
    const random = this.#random;
    const ids = [...this.#state.sessions.keys()];
    const free = Array.from({ length: 5 }, (_, i) => `${this.#name} s${i}`).filter((id) => !ids.includes(id));
    if (ids.length === 0) return { op: "create", id: free[0] as string, parent: null, title: null };
    const id = random.pick(ids);
    const { messages, undo } = this.#state.sessions.get(id) as NaiveSession;
    if (messages.length > MOST_MESSAGES) return { op: "delete", id };
    const mid = messages.length === 0 ? null : random.pick(messages.slice(-10)).id;
    const dice = random.int(100);
    if (dice < 6 && free[0]) return { op: "create", id: free[0], parent: random.chance(0.5) ? id : null, title: null };
    if (dice < 18 && free[0]) return { op: random.pick(["fork", "share"] as const), id, to: free[0], mid };
    if (dice < 23 && ids.length > 1)
      return { op: "copy", id, to: random.pick(ids.filter((other) => other !== id)), mid };
    const upTo = random.chance(0.1) ? null : mid;
    if (dice < 30 && mid !== null) return { op: "truncate", id, mid: upTo };
    if (dice < 38 && mid !== null) return { op: "revert", id, mid: upTo };
    if (dice < 44 && undo !== null) return { op: "restore", id };
    if (dice < 46) return { op: "delete", id };
    if (dice < 52 && mid !== null) return { op: "deleteMessage", id, mid, expected: null };
    if (dice < 57 && mid !== null) {
      return { op: "updateMessage", id, mid, body: `new text ${random.int(100)}`, expected: null };
    }
    const count = dice < 66 ? 2 + random.int(8) : 1;
    const older = dice >= 85;
    return { op: "append", id, messages: this.#newMessages(count, older), expected: null };
  }

  #newMessages(count: number, older: boolean) {
    const back = older ? 1 + this.#random.int(40) : 0;
    return Array.from({ length: count }, () => {
      const number = ++this.#messages;
      return { id: `${this.#name} m${number}`, ts: T0 + (number - back) * 10, body: `text ${number}`.repeat(20) };
    });
  }
}

function send(process: SqliteProcess, operation: Operation): Promise<Outcome> {
  return process.tell({ do: "perform", operation });
}

function circumstances(): Circumstances {
  return { number: ++operations, now: T0, continued: false };
}

/** Returns what `#read` returns when the store holds this state. */
function contentOf(state: ModelState, ids: readonly string[]): Promise<string> {
  return readAll(ids, async (operation) => (await apply(state, operation, circumstances()))[1]);
}

/** Reads sessions with all their messages, as text. */
async function readAll(ids: readonly string[], read: (operation: Operation) => Promise<Outcome>): Promise<string> {
  const list = { newestFirst: false, ancestors: false, offset: 0, limit: 1000 };
  const contents: Outcome[] = [];
  for (const id of ids) contents.push([id, await read({ op: "session", id }), await read({ op: "list", id, ...list })]);
  return JSON.stringify(contents);
}
