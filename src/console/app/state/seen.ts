import { computed, effect, signal } from "@preact/signals";
import { storageKey } from "../api/base.js";
import type { Session } from "../api/types.js";
import { sessions } from "./session-list.js";
import { conversation } from "./ui.js";

const KEY = storageKey("session-pool-seen");
/** How many sessions are remembered. Those that were noted first are forgotten first. */
const MAX_REMEMBERED = 2000;
const STORE_AFTER_MS = 1000;

/** How many messages of each session this browser has shown, and how far the list went when it was last open. */
interface Seen {
  readonly counts: ReadonlyMap<string, number>;
  /** The newest update time of all sessions, as the service gave it; empty before the first visit. */
  readonly until: string;
}

const seen = signal<Seen>(stored());

/** The number of messages that have come since this browser last showed the session. */
export function unseenOf({ sessionId, messageCount }: Session): number {
  const shown = seen.value.counts.get(sessionId);
  return shown === undefined ? 0 : Math.max(0, Number(messageCount ?? 0) - shown);
}

/** The total of these numbers for all sessions that have been read. */
export const unseenInAll = computed(() => sessions.value.reduce((sum, session) => sum + unseenOf(session), 0));

export function seeAll(): void {
  note(sessions.value.map(({ sessionId, messageCount }) => [sessionId, Number(messageCount ?? 0)]));
}

/**
 * Notes what the list and the open session show, and keeps it in the browser. Sessions that existed on the first visit
 * count as seen. In a session that was made later, all messages are new except those taken over from its parent.
 */
export function followSeen(): void {
  effect(() => {
    const { counts, until } = seen.peek();
    const found: [string, number][] = [];
    for (const { sessionId, messageCount, inheritedCount, createTime } of sessions.value) {
      if (messageCount === undefined) continue;
      const count = Number(messageCount);
      const shown = counts.get(sessionId);
      if (shown === undefined) {
        const isNew = until !== "" && Date.parse(createTime) > Date.parse(until);
        found.push([sessionId, isNew ? Number(inheritedCount) : count]);
      } else if (shown > count) found.push([sessionId, count]);
    }
    note(found, sessions.value[0]?.updateTime);
  });
  effect(() => {
    const open = conversation.value;
    if (open && open.live.value !== "loading") note([[open.sessionId, open.history.count.value]]);
  });
  addEventListener("pagehide", store);
}

let storing: ReturnType<typeof setTimeout> | undefined;

function note(found: readonly (readonly [string, number])[], until = seen.peek().until): void {
  const before = seen.peek();
  const changed = found.filter(([sessionId, count]) => before.counts.get(sessionId) !== count);
  if (changed.length === 0 && until === before.until) return;
  const counts = new Map([...before.counts, ...changed]);
  for (const sessionId of [...counts.keys()].slice(0, Math.max(0, counts.size - MAX_REMEMBERED))) {
    counts.delete(sessionId);
  }
  seen.value = { counts, until };
  storing ??= setTimeout(store, STORE_AFTER_MS);
}

function store(): void {
  clearTimeout(storing);
  storing = undefined;
  const { counts, until } = seen.peek();
  try {
    localStorage.setItem(KEY, JSON.stringify({ counts: [...counts], until }));
  } catch {
    // The browser stores nothing for this page, so the counts start over with the next visit.
  }
}

function stored(): Seen {
  try {
    const { counts, until } = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return { counts: new Map(counts), until: String(until ?? "") };
  } catch {
    return { counts: new Map(), until: "" };
  }
}
