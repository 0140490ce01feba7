import type { ChatMessage } from "../../src/domain/chat-message.js";
import { DomainError } from "../../src/domain/errors.js";
import type { FollowEvent, FollowPosition } from "../../src/domain/page.js";
import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";

/** The place after which a follower resumes. */
const PASSING: ReadonlySet<string> = new Set(["unavailable", "resource_exhausted", "canceled"]);

function heldOf({ id, parts }: ChatMessage): string {
  return `${id} ${parts[0]?.text}`;
}

/**
 * A client that follows a session from its first message, through any process, and applies the events that it receives.
 * It may be cut off after any event, and resumes from there. In the end it must hold exactly the history.
 */
export class SimFollower {
  readonly #sessionId: string;
  #at: FollowPosition | null = null;
  #held: string[] = [];
  #isOver = false;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** Follows until it has received `mostEvents` events or a heartbeat, or the process has died. */
  async step(provider: LogHistoryProvider, mostEvents: number, died: Promise<"died">): Promise<void> {
    if (this.#isOver) return;
    const stop = new AbortController();
    try {
      const events = await Promise.race([this.#follow(provider, stop.signal), died]);
      if (events === "died") return;
      for (let left = mostEvents; left > 0; left--) {
        const next = await Promise.race([events.next(), died]);
        if (next === "died") return;
        if (next.done) break;
        this.#take(next.value);
        if (next.value.kind === "heartbeat") break;
      }
      await Promise.race([events.return?.(), died]);
    } catch (error) {
      this.#failed(error);
    } finally {
      stop.abort();
    }
  }

  /**
   * Follows to the end of the history when all is quiet. Resolves to the number of messages it holds. Throws when they
   * are not the history.
   */
  async finish(provider: LogHistoryProvider): Promise<number> {
    await this.step(provider, Number.POSITIVE_INFINITY, new Promise(() => {}));
    if (this.#isOver || this.#at === null) return 0;
    const messages = await provider.getSessionMessages(this.#sessionId);
    const history = messages.map(heldOf);
    if (history.join() !== this.#held.join()) {
      throw new Error(`A follower of ${this.#sessionId} holds ${this.#held} instead of ${history}`);
    }
    return history.length;
  }

  async #follow(provider: LogHistoryProvider, signal: AbortSignal): Promise<AsyncIterator<FollowEvent>> {
    const events = await provider.followMessages(this.#sessionId, this.#at ?? 0, { signal });
    return events[Symbol.asyncIterator]();
  }

  #take(event: FollowEvent): void {
    if (event.kind === "truncated") {
      if (event.messageCount > this.#held.length)
        throw new Error(`A follower was told to keep ${event.messageCount} messages, but holds ${this.#held.length}`);
      this.#held.length = event.messageCount;
    } else if (event.kind === "appended") {
      const { position } = event.message;
      if (position !== this.#held.length)
        throw new Error(`A follower got position ${position}, but holds ${this.#held.length} messages`);
      this.#held.push(heldOf(event.message));
    } else if (event.kind === "updated") {
      const { id, position = -1 } = event.message;
      this.#mustHold(id, position);
      this.#held[position] = heldOf(event.message);
    } else if (event.kind === "deleted") {
      this.#mustHold(event.messageId, event.position);
      this.#held.splice(event.position, 1);
    }
    if (event.at.position !== this.#held.length)
      throw new Error(`A follower stands at ${event.at.position}, but holds ${this.#held.length} messages`);
    this.#at = event.at;
  }

  #mustHold(id: string, position: number): void {
    if (this.#held[position]?.split(" ")[0] === id) return;
    throw new Error(`A follower got ${id} at position ${position}, but holds ${this.#held}`);
  }

  /** `not_found` and `invalid_argument`: the session is gone, or another one has its id now. */
  #failed(error: unknown): void {
    if (!(error instanceof DomainError)) throw error;
    if (error.code === "not_found" || error.code === "invalid_argument") this.#isOver = this.#at !== null;
    else if (!PASSING.has(error.code)) throw error;
  }
}
