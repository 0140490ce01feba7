import { signal } from "@preact/signals";
import { type SearchHit, searchMessages } from "../api/calls.js";
import { ownerOf, queryFrom, timeOf } from "./filter-texts.js";
import { noteWhere } from "./route.js";

const PAGE = 30;
/**
 * How many pages without a hit a search reads before the reader has to ask for more. The service examines a limited
 * number of messages for each page.
 */
const PAGES_UNASKED = 20;

/** Whether the service can search messages. It writes this into the page. */
export const canSearch = document.documentElement.dataset.search !== undefined;

/** Whether it also finds titles, names of tools, their arguments and outputs, and reasoning. */
export const searchesAll = document.documentElement.dataset.search === "all";

/** What is looked for. Texts are as they were typed. */
export interface SearchFilter {
  readonly q: string;
  /** Empty for all roles. */
  readonly role: string;
  readonly owner: string;
  /** Local times as a field of a form has them; empty when there is no limit. */
  readonly since: string;
  readonly until: string;
}

/** Reads a filter from the query of an address. */
export function searchFilterOf(query: string): SearchFilter {
  const given = new URLSearchParams(query);
  const text = (name: string) => given.get(name) ?? "";
  return { q: text("q"), role: text("role"), owner: text("owner"), since: text("since"), until: text("until") };
}

export type SearchState =
  | { readonly kind: "idle" }
  | { readonly kind: "reading" }
  /** `next` is the token of the next page; empty when nothing follows. */
  | { readonly kind: "done"; readonly next: string }
  | { readonly kind: "failed"; readonly error: unknown };

/** Looks for words in the messages of all sessions. */
export class MessageSearch {
  readonly hits = signal<readonly SearchHit[]>([]);
  readonly state = signal<SearchState>({ kind: "idle" });
  #filter = searchFilterOf("");
  #running: AbortController | undefined;

  /** Starts a new search; one without words ends it. The filter is kept in the address. */
  start(filter: SearchFilter): void {
    this.stop();
    this.#filter = { ...filter, q: filter.q.trim() };
    noteWhere({ view: "search", query: queryFrom(this.#filter) });
    this.hits.value = [];
    this.state.value = { kind: "idle" };
    if (this.#filter.q !== "") void this.more("");
  }

  stop(): void {
    this.#running?.abort();
  }

  /** Reads further pages until there are new hits. */
  async more(pageToken: string): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    this.state.value = { kind: "reading" };
    const before = this.hits.value.length;
    let next = pageToken;
    const { q, role, owner, since, until } = this.#filter;
    const query = { q, role, ...ownerOf(owner), since: timeOf(since), until: timeOf(until), limit: PAGE };
    try {
      for (let pages = 0; pages < PAGES_UNASKED && this.hits.value.length === before; pages++) {
        const page = await searchMessages({ ...query, pageToken: next }, running.signal);
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

/** Splits a snippet at its highlights, which count code points. */
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
