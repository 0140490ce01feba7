import type { Random } from "../simulation/random.js";
import { messageOf, readFinal } from "./chaos-client.js";
import { bodyOf, type Fleet, type Reply } from "./chaos-fleet.js";

/** What the owner's session must hold. */
interface Known {
  readonly ids: readonly string[];
  /** The messages after an unrevert. */
  readonly undo: readonly string[] | null;
}

/**
 * Edits a session that nobody else uses. It repeats each call until it is answered, so that it knows after each call
 * what the session must hold. The answer to a repeated call may be that of a call that had taken effect before.
 */
export class ChaosOwner {
  readonly problems: string[] = [];
  readonly #name: string;
  readonly #fleet: Fleet;
  readonly #random: Random;
  #session = "";
  #known: Known = { ids: [], undo: null };
  #number = 0;

  constructor(name: string, fleet: Fleet, random: Random) {
    this.#name = name;
    this.#fleet = fleet;
    this.#random = random;
  }

  async work(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      if (!this.#session) await this.#create();
      else await this.#step();
      await this.check();
    }
  }

  /** Compares the messages that a process returns with those that the session must hold. */
  async check(): Promise<void> {
    if (!this.#session) return;
    const { ids, count } = await readFinal(this.#fleet, this.#random.int(this.#fleet.size), this.#session);
    const wanted = this.#known.ids;
    if (ids.join() === wanted.join() && count === wanted.length) return;
    this.problems.push(`${this.#session} holds ${count}: ${ids}; wanted ${wanted.length}: ${wanted}`);
    this.#known = { ids, undo: null };
  }

  async #create(): Promise<void> {
    const sessionId = `${this.#name}-${++this.#number}`;
    const { reply } = await this.#ask("POST", "/session", { sessionId });
    bodyOf(reply, `create ${sessionId}`);
    this.#session = sessionId;
    this.#known = { ids: [], undo: null };
  }

  async #step(): Promise<void> {
    const { ids, undo } = this.#known;
    const dice = this.#random.int(100);
    if (ids.length < 3 || dice < 50) return this.#append();
    if (dice < 62) return this.#cut("message:truncate", false);
    if (dice < 80) return this.#cut("revert", true);
    if (dice < 95 && undo) return this.#unrevert(undo);
    if (dice >= 95) return this.#delete();
    return this.#append();
  }

  async #append(): Promise<void> {
    const ids = Array.from({ length: 1 + this.#random.int(4) }, () => `${this.#name}-${++this.#number}`);
    const messages = ids.map(messageOf);
    const { reply } = await this.#ask("POST", `/session/${this.#session}/message:batch`, { messages });
    const position = Number(bodyOf(reply, "append").position ?? 0);
    if (position !== this.#known.ids.length) this.problems.push(`${ids} of ${this.#session} got ${position}`);
    this.#known = { ids: [...this.#known.ids, ...ids], undo: null };
  }

  async #cut(operation: string, keepsUndo: boolean): Promise<void> {
    const { ids, undo } = this.#known;
    const kept = 1 + this.#random.int(ids.length);
    const body = { upToMessageId: ids[kept - 1] };
    const { reply, isRepeat } = await this.#ask("POST", `/session/${this.#session}/${operation}`, body);
    const removed = Number(bodyOf(reply, operation).removedCount ?? 0);
    const isRight = removed === ids.length - kept || (isRepeat && removed === 0);
    if (!isRight) this.problems.push(`${operation} of ${this.#session} to ${kept} of ${ids.length} removed ${removed}`);
    if (kept === ids.length) return;
    this.#known = { ids: ids.slice(0, kept), undo: keepsUndo ? (undo ?? ids) : null };
  }

  async #unrevert(undo: readonly string[]): Promise<void> {
    const { reply, isRepeat } = await this.#ask("POST", `/session/${this.#session}/unrevert`, {});
    if (!(isRepeat && isRefused(reply, "nothing to unrevert"))) bodyOf(reply, "unrevert");
    this.#known = { ids: undo, undo: null };
  }

  async #delete(): Promise<void> {
    const { reply, isRepeat } = await this.#ask("DELETE", `/session/${this.#session}`);
    if (!(isRepeat && isRefused(reply, "not found"))) bodyOf(reply, "delete");
    this.#session = "";
  }

  #ask(method: string, path: string, body?: unknown): Promise<{ reply: Reply; isRepeat: boolean }> {
    return this.#fleet.settle(this.#random.int(this.#fleet.size), method, path, body);
  }
}

function isRefused(reply: Reply, text: string): boolean {
  return reply.kind === "refusal" && reply.text.includes(text);
}
