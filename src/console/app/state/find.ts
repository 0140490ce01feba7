import { signal } from "@preact/signals";
import type { Message } from "../api/types.js";
import { walkBack } from "./walk.js";

export interface Hit {
  readonly position: number;
  readonly role: string;
  readonly timestamp: string;
  /** The text around the hit; the hit itself is from `at` on. */
  readonly snippet: string;
  readonly at: number;
}

/** Hits after which a search ends; whoever gets that many had better look for something rarer. */
const MAX_HITS = 200;
const AROUND = 60;

/** Looks for a text in the messages of one session, from the newest back. */
export class Find {
  readonly hits = signal<readonly Hit[]>([]);
  /** Position of the oldest message that has been looked at. */
  readonly readTo = signal<number | undefined>(undefined);
  readonly state = signal<"idle" | "reading" | "full" | "done" | "failed">("idle");
  #running: AbortController | undefined;

  /** An empty text ends the search. */
  start(sessionId: string, text: string): void {
    this.stop();
    if (text === "") return;
    this.#running = new AbortController();
    void this.#run(sessionId, text.toLowerCase(), this.#running.signal);
  }

  stop(): void {
    this.#running?.abort();
    this.hits.value = [];
    this.readTo.value = undefined;
    this.state.value = "idle";
  }

  async #run(sessionId: string, text: string, abort: AbortSignal): Promise<void> {
    this.state.value = "reading";
    try {
      await walkBack(sessionId, abort, (page) => {
        this.hits.value = [...this.hits.value, ...page.flatMap((message) => hitOf(message, text) ?? [])];
        this.readTo.value = Number(page.at(-1)?.info.position ?? 0);
        return this.hits.value.length < MAX_HITS;
      });
      if (!abort.aborted) this.state.value = this.hits.value.length < MAX_HITS ? "done" : "full";
    } catch {
      if (!abort.aborted) this.state.value = "failed";
    }
  }
}

function hitOf(message: Message, text: string): Hit | undefined {
  for (const content of textsOf(message)) {
    const found = content.toLowerCase().indexOf(text);
    if (found < 0) continue;
    const from = Math.max(0, found - AROUND);
    const { position, role, timestamp } = message.info;
    return {
      ...{ position: Number(position), role, timestamp },
      snippet: content.slice(from, found + text.length + AROUND).replace(/\s/g, " "),
      at: found - from,
    };
  }
  return undefined;
}

function* textsOf({ parts, info }: Message): Generator<string> {
  for (const { text, type, data } of parts) {
    if (text) yield text;
    if (data) yield JSON.stringify(data);
    yield type;
  }
  if (info.metadata) yield JSON.stringify(info.metadata);
}
