import { computed, signal } from "@preact/signals";
import type { Message } from "../api/types.js";
import { BackwardWalk } from "./walk.js";

export interface Hit {
  readonly position: number;
  readonly role: string;
  readonly timestamp: string;
  /** The text around the hit; the hit itself is from `at` on. */
  readonly snippet: string;
  readonly at: number;
}

/** A search ends after this many hits, because a reader will not go through more. */
const MAX_HITS = 200;
const AROUND = 60;

/** Searches the messages of one session for a text, newest first. */
export class Find {
  readonly hits = signal<readonly Hit[]>([]);
  readonly walk = new BackwardWalk();
  readonly state = computed((): "idle" | "reading" | "full" | "done" | "failed" => {
    if (this.walk.error.value !== undefined) return "failed";
    if (this.walk.isReading.value) return "reading";
    if (this.walk.readTo.value === undefined) return "idle";
    return this.hits.value.length < MAX_HITS ? "done" : "full";
  });

  /** An empty text ends the search. */
  start(sessionId: string, text: string): void {
    this.stop();
    if (text === "") return;
    const wanted = text.toLowerCase();
    void this.walk.start(sessionId, (page) => {
      this.hits.value = [...this.hits.value, ...page.flatMap((message) => hitOf(message, wanted) ?? [])];
      return this.hits.value.length < MAX_HITS;
    });
  }

  stop(): void {
    this.walk.stop();
    this.walk.readTo.value = undefined;
    this.walk.error.value = undefined;
    this.hits.value = [];
  }
}

function hitOf(message: Message, text: string): Hit | undefined {
  for (const content of textsOf(message)) {
    const found = content.toLowerCase().indexOf(text);
    if (found < 0) continue;
    const from = Math.max(0, found - AROUND);
    const to = found + text.length + AROUND;
    const { position, role, timestamp } = message.info;
    return {
      ...{ position: Number(position), role, timestamp },
      snippet: `${from > 0 ? "…" : ""}${content.slice(from, to).replace(/\s/g, " ")}${to < content.length ? "…" : ""}`,
      at: found - from + (from > 0 ? 1 : 0),
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
