import { setImmediate } from "node:timers/promises";
import { type Call, checkCall } from "../../domain/call.js";
import { holdsTerms } from "../../domain/search-text.js";
import type { Entry, EntrySearch, FoundEntries, SearchedPage } from "../history/log-store.js";
import { readSearchPlace, type SearchPlace, writeSearchPlace } from "../history/search-place.js";
import { searchedText } from "../history/searched-text.js";
import type { MemoryLog } from "./memory-log.js";

/** How much text is searched before other work may run. */
const UNITS_AT_ONCE = 1024 * 1024;

/** The entries of logs that a search finds, unsorted. */
export async function entriesOf(
  logs: readonly MemoryLog[],
  { terms, scope, sinceMicros = -Infinity, untilMicros = Infinity }: EntrySearch,
  call: Call | undefined,
): Promise<Entry[]> {
  const found: Entry[] = [];
  let units = 0;
  for (const log of logs) {
    for (const entry of [...log.entries()]) {
      if (entry.timestampMicros < sinceMicros || entry.timestampMicros >= untilMicros) continue;
      const text = searchedText(entry.body, scope);
      if (holdsTerms(text, terms)) found.push(entry);
      units += text.length;
      if (units < UNITS_AT_ONCE) continue;
      units = 0;
      await setImmediate();
      checkCall(call);
    }
  }
  return found;
}

/** Sorts the entries found, and cuts a page from them. */
export function pageOf(found: Entry[], { limit, after }: SearchedPage): FoundEntries {
  const sorted = found.sort(compare);
  const from = after === undefined ? 0 : countUpTo(sorted, readSearchPlace(after));
  const page = sorted.slice(from, from + limit);
  const entries = page.map((entry) => ({
    log: entry.log,
    seq: entry.seq,
    originSessionId: entry.originSessionId,
    role: entry.role,
    place: writeSearchPlace(entry),
  }));
  return { entries, next: from + limit < sorted.length ? (entries.at(-1)?.place ?? null) : null };
}

function countUpTo(sorted: readonly Entry[], place: SearchPlace): number {
  const next = sorted.findIndex((entry) => compare(entry, place) > 0);
  return next < 0 ? sorted.length : next;
}

/** Negative when `a` comes first. */
function compare(a: SearchPlace, b: SearchPlace): number {
  if (a.timestampMicros !== b.timestampMicros) return b.timestampMicros - a.timestampMicros;
  if (a.log !== b.log) return a.log < b.log ? 1 : -1;
  return b.seq - a.seq;
}
