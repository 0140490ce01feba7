import { effect, signal } from "@preact/signals";
import { listSessions } from "../api/calls.js";
import type { Session } from "../api/types.js";
import { filterSince, filterWords, matches, type UpdateTimes, updateTimes } from "./session-filter.js";
import { foundById, listFilter, listState, nextPageToken, readBackTo, sessions } from "./session-list.js";

/** How many sessions one request asks for. The service returns fewer when they are large. */
const LIMIT = 1000;
const TYPING_MS = 300;
const RETRY_MS = 5000;
/** A search ends after this many matches, because a reader will not go through more. */
export const MAX_FOUND = 500;

/** How far the search has come among all sessions. */
export interface SearchProgress {
  readonly state: "searching" | "interrupted" | "full" | "done";
  readonly searched: number;
  /** The last change of the oldest session that has been searched. */
  readonly backTo: string | undefined;
}

export const searchProgress = signal<SearchProgress | undefined>(undefined);

/** Searches all sessions for the typed words, page by page, because the API filters by labels but not by titles. */
export function searchByTypedWords(): void {
  effect(() => {
    const words = filterWords.value;
    const times = updateTimes(filterSince.value);
    void listFilter.value;
    if (words.length === 0 || listState.value === "loading") return;
    const left = new AbortController();
    const timer = setTimeout(() => void search(words, times, left.signal), TYPING_MS);
    return () => {
      clearTimeout(timer);
      left.abort();
      foundById.value = new Map();
      searchProgress.value = undefined;
    };
  });
}

async function search(words: readonly string[], times: UpdateTimes, signal: AbortSignal): Promise<void> {
  let pageToken = nextPageToken.peek();
  let searched = sessions.peek().length;
  let backTo = readBackTo.peek();
  const tell = (state: SearchProgress["state"]) => {
    searchProgress.value = { state, searched, backTo };
  };
  while (pageToken !== "" && Date.parse(backTo ?? "") >= times[0]) {
    tell("searching");
    try {
      const page = await listSessions({ limit: LIMIT, pageToken, ...listFilter.peek(), isFull: true }, signal);
      take(page.sessions.filter((session) => matches(session, words, times)));
      searched += page.sessions.length;
      backTo = page.sessions.at(-1)?.updateTime ?? backTo;
      pageToken = page.nextPageToken;
    } catch {
      if (signal.aborted) return;
      tell("interrupted");
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    if (signal.aborted) return;
    if (foundById.peek().size >= MAX_FOUND) return tell("full");
  }
  tell("done");
}

function take(found: readonly Session[]): void {
  if (found.length === 0) return;
  const all = new Map(foundById.peek());
  for (const session of found) if (all.size < MAX_FOUND) all.set(session.sessionId, session);
  foundById.value = all;
}
