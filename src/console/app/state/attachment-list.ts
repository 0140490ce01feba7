import { signal } from "@preact/signals";
import { listAttachments } from "../api/attachments.js";
import type { Attachment } from "../api/types.js";

/** The attachments that a session shows, read page by page. */
export class AttachmentPages {
  readonly attachments = signal<readonly Attachment[] | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  /** Continues the list; empty when all of it has been read. */
  readonly next = signal("");
  readonly #sessionId: string;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** Reads the first page, which then takes the place of all that were read. */
  read(signal: AbortSignal): Promise<void> {
    return this.#read("", signal);
  }

  readMore(signal: AbortSignal): Promise<void> {
    return this.#read(this.next.peek(), signal);
  }

  async #read(pageToken: string, signal: AbortSignal): Promise<void> {
    try {
      const page = await listAttachments(this.#sessionId, pageToken, signal);
      if (signal.aborted) return;
      this.attachments.value = [...(pageToken === "" ? [] : (this.attachments.peek() ?? [])), ...page.attachments];
      this.next.value = page.nextPageToken;
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }
}
