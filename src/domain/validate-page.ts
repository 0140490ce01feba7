import { invalidArgument } from "./errors.js";
import { DEFAULT_PAGE_MESSAGES, type Limits } from "./limits.js";
import type { MessageQuery, SessionFilter } from "./page.js";

/** The number of items that a page may hold: 100 when absent, and never more than the limit. */
export function pageLimit(limit: number | undefined, limits: Limits): number {
  if (limit === undefined) return Math.min(DEFAULT_PAGE_MESSAGES, limits.pageMessages);
  if (!Number.isInteger(limit) || limit < 1) {
    throw invalidArgument(`limit is ${limit}; it must be a whole number of at least 1`);
  }
  return Math.min(limit, limits.pageMessages);
}

export function checkOffset(offset: number | undefined): void {
  if (offset === undefined || (Number.isInteger(offset) && offset >= 0)) return;
  throw invalidArgument(`offset is ${offset}; it must be a whole number of at least 0`);
}

export function checkUpdateTimes({
  updatedSinceMicros,
  updatedUntilMicros,
}: Pick<SessionFilter, "updatedSinceMicros" | "updatedUntilMicros">): void {
  if (updatedSinceMicros !== undefined && updatedUntilMicros !== undefined && updatedSinceMicros > updatedUntilMicros) {
    throw invalidArgument("updated_since is after updated_until");
  }
}

export function checkMessageQuery(query: MessageQuery): void {
  const { sinceMicros, untilMicros } = query;
  if (sinceMicros !== undefined && untilMicros !== undefined && sinceMicros > untilMicros) {
    throw invalidArgument("since is after until");
  }
}

/** The nearest number of microseconds that can be counted exactly: years before 1684 and after 2255 are beyond. */
export function exactMicros(micros: number): number {
  return Math.min(Math.max(micros, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
