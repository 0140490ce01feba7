import { DomainError } from "../../../domain/errors.js";
import type { ResolvedHistoryOptions } from "../history-options.js";
import type { FeedPosition } from "./feed-position.js";
import type { ToldChange } from "./told-change.js";

/** How long a reader may take nothing while more waits than the limit. */
const SLOW_MS = 30_000;

/** A change for one reader, which was told everything up to `since`. */
export interface QueuedChange {
  readonly change: ToldChange;
  readonly since: number;
  /** Where to resume after this change. */
  readonly at: FeedPosition;
}

type Options = Pick<ResolvedHistoryOptions, "maxFollowerBacklog" | "pause" | "clockMs">;

/**
 * The changes that wait for one reader. When there are too many, they are dropped: the reader then reads from the store
 * at its own pace, so that nobody holds up a burst. A reader that takes nothing at all is ended.
 */
export class FeedQueue {
  readonly #options: Options;
  #changes: QueuedChange[] = [];
  #isStale = false;
  #error: DomainError | null = null;
  #wake: (() => void) | null = null;
  #takenAtMs: number;

  constructor(options: Options) {
    this.#options = options;
    this.#takenAtMs = options.clockMs();
  }

  /** Whether changes were dropped, so that the reader has to read from the store. */
  get isStale(): boolean {
    return this.#isStale;
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0 && !this.#isStale;
  }

  push(change: QueuedChange): void {
    if (this.#changes.length >= this.#options.maxFollowerBacklog) {
      this.#changes = [];
      this.#isStale = true;
    }
    if (!this.#isStale) this.#changes.push(change);
    else if (this.#options.clockMs() - this.#takenAtMs > SLOW_MS) {
      this.fail(new DomainError("resource_exhausted", "The reader does not keep up"));
    }
    this.wake();
  }

  /** Called when the reader takes an event, from here or from the store. */
  taken(): void {
    this.#takenAtMs = this.#options.clockMs();
  }

  fail(error: DomainError): void {
    this.#changes = [];
    this.#error ??= error;
    this.wake();
  }

  /** Throws if the reader was ended. */
  check(): void {
    if (this.#error) throw this.#error;
  }

  wake(): void {
    this.#wake?.();
  }

  /** The next change; null when none came in time, or after `wake`. Rejects once the reader was ended. */
  async next(timeoutMs: number): Promise<QueuedChange | null> {
    if (this.#changes.length === 0 && !this.#isStale && !this.#error) await this.#wait(timeoutMs);
    this.check();
    return this.#changes.shift() ?? null;
  }

  async #wait(timeoutMs: number): Promise<void> {
    const waking = new AbortController();
    this.#wake = () => waking.abort("woken");
    await this.#options.pause(timeoutMs, waking.signal);
    this.#wake = null;
  }
}
