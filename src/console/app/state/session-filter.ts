import { computed, signal } from "@preact/signals";
import type { Session } from "../api/types.js";
import { startOfDay } from "../text/format.js";
import { foundById, listLabels, readBackTo, restartList, sessions } from "./session-list.js";

/** How far back the list goes: all the way, to the start of yesterday, or seven days. */
export type Since = "all" | "yesterday" | "week";

export const filterText = signal("");
export const filterSince = signal<Since>("all");
export const asTree = signal(false);

const DAYS: Readonly<Record<Exclude<Since, "all">, number>> = { yesterday: 1, week: 7 };

/** The earliest update time that is shown, in milliseconds since 1970. */
export function cutoff(since: Since, now = new Date()): number {
  return since === "all" ? Number.NEGATIVE_INFINITY : startOfDay(now, DAYS[since]).getTime();
}

/** The words that were typed, in lower case and without labels. A session must contain all of them. */
export const filterWords = computed(() => split(filterText.value.toLowerCase()).filter((word) => !isLabel(word)));

/** The sessions that have been read and match, followed by those that a search has found. */
export const filtered = computed(() => {
  const words = filterWords.value;
  const from = cutoff(filterSince.value);
  const read = sessions.value.filter((session) => matches(session, words, from));
  if (words.length === 0 || foundById.value.size === 0) return read;
  const ids = new Set(read.map(({ sessionId }) => sessionId));
  return [...read, ...[...foundById.value.values()].filter(({ sessionId }) => !ids.has(sessionId))];
});

export function matches(session: Session, words: readonly string[], from: number): boolean {
  if (Date.parse(session.updateTime) < from) return false;
  const text = textOf(session);
  return words.every((word) => text.includes(word));
}

/** Whether pages that have not been read may hold sessions that the list would show. */
export const mayHoldMore = computed(() => {
  return readBackTo.value === undefined || Date.parse(readBackTo.value) >= cutoff(filterSince.value);
});

function split(text: string): readonly string[] {
  return text.split(/\s+/).filter(Boolean);
}

/** `team=ops` filters by a label. Everything else is a word to search for. */
function isLabel(word: string): boolean {
  return /^[^=]+=/.test(word);
}

const TYPING_MS = 300;

/** Has the service filter by the labels that have been typed. */
export function filterByTypedLabels(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  filterText.subscribe((text) => {
    clearTimeout(timer);
    const labels = split(text).filter(isLabel);
    if (labels.join(" ") === listLabels.peek().join(" ")) return;
    timer = setTimeout(() => {
      listLabels.value = labels;
      restartList();
    }, TYPING_MS);
  });
}

function textOf({ title, sessionId, parentId, labels = {}, lastMessage }: Session): string {
  const labelled = Object.entries(labels).map(([name, value]) => `${name}:${value}`);
  return [title, sessionId, parentId, ...labelled, lastMessage?.text ?? ""].join("\n").toLowerCase();
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
