import { signal } from "@preact/signals";
import { type SearchHit, searchMessages } from "../api/calls.js";
import { noteWhere } from "./route.js";

const PAGE = 30;
/** Pages without a hit that one search reads by itself: each looks at a limited number of messages. */
const PAGES_UNASKED = 20;

/** Whether the service finds messages by their words; it writes that into the page. */
export const canSearch = document.documentElement.dataset.search === "on";

export type SearchState =
  | { readonly kind: "idle" }
  | { readonly kind: "reading" }
  /** `next`: goes on; empty when nothing follows. */
  | { readonly kind: "done"; readonly next: string }
  | { readonly kind: "failed"; readonly error: unknown };

/** Looks for words in the messages of all sessions. */
export class MessageSearch {
  readonly hits = signal<readonly SearchHit[]>([]);
  readonly state = signal<SearchState>({ kind: "idle" });
  #q = "";
  #running: AbortController | undefined;

  /** Begins anew; an empty text ends the search. The address says what is looked for. */
  start(text: string): void {
    this.stop();
    this.#q = text.trim();
    noteWhere({ view: "search", q: this.#q });
    this.hits.value = [];
    this.state.value = { kind: "idle" };
    if (this.#q !== "") void this.more("");
  }

  stop(): void {
    this.#running?.abort();
  }

  /** Reads on until there is something new to show. */
  async more(pageToken: string): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    this.state.value = { kind: "reading" };
    const before = this.hits.value.length;
    let next = pageToken;
    try {
      for (let pages = 0; pages < PAGES_UNASKED && this.hits.value.length === before; pages++) {
        const page = await searchMessages({ q: this.#q, limit: PAGE, pageToken: next }, running.signal);
        this.hits.value = [...this.hits.value, ...page.hits];
        next = page.nextPageToken;
        if (next === "") break;
      }
      this.state.value = { kind: "done", next };
    } catch (error) {
      if (!running.signal.aborted) this.state.value = { kind: "failed", error };
    }
  }
}

export interface SnippetPiece {
  readonly text: string;
  readonly isMarked: boolean;
}

/** A snippet in pieces. Highlights count code points. */
export function piecesOf({ snippet, highlights = [] }: SearchHit): readonly SnippetPiece[] {
  const points = [...snippet];
  const pieces: SnippetPiece[] = [];
  let at = 0;
  for (const { start = 0, end = 0 } of highlights) {
    pieces.push({ text: points.slice(at, start).join(""), isMarked: false });
    pieces.push({ text: points.slice(start, end).join(""), isMarked: true });
    at = end;
  }
  pieces.push({ text: points.slice(at).join(""), isMarked: false });
  return pieces.filter(({ text }) => text !== "");
}
