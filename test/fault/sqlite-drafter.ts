import { expect } from "vitest";
import type { Random } from "../simulation/random.js";
import type { DraftCall } from "./sqlite-child.js";
import { Killed, type SqliteProcess } from "./sqlite-process.js";

/** A message, or a draft, and its text. */
interface Known {
  readonly id: string;
  readonly text: string;
}

/**
 * Writes one draft after the other in a session of its own. After a kill it repeats the call that was cut off, as a
 * client does. Everything that was acknowledged must then be stored once.
 */
export class SqliteDrafter {
  readonly sessionId: string;
  readonly #random: Random;
  #messages: readonly Known[] = [];
  #draft: (Known & { readonly version: number }) | null = null;
  #unanswered: DraftCall | null = null;
  #number = 0;

  constructor(sessionId: string, random: Random) {
    this.sessionId = sessionId;
    this.#random = random;
  }

  /** Makes calls until the process is killed. */
  async work(process: SqliteProcess): Promise<void> {
    try {
      for (;;) await this.#send(process, this.#next());
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }

  async check(process: SqliteProcess): Promise<void> {
    if (this.#number === 0) return;
    if (this.#unanswered) await this.#send(process, this.#unanswered);
    const shown = await process.tell<{ messages: Known[]; drafts: Known[] }>({
      do: "drafts",
      sessionId: this.sessionId,
    });
    const drafts = this.#draft ? [{ id: this.#draft.id, text: this.#draft.text }] : [];
    expect(shown).toEqual({ messages: this.#messages, drafts });
  }

  #next(): DraftCall {
    const { sessionId } = this;
    if (!this.#draft) return { sessionId, call: "start", id: `d${++this.#number}`, version: 0, text: "" };
    const { id, version, text } = this.#draft;
    const call = this.#random.pick(["extend", "extend", "extend", "finish", "discard"] as const);
    return { sessionId, call: text === "" ? "extend" : call, id, version, text: `${id}.${version} ` };
  }

  async #send(process: SqliteProcess, given: DraftCall): Promise<void> {
    this.#unanswered = given;
    const { call, id, version } = given;
    const answer = await process.tell({ do: "draft", given });
    const text = `${this.#draft?.text ?? ""}${given.text}`;
    const wanted = { start: 1, extend: version + 1, finish: this.#messages.length, discard: null };
    // If a call that was cut off finished the draft, the sweep of this test may remove the draft at once. Then only the
    // message is left.
    if (!(call === "finish" && answer === "not_found")) expect(answer, JSON.stringify(given)).toBe(wanted[call]);
    if (call === "finish") this.#messages = [...this.#messages, { id, text }];
    const isOpen = call === "start" || call === "extend";
    this.#draft = isOpen ? { id, text, version: wanted[call] } : null;
    this.#unanswered = null;
  }
}
