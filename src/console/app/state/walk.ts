import { signal } from "@preact/signals";
import { listMessages } from "../api/calls.js";
import type { Message } from "../api/types.js";

const LIMIT = 200;

/** A reading of a session from its newest message to its first, a page at a time: how far it has come, and whether it goes on. */
export class BackwardWalk {
  /** Position of the oldest message that has been read; undefined before the first answer. */
  readonly readTo = signal<number | undefined>(undefined);
  readonly isReading = signal(false);
  readonly error = signal<unknown>(undefined);
  #running = new AbortController();

  /** Begins at the end, and ends at the first message, or when a page says that it is enough. One that still runs is stopped. */
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

  /** Nothing of it comes in any more. */
  stop(): void {
    this.#running.abort();
    this.#running = new AbortController();
    this.isReading.value = false;
  }
}
