import { DomainError } from "../../src/domain/errors.js";
import type { FollowPosition } from "../../src/domain/page.js";
import { standingMessages } from "../../src/storage/history/follow-step.js";
import { Again, type Head, type HistoryContext } from "../../src/storage/history/heads.js";
import type { Reader } from "../../src/storage/history/reader.js";

/** The parts of one process that a follower asks. */
export interface FollowParts {
  readonly context: HistoryContext;
  readonly reader: Reader;
}

/**
 * A client that follows a session from its first message, through whichever process, and keeps what it was told. It may be cut off after any event
 * and resumes from there; in the end it must hold exactly the history.
 */
export class SimFollower {
  readonly #sessionId: string;
  #at: FollowPosition | null = null;
  #ids: string[] = [];
  #isOver = false;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** Takes events until it is cut off, or has all there is now; resolves to whether it has all. */
  async step({ context, reader }: FollowParts, mostEvents: number): Promise<boolean> {
    if (this.#isOver) return true;
    try {
      const head = await context.need(this.#sessionId);
      return await this.#advance(context, reader, head, mostEvents);
    } catch (error) {
      if (error instanceof Again) return false;
      if (!(error instanceof DomainError)) throw error;
      if (error.code === "not_found") this.#isOver = this.#at !== null;
      else if (error.code !== "unavailable") throw error;
      return error.code === "not_found";
    }
  }

  /** Follows to the end, when all is quiet; resolves to how many messages it holds. Throws when they are not the history. */
  async finish(parts: FollowParts): Promise<number> {
    while (!(await this.step(parts, 2)));
    if (this.#isOver || this.#at === null) return 0;
    const messages = await parts.reader.getAll(this.#sessionId, {});
    const ids = messages.map(({ id }) => id);
    if (ids.join() !== this.#ids.join()) {
      throw new Error(`A follower of ${this.#sessionId} holds ${this.#ids} instead of ${ids}`);
    }
    return ids.length;
  }

  async #advance(context: HistoryContext, reader: Reader, head: Head, mostEvents: number): Promise<boolean> {
    const { uid: sessionUid, revision } = head.record;
    const from = this.#at ?? { sessionUid, revision, position: 0 };
    if (from.sessionUid !== sessionUid) {
      this.#isOver = true;
      return true;
    }
    let position = Math.min(standingMessages(head.record, from, context.options.maxEdits), head.count);
    if (position < from.position) this.#ids.length = position;
    this.#at = { sessionUid, revision, position };
    for (let left = mostEvents; position < head.count; ) {
      for (const message of await reader.messagesAt(head, position, head.count)) {
        if (left-- === 0) return false;
        if (message.position !== this.#ids.length)
          throw new Error(`A follower was told ${message.position} out of turn`);
        this.#ids.push(message.id);
        position++;
        this.#at = { sessionUid, revision, position };
      }
    }
    return true;
  }
}
