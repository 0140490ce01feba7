import { ERASED_PARTS, isErased } from "../../../domain/erasure.js";
import { DomainError } from "../../../domain/errors.js";
import type { FollowEvent } from "../../../domain/page.js";
import type { ResolvedHistoryOptions } from "../history-options.js";

type Pause = ResolvedHistoryOptions["pause"];

/** The events that are waiting for one follower. */
export class EventQueue {
  readonly #limit: number;
  readonly #pause: Pause;
  readonly #onDetach: (queue: EventQueue) => void;
  #events: FollowEvent[] = [];
  #error: DomainError | null = null;
  #wake: (() => void) | null = null;

  constructor(limit: number, pause: Pause, onDetach: (queue: EventQueue) => void) {
    this.#limit = limit;
    this.#pause = pause;
    this.#onDetach = onDetach;
  }

  push(event: FollowEvent): void {
    if (this.#events.length >= this.#limit) {
      this.#events = [];
      this.fail(
        new DomainError("resource_exhausted", `More than ${this.#limit} events wait: the reader does not keep up`),
      );
      this.detach();
      return;
    }
    if (event.kind === "truncated") this.#takeBack(event.messageCount);
    if (event.kind === "updated" && isErased(event.message)) this.#erase(event.message.id);
    this.#events.push(event);
    this.wake();
  }

  /** Drops waiting events about messages that were cut off or changed before the follower has read them. */
  #takeBack(standing: number): void {
    const from = this.#events.findLastIndex(({ kind }) => !kind.startsWith("draft") && kind !== "appended") + 1;
    const kept = this.#events.slice(from).filter((event) => event.kind !== "appended" || event.at.position <= standing);
    this.#events = [...this.#events.slice(0, from), ...kept];
  }

  /** Removes the content of an erased message from the events that the follower has not read yet. */
  #erase(messageId: string): void {
    this.#events = this.#events.map((event) => withoutContent(event, messageId));
  }

  fail(error: DomainError): void {
    this.#error ??= error;
    this.wake();
  }

  wake(): void {
    this.#wake?.();
  }

  /** The next event; null when none came in time, or after `wake`. Rejects once the tail has ended. */
  async next(timeoutMs: number): Promise<FollowEvent | null> {
    if (this.#events.length === 0 && !this.#error) await this.#wait(timeoutMs);
    const event = this.#events.shift();
    if (!event && this.#error) throw this.#error;
    return event ?? null;
  }

  detach(): void {
    this.#onDetach(this);
  }

  async #wait(timeoutMs: number): Promise<void> {
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    await this.#pause(timeoutMs, waking.signal);
    this.#wake = null;
  }
}

/** The event without the content of this message, as a message or a draft. */
function withoutContent(event: FollowEvent, messageId: string): FollowEvent {
  switch (event.kind) {
    case "appended":
    case "updated":
      if (event.message.id !== messageId) return event;
      return { ...event, message: { ...event.message, parts: ERASED_PARTS, metadata: undefined } };
    case "draft": {
      const { message } = event.draft;
      if (message.id !== messageId) return event;
      return { ...event, draft: { ...event.draft, message: { ...message, parts: [], metadata: undefined } } };
    }
    case "draft_extended":
      return event.messageId === messageId ? { ...event, deltas: [] } : event;
    default:
      return event;
  }
}
