import type { RecordPage, SessionRecord } from "../history/log-store.js";
import { toColumn } from "../text-column.js";
import { pageToRecords } from "./rows.js";
import { isTooBig } from "./sqlite-errors.js";
import type { Row, Statement } from "./statements.js";

/** The records of a page. `later` has the place that they come after as further parameters. */
export function pageOf(
  first: Statement,
  later: Statement,
  scope: readonly string[],
  { limit, after }: RecordPage,
): SessionRecord[] {
  return recordsOf(limit, after, (most, place) => {
    if (place === undefined) return first.get(...scope, most);
    return later.get(...scope, place.updateTimeMicros, toColumn(place.sessionId), most);
  });
}

/**
 * The records that come after a place, of which `read` returns at most a given number as a single row. Where the limits
 * of metadata were raised, a row may be longer than SQLite or a string can be; then it is read in parts.
 */
export function recordsOf<Place>(
  limit: number,
  after: Place | undefined,
  read: (most: number, after: Place | SessionRecord | undefined) => Row | undefined,
): SessionRecord[] {
  try {
    return pageToRecords(read(limit, after));
  } catch (error) {
    if (limit === 1 || !isTooBig(error)) throw error;
    const half = Math.ceil(limit / 2);
    const some = recordsOf(half, after, read);
    if (some.length < half || half === limit) return some;
    return some.concat(recordsOf<Place | SessionRecord>(limit - half, some.at(-1), read));
  }
}
