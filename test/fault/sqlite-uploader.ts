import { createHash } from "node:crypto";
import { expect } from "vitest";
import type { Random } from "../simulation/random.js";
import { contentOf, markOf } from "./attached-content.js";
import type { AttachmentCall, Shown } from "./sqlite-child.js";
import { Killed, type SqliteProcess } from "./sqlite-process.js";

/** A few pieces, of which the last one may be short. */
const MOST_BYTES = 600_000;
const LONG_BYTES = 100;
/** An erasure writes the whole file anew. */
const ERASED = 3;

/**
 * Uploads attachments to a session of its own and appends messages that name them, one call after the other, while
 * sweeps remove what nothing names. Whatever a stored message names must have its bytes, and every acknowledged message
 * must be stored once. An upload that nothing names is whole or gone.
 */
export class SqliteUploader {
  readonly sessionId: string;
  readonly #random: Random;
  readonly #sizes = new Map<string, number>();
  /** The attachments that each acknowledged message names. */
  #messages = new Map<string, readonly string[]>();
  #unanswered: AttachmentCall | null = null;
  #number = 0;

  constructor(sessionId: string, random: Random) {
    this.sessionId = sessionId;
    this.#random = random;
  }

  /** The ids and the sizes of the attachments that messages name. */
  get named(): ReadonlyMap<string, number> {
    const ids = new Set([...this.#messages.values()].flat());
    return new Map([...ids].map((id) => [id, this.#sizes.get(id) as number]));
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
    const { sessionId } = this;
    const cut = this.#unanswered;
    if (cut !== null) await this.#send(process, cut);
    const shown = await process.tell<Shown>({ do: "attached", sessionId, ids: [...this.#sizes.keys()] });
    expect(shown.messages).toEqual([...this.#messages]);
    const { named } = this;
    for (const [id, found] of shown.contents) {
      const size = this.#sizes.get(id) as number;
      const whole = createHash("sha256")
        .update(contentOf(sessionId, id, size))
        .digest("hex");
      // What nothing names may have been swept.
      if (named.has(id) || found !== "not_found") expect(found, `${id} of ${sessionId}`).toBe(whole);
      else this.#sizes.delete(id);
    }
  }

  /**
   * Erases some messages. Resolves to what no file may contain from then on, and to what one must contain, both
   * of attachments that are long enough.
   */
  async eraseSome(
    process: SqliteProcess,
  ): Promise<{ readonly gone: readonly string[]; readonly kept: readonly string[] }> {
    const before = [...this.named.keys()];
    const messages = [...this.#messages.keys()].slice(0, ERASED);
    for (const id of messages) await this.#send(process, { sessionId: this.sessionId, call: "eraseMessage", id });
    const { named } = this;
    const long = before.filter((id) => (this.#sizes.get(id) ?? 0) > LONG_BYTES);
    const marks = (ids: readonly string[]) => ids.map((id) => markOf(this.sessionId, id));
    return { gone: marks(long.filter((id) => !named.has(id))), kept: marks(long.filter((id) => named.has(id))) };
  }

  #next(): AttachmentCall {
    const { sessionId } = this;
    const known = [...this.#sizes.keys()].slice(-4);
    const dice = this.#random.int(100);
    const number = ++this.#number;
    if (known.length === 0 || dice < 40) {
      const id = `a${number}`;
      const size = this.#random.chance(0.1) ? 0 : this.#random.int(MOST_BYTES);
      this.#sizes.set(id, size);
      return { sessionId, call: "upload", id, size };
    }
    const [message] = this.#messages.keys();
    if (dice < 49 && message !== undefined) return { sessionId, call: "deleteMessage", id: message };
    if (dice < 50 && message !== undefined) return { sessionId, call: "eraseMessage", id: message };
    const id = this.#random.pick(known);
    if (dice < 55) return { sessionId, call: "deleteAttachment", id };
    if (dice < 60) return { sessionId, call: "upload", id, size: this.#sizes.get(id) as number };
    return { sessionId, call: "append", id: `m${number}`, names: [...new Set([id, this.#random.pick(known)])] };
  }

  /** Sends a call, or the one that was cut off once more, as a client does. */
  async #send(process: SqliteProcess, given: AttachmentCall): Promise<void> {
    const isRepeated = this.#unanswered !== null;
    this.#unanswered = given;
    const answer = await process.tell<string>({ do: "attach", given });
    this.#unanswered = null;
    const { call, id } = given;
    switch (call) {
      case "upload":
        // A sweep that waits for nothing gives an upload up at once.
        return expect(answer, JSON.stringify(given)).toMatch(/^(done|aborted)$/);
      case "append":
        if (answer === "done") this.#messages.set(id, given.names ?? []);
        // The attachment was swept before.
        return expect(answer, JSON.stringify(given)).toMatch(/^(done|invalid_argument)$/);
      case "deleteMessage":
        this.#messages.delete(id);
        return expect(answer, JSON.stringify(given)).toMatch(isRepeated ? /^(done|not_found)$/ : /^done$/);
      case "eraseMessage":
        this.#messages.set(id, []);
        return expect(answer, JSON.stringify(given)).toBe("done");
      case "deleteAttachment":
        if (this.named.has(id)) return expect(answer, JSON.stringify(given)).toBe("failed_precondition");
        // A deleted message that no sweep has cleared away yet still names it.
        return expect(answer, JSON.stringify(given)).toMatch(/^(done|not_found|failed_precondition)$/);
    }
  }
}
