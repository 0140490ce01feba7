import type { Call } from "../../domain/call.js";
import { labelTexts } from "../../domain/labels.js";
import type { SessionFilter } from "../../domain/page.js";
import {
  compareOrderKeys,
  NEWEST_FIRST,
  type OrderKey,
  orderKey,
  orderText,
  type SessionOrder,
  titleWords,
} from "../../domain/session-order.js";
import type { SessionRecord } from "./session-record.js";

/** How many records a store looks at for a page without returning them. */
export const MOST_LOOKED_AT = 10_000;
/**
 * If so small a part of MOST_LOOKED_AT meets one of the conditions, a store reads them all and sorts them. Otherwise it
 * follows the order of the query.
 */
export const GATHERED_PART = 1 / 5;

/** Which living records to find, and in which order. */
export interface RecordQuery extends SessionFilter {
  readonly order: SessionOrder;
}

/**
 * A place in an order: the key of `orderKey`, then the session id (by code unit or by byte, but always the same), both
 * ascending or both descending. Keys that are texts are compared by code points.
 */
export interface RecordPlace {
  readonly key: OrderKey;
  readonly sessionId: string;
}

export interface QueryPage {
  readonly limit: number;
  /** Only records after this place in the order of the query. */
  readonly after?: RecordPlace | undefined;
  /** How many records may be looked at without being returned; MOST_LOOKED_AT when absent. */
  readonly lookAt?: number | undefined;
}

export interface FoundRecords {
  readonly records: readonly SessionRecord[];
  /** Where to go on, also when no record was found; null when nothing follows. */
  readonly next: RecordPlace | null;
}

/** Lists of living records in other orders and with other conditions than `listRecords` knows. */
export interface RecordQueries {
  /**
   * Finds at most `limit` records that meet all conditions, in the order of the query. Returns fewer, with `next`, when
   * it has looked at about `lookAt` others for them. A record that does not change between two pages is on one of
   * them; one whose place in the order changes may be on both or on none. What a page costs does not grow with the
   * number of records, except by the depth of an index.
   */
  find(query: RecordQuery, page: QueryPage, call?: Call): Promise<FoundRecords>;

  /**
   * How many living records meet the conditions. Null when more than `most` do, and also when more than that would have
   * to be looked at to know. Reads indexes, and about `most` records at most.
   */
  count(filter: SessionFilter, most: number, call?: Call): Promise<number | null>;

  /** The living records with the smallest uids, by uid; fewer than `limit` only when there are no more. */
  sample(limit: number, call?: Call): Promise<readonly SessionRecord[]>;
}

export function placeIn(record: Omit<SessionRecord, "forks">, order: SessionOrder): RecordPlace {
  return { key: orderKey(record, order), sessionId: record.sessionId };
}

/** Compares places by an order; ids by code unit. */
export function comparePlaces(a: RecordPlace, b: RecordPlace, { descending }: SessionOrder): number {
  const ids = a.sessionId < b.sessionId ? -1 : Number(a.sessionId > b.sessionId);
  const ascending = compareOrderKeys(a.key, b.key) || ids;
  return descending ? -ascending : ascending;
}

/** Whether a record meets all conditions. */
export function meets(record: SessionRecord, filter: SessionFilter): boolean {
  const { parentId, owner, updatedSinceMicros, updatedUntilMicros, labels = [], titleWords: wanted = [] } = filter;
  const { updateTimeMicros } = record;
  if (parentId !== "" && record.parentId !== parentId) return false;
  if (owner !== undefined && (record.owner ?? "") !== owner) return false;
  if (updatedSinceMicros !== undefined && updateTimeMicros < updatedSinceMicros) return false;
  if (updatedUntilMicros !== undefined && updateTimeMicros >= updatedUntilMicros) return false;
  return hasAll(labels, () => labelTexts(record.labels)) && hasAll(wanted, () => titleWords(record.title));
}

function hasAll(wanted: readonly string[], textsOf: () => readonly string[]): boolean {
  if (wanted.length === 0) return true;
  const texts = new Set(textsOf());
  return wanted.every((text) => texts.has(text));
}

/** What `listRecords` orders by. */
type Timed = Pick<SessionRecord, "updateTimeMicros" | "sessionId">;

/** A page as `listRecords` returns it: it holds fewer records than `limit` only when none follows. */
export async function wholePage(
  queries: RecordQueries,
  query: RecordQuery,
  { limit, after }: { readonly limit: number; readonly after?: Timed | undefined },
  call?: Call,
): Promise<readonly SessionRecord[]> {
  const found: SessionRecord[] = [];
  let place: RecordPlace | null = after ? { key: after.updateTimeMicros, sessionId: after.sessionId } : null;
  do {
    const page = { limit: limit - found.length, after: place ?? undefined };
    const { records, next } = await queries.find(query, page, call);
    found.push(...records);
    place = next;
  } while (place !== null && found.length < limit);
  return found;
}

/** Whether `listRecords` has an index for exactly this list. */
export function isPlainList({ parentId, labels = [], owner, order, ...filter }: RecordQuery): boolean {
  const { updatedSinceMicros, updatedUntilMicros, titleWords: words } = filter;
  const isOfTime = updatedSinceMicros === undefined && updatedUntilMicros === undefined;
  const isOneKey = parentId === "" ? labels.length < 2 : labels.length === 0 && owner === undefined;
  return isOneKey && isOfTime && (words ?? []).length === 0 && orderText(order) === orderText(NEWEST_FIRST);
}
