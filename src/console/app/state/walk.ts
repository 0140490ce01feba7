import { signal } from "@preact/signals";
import { listMessages } from "../api/calls.js";
import type { Message } from "../api/types.js";

const LIMIT = 200;

/** Reads a session from its newest message to its first, a page at a time, and reports its progress. */
export class BackwardWalk {
  /** Position of the oldest message that has been read; undefined before the first answer. */
  readonly readTo = signal<number | undefined>(undefined);
  readonly isReading = signal(false);
  readonly error = signal<unknown>(undefined);
  #running = new AbortController();

  /**
   * Starts at the end, and stops at the first message or when `onPage` returns false. A walk that is still running is
   * stopped first.
   */
  async start(sessionId: string, onPage: (newestFirst: readonly Message[]) => boolean): Promise<void> {
    this.stop();
    const { signal } = this.#running;
    this.isReading.value = true;
    this.error.value = undefined;
    try {
      let pageToken = "";
      do {
        const page = await listMessages(sessionId, { limit: LIMIT, newestFirst: true, pageToken }, signal);
        if (signal.aborted) return;
        const goesOn = onPage(page.messages);
        this.readTo.value = Number(page.messages.at(-1)?.info.position ?? 0);
        if (!goesOn) return;
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    } finally {
      if (!signal.aborted) this.isReading.value = false;
    }
  }

  /** After this, no more pages arrive. */
  stop(): void {
    this.#running.abort();
    this.#running = new AbortController();
    this.isReading.value = false;
  }
}
