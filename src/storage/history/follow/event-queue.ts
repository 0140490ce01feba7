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
  #isStale = false;
  #error: DomainError | null = null;
  #wake: (() => void) | null = null;

  constructor(limit: number, pause: Pause, onDetach: (queue: EventQueue) => void) {
    this.#limit = limit;
    this.#pause = pause;
    this.#onDetach = onDetach;
  }

  /**
   * Whether events were dropped because their content was taken back. No further event comes; the follower catches up
   * from the last event that it got.
   */
  get isStale(): boolean {
    return this.#isStale;
  }

  /** `takesBack`: the content of earlier events, which may still wait here, was removed or erased. */
  push(event: FollowEvent, takesBack: boolean): void {
    // Rule: dropped-when-taken-back.
    if (takesBack && this.#events.length > 0) {
      this.drop();
    } else if (this.#events.length >= this.#limit) {
      const text = `More than ${this.#limit} events wait: the reader does not keep up`;
      this.fail(new DomainError("resource_exhausted", text));
      this.detach();
    } else {
      this.#events.push(event);
    }
    this.wake();
  }

  /** Drops what waits, so that the follower looks from the last event that it got, if it still may. */
  drop(): void {
    this.#events = [];
    this.#isStale = true;
    this.detach();
    this.wake();
  }

  /** Ends the queue. Drops what waits, because the follower could not learn any more that it was taken back. */
  fail(error: DomainError): void {
    this.#events = [];
    this.#error ??= error;
    this.wake();
  }

  wake(): void {
    this.#wake?.();
  }

  /** The next event; null when none came in time, or after `wake`. Rejects once the tail has ended. */
  async next(timeoutMs: number): Promise<FollowEvent | null> {
    if (this.#events.length === 0 && !this.#isStale && !this.#error) await this.#wait(timeoutMs);
    if (this.#error) throw this.#error;
    return this.#events.shift() ?? null;
  }

  detach(): void {
    this.#onDetach(this);
  }

  async #wait(timeoutMs: number): Promise<void> {
    const waking = new AbortController();
    // Without a reason, AbortController would make an error, which takes longer than everything else about an event.
    this.#wake = () => waking.abort("woken");
    await this.#pause(timeoutMs, waking.signal);
    this.#wake = null;
  }
}
