import { signal } from "@preact/signals";
import { type SearchHit, searchMessages } from "../api/calls.js";
import { ownerOf, queryFrom, timeOf } from "./filter-texts.js";
import { noteWhere } from "./route.js";
import { SaidMessages, type SaidPage } from "./said-messages.js";

const PAGE = 30;
/**
 * How many pages without a hit a search reads before the reader has to ask for more. The service examines a limited
 * number of messages for each page.
 */
const PAGES_UNASKED = 20;
/** How many pages a list without words reads for as many hits as a page of a search has. */
const PAGES_LISTED = 50;

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

type ReadPage = (pageToken: string, signal: AbortSignal) => Promise<SaidPage>;

export type SearchState =
  | { readonly kind: "idle" }
  | { readonly kind: "reading" }
  /** `next` is the token of the next page; empty when nothing follows. */
  | { readonly kind: "done"; readonly next: string }
  | { readonly kind: "failed"; readonly error: unknown };

/** Whether anything but words is asked for. */
function hasConditions({ role, owner, since, until }: SearchFilter): boolean {
  return [role, owner, since, until].some((text) => text !== "");
}

/** Looks for words in the messages of all sessions, or without words, for messages of a kind, an owner and a time. */
export class MessageSearch {
  readonly hits = signal<readonly SearchHit[]>([]);
  readonly state = signal<SearchState>({ kind: "idle" });
  /** Whether the hits come from a list and not from a search for words. */
  readonly isList = signal(false);
  #read: ReadPage = () => Promise.resolve({ hits: [], nextPageToken: "" });
  #running: AbortController | undefined;

  /** Starts a new search; one without words and conditions ends it. The filter is kept in the address. */
  start(typed: SearchFilter): void {
    this.stop();
    const filter = { ...typed, q: canSearch ? typed.q.trim() : "" };
    noteWhere({ view: "search", query: queryFrom(filter) });
    this.hits.value = [];
    this.state.value = { kind: "idle" };
    this.isList.value = filter.q === "" && hasConditions(filter);
    if (filter.q === "" && !this.isList.value) return;
    const { q, role, owner, since, until } = filter;
    const conditions = { role, ...ownerOf(owner), since: timeOf(since), until: timeOf(until) };
    if (this.isList.value) {
      const said = new SaidMessages(conditions);
      this.#read = (_, signal) => said.read(signal);
    } else {
      this.#read = (pageToken, signal) => searchMessages({ q, ...conditions, limit: PAGE, pageToken }, signal);
    }
    void this.more("");
  }

  stop(): void {
    this.#running?.abort();
  }

  /** Reads further pages until there are new hits; of a list, until there are as many as a page of a search has. */
  async more(pageToken: string): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    this.state.value = { kind: "reading" };
    const isList = this.isList.peek();
    const [enough, maxPages] = isList
      ? [this.hits.value.length + PAGE, PAGES_LISTED]
      : [this.hits.value.length + 1, PAGES_UNASKED];
    let next = pageToken;
    try {
      for (let pages = 0; pages < maxPages && this.hits.value.length < enough; pages++) {
        const page = await this.#read(next, running.signal);
        if (running.signal.aborted) return;
        if (page.hits.length > 0) this.hits.value = [...this.hits.value, ...page.hits];
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
