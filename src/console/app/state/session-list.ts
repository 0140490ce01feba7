import { computed, signal } from "@preact/signals";
import { listSessions, type SessionFilter, type SessionPage } from "../api/calls.js";
import { isKeyProblem } from "../api/http.js";
import type { Session } from "../api/types.js";
import { followFeed } from "./session-feed.js";
import { dismissAbout } from "./toasts.js";
import { isHidden } from "./visibility.js";

const PAGE = 50;
const NONE: ReadonlySet<string> = new Set();
/** The time between two requests, which is longer after a failure. */
const POLL_MS = 2000;
const POLL_AFTER_FAILURE_MS = 5000;

const byId = signal<ReadonlyMap<string, Session>>(new Map());

/** Sessions that a search has found beyond the pages that have been read. */
export const foundById = signal<ReadonlyMap<string, Session>>(new Map());

/** The sessions that have been read, the most recently updated first. */
export const sessions = computed(() => [...byId.value.values()].sort(newestFirst));
export const nextPageToken = signal("");
/**
 * When the oldest session on the pages that have been read was last changed. A session that was opened by its address
 * may be older.
 */
export const readBackTo = signal<string | undefined>(undefined);
export const listState = signal<"loading" | "ready">("loading");
export const listError = signal<unknown>(undefined);
/** Increases whenever the list has been read because something may have changed. */
export const listReads = signal(0);
/** What the service filters by. */
export const listFilter = signal<SessionFilter>({});

function newestFirst(a: Session, b: Session): number {
  const order = Date.parse(b.updateTime) - Date.parse(a.updateTime);
  return order || (a.sessionId < b.sessionId ? 1 : -1);
}

export function sessionById(sessionId: string): Session | undefined {
  return byId.value.get(sessionId) ?? foundById.value.get(sessionId);
}

/** Notes the session that a call has just returned. */
export function noteSession(session: Session): void {
  if (isFiltered() && !byId.value.has(session.sessionId)) return;
  byId.value = new Map(byId.value).set(session.sessionId, { ...byId.value.get(session.sessionId), ...session });
}

function isFiltered(): boolean {
  const { labels = [], owner } = listFilter.value;
  return labels.length > 0 || owner !== undefined;
}

export function forgetSession(sessionId: string): void {
  for (const list of [byId, foundById]) {
    const rest = new Map(list.value);
    if (rest.delete(sessionId)) list.value = rest;
  }
  dismissAbout(sessionId);
}

export async function readMore(): Promise<void> {
  const page = await listSessions({ limit: PAGE, pageToken: nextPageToken.value, ...listFilter.value, isFull: true });
  merge(page.sessions);
  notePage(page);
}

function notePage({ sessions, nextPageToken: next }: SessionPage): void {
  nextPageToken.value = next;
  readBackTo.value = sessions.at(-1)?.updateTime ?? readBackTo.peek();
}

const MAX_PAGE = 1000;

/**
 * Reads the newest sessions, as many as it takes to see all that have changed, and removes sessions that should be
 * among them but are not: those that were deleted, and those that changed and match the filter no longer.
 */
async function refresh(signal: AbortSignal, changed: ReadonlySet<string> = NONE): Promise<void> {
  const limit = Math.min(MAX_PAGE, PAGE + changed.size);
  const page = await listSessions({ limit, ...listFilter.value, isFull: true }, signal);
  if (listState.value === "loading") notePage(page);
  const oldest = page.nextPageToken === "" ? undefined : page.sessions.at(-1);
  const listed = new Set(page.sessions.map(({ sessionId }) => sessionId));
  const gone = sessions.value.filter(
    (one) =>
      !listed.has(one.sessionId) &&
      (oldest === undefined || newestFirst(one, oldest) < 0 || (changed.has(one.sessionId) && changed.size < limit)),
  );
  merge(page.sessions, gone);
  listState.value = "ready";
  listError.value = undefined;
  listReads.value += 1;
}

function merge(found: readonly Session[], gone: readonly Session[] = []): void {
  const old = byId.value;
  const isNew = (one: Session) => JSON.stringify(old.get(one.sessionId)) !== JSON.stringify(one);
  const changed = found.filter(isNew);
  if (changed.length + gone.length === 0) return;
  const merged = new Map(old);
  for (const one of changed) merged.set(one.sessionId, one);
  for (const { sessionId } of gone) merged.delete(sessionId);
  byId.value = merged;
}

let following: AbortController | undefined;
let retryNow: () => void = () => undefined;

/** Starts over, for example with another key. */
export function restartList(): void {
  following?.abort();
  following = new AbortController();
  byId.value = new Map();
  nextPageToken.value = "";
  readBackTo.value = undefined;
  listState.value = "loading";
  listError.value = undefined;
  void keepUp(following.signal);
}

/** Tries again at once, without waiting until that is due. */
export function retryList(): void {
  retryNow();
}

/** Keeps the list up to date by the feed of sessions or, where the server has none, by asking again and again. */
async function keepUp(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      // The feed of a tab that is hidden begins when it is shown.
      if (isHidden.peek()) await refresh(signal);
      const hasFeed = await followFeed(listFilter.peek(), {
        read: (changed) => refresh(signal, changed),
        onDeleted: forgetSession,
        onProblem: (error) => {
          listError.value = error;
        },
        pause,
        signal,
      });
      if (!hasFeed) await poll(signal);
    } catch (error) {
      if (signal.aborted) return;
      listError.value = error;
      // The same key would be refused again and count as a guess. A new key restarts the list.
      if (isKeyProblem(error)) return;
    }
    await pause(POLL_AFTER_FAILURE_MS);
  }
}

async function poll(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (!document.hidden || listState.peek() === "loading") await refresh(signal);
    await pause(POLL_MS);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    retryNow = resolve;
    setTimeout(resolve, milliseconds);
  });
}
