import { computed, signal } from "@preact/signals";
import type { SessionFilter } from "../api/calls.js";
import type { Session } from "../api/types.js";
import { foundById, listFilter, nextPageToken, readBackTo, restartList, sessions } from "./session-list.js";
import { type TimeName, timesOf } from "./times.js";

/** When the sessions of the list changed. */
export type Since = "all" | TimeName;

export const filterText = signal("");
export const filterSince = signal<Since>("all");
export const asTree = signal(false);

/** The update times that are shown, in milliseconds since 1970: from the first, and before the second. */
export type UpdateTimes = readonly [from: number, before: number];

export function updateTimes(since: Since, now = new Date()): UpdateTimes {
  if (since === "all") return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const { since: from, until } = timesOf(since, now);
  return [from.getTime(), until?.getTime() ?? Number.POSITIVE_INFINITY];
}

/** The earliest update time that is shown. */
export function cutoff(since: Since): number {
  return updateTimes(since)[0];
}

/** The words that were typed, in lower case, without labels and owner. A session must contain all of them. */
export const filterWords = computed(() => {
  return split(filterText.value.toLowerCase()).filter((word) => !isLabel(word) && !isOwner(word));
});

/** The sessions that have been read and match, followed by those that a search has found. */
export const filtered = computed(() => {
  const words = filterWords.value;
  const times = updateTimes(filterSince.value);
  const read = sessions.value.filter((session) => matches(session, words, times));
  if (words.length === 0 || foundById.value.size === 0) return read;
  const ids = new Set(read.map(({ sessionId }) => sessionId));
  return [...read, ...[...foundById.value.values()].filter(({ sessionId }) => !ids.has(sessionId))];
});

export function hasChangedIn([from, before]: UpdateTimes, { updateTime }: Session): boolean {
  const at = Date.parse(updateTime);
  return at >= from && at < before;
}

export function matches(session: Session, words: readonly string[], times: UpdateTimes): boolean {
  if (!hasChangedIn(times, session)) return false;
  const text = textOf(session);
  return words.every((word) => text.includes(word));
}

/** Whether pages that have not been read may hold sessions that changed in a time. */
export function mayHoldMore(since: Since): boolean {
  if (nextPageToken.value === "") return false;
  return readBackTo.value === undefined || Date.parse(readBackTo.value) >= cutoff(since);
}

function split(text: string): readonly string[] {
  return text.match(/owner:"[^"]*"|\S+/gi) ?? [];
}

/** `team=ops` filters by a label. Everything else but the owner is a word to search for. */
function isLabel(word: string): boolean {
  return /^[^=]+=/.test(word) && !isOwner(word);
}

function isOwner(word: string): boolean {
  return /^owner:/i.test(word);
}

/** What the service is to filter by. An owner that is still being typed does not count. */
function serviceFilter(text: string): SessionFilter {
  const words = split(text);
  const labels = words.filter(isLabel);
  const [, quoted, plain] = words.map((word) => /^owner:(?:"([^"]*)"|([^"\s]\S*))$/i.exec(word)).find(Boolean) ?? [];
  return { labels, owner: quoted ?? plain };
}

/** Filters by an owner as if it had been typed. */
export function filterByOwner(owner: string): void {
  filterText.value = /\s/.test(owner) ? `owner:"${owner}"` : `owner:${owner}`;
}

const TYPING_MS = 300;

/** Has the service filter by the labels and the owner that have been typed. */
export function filterByService(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = JSON.stringify(serviceFilter(""));
  filterText.subscribe((text) => {
    clearTimeout(timer);
    const filter = serviceFilter(text);
    const typed = JSON.stringify(filter);
    if (typed === last) return;
    timer = setTimeout(() => {
      last = typed;
      listFilter.value = filter;
      restartList();
    }, TYPING_MS);
  });
}

function textOf({ title, sessionId, parentId, owner = "", labels = {}, lastMessage }: Session): string {
  const labelled = Object.entries(labels).map(([name, value]) => `${name}:${value}`);
  return [title, sessionId, parentId, owner, ...labelled, lastMessage?.text ?? ""].join("\n").toLowerCase();
}

export interface ListRow {
  readonly session: Session;
  readonly depth: number;
}

/** Puts forks under their parents where both are in the list. A family takes the place of its newest member. */
export function treeRows(list: readonly Session[]): readonly ListRow[] {
  const listed = new Map(list.map((session) => [session.sessionId, session]));
  const children = new Map<string, Session[]>();
  const roots: Session[] = [];
  for (const session of list) {
    if (listed.has(session.parentId) && session.parentId !== session.sessionId) {
      children.set(session.parentId, [...(children.get(session.parentId) ?? []), session]);
    } else roots.push(session);
  }
  const rows: ListRow[] = [];
  const seen = new Set<string>();
  const add = (session: Session, depth: number): void => {
    if (seen.has(session.sessionId)) return;
    seen.add(session.sessionId);
    rows.push({ session, depth });
    for (const child of children.get(session.sessionId) ?? []) add(child, depth + 1);
  };
  for (const root of roots) add(root, 0);
  // Two sessions whose ids were used again may each name the other as parent.
  for (const session of list) add(session, 0);
  return rows;
}
