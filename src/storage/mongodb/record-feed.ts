import type { Document, Long } from "mongodb";
import { pastOf } from "../history/feed-facts.js";
import type { NextRecord } from "../history/log-store.js";
import { int64 } from "./entry-document.js";

/** How many places there are for each millisecond. */
const PLACES_IN_A_MS = 1024;

/** Digests of what a session has that readers select by. */
export interface DigestsDocument {
  readonly owner: string;
  readonly labels: readonly string[];
}

/** What a record cannot say any more: that its session was deleted, or whose it was and which labels it had. */
export interface DepartureDocument extends DigestsDocument {
  readonly kind: "deleted" | "left";
  readonly place: Long | number;
}

/** What a record has for the feed. No caller decides it. */
export interface FeedFields {
  /** Absent in sessions that were last changed by an earlier version, and in tombstones. */
  readonly place?: Long | number;
  /** The place at which the session was made, published or brought back. */
  readonly made_place?: Long | number;
  /** Absent when it has no owner and no labels, and in tombstones. */
  readonly digests?: DigestsDocument;
  /** Those that are not in the collection `departures` yet; absent when there are none. */
  readonly departures?: readonly DepartureDocument[];
}

/** The place of the beginning of a millisecond. */
export function placeOf(ms: number): number {
  return Math.floor(ms * PLACES_IN_A_MS);
}

/** The time that a place stands for, in milliseconds. It may be ahead of every clock. */
export function msOf(place: number): number {
  return place / PLACES_IN_A_MS;
}

/**
 * The place that a change of a record gets, as an expression: the time, but one after `floor` and after the record's
 * own place at least. The time is that of the server unless another one is given, in milliseconds.
 */
export function nextPlace(floor: number, timeMs?: number): Document {
  const serverPlace = { $multiply: [{ $toLong: "$$NOW" }, int64(PLACES_IN_A_MS)] };
  const now = timeMs === undefined ? serverPlace : int64(placeOf(timeMs));
  return { $max: [now, int64(floor + 1), { $add: ["$place", int64(1)] }] };
}

/** The digests that a living record is stored with. */
export function digestsOf(record: NextRecord): Pick<FeedFields, "digests"> {
  const { owner, labels } = pastOf(record);
  return owner === "" && labels.length === 0 ? {} : { digests: { owner, labels } };
}

/**
 * What a replacement sets for the feed, as expressions over the document that is replaced, whose field `next_place` has
 * the place of this change. The rules are those of `changesFeed` and `departureOf`.
 */
export function feedFieldsAfter(record: NextRecord, updateTime: Long): Document {
  const wasLiving = { $eq: [{ $ifNull: ["$tombstone", "none"] }, ""] };
  const past = { owner: { $ifNull: ["$digests.owner", ""] }, labels: { $ifNull: ["$digests.labels", []] } };
  const departed = (kind: DepartureDocument["kind"]) => ({
    $concatArrays: [{ $ifNull: ["$departures", []] }, [{ kind, place: "$next_place", ...past }]],
  });
  if (record.deleted) return { departures: { $cond: [wasLiving, departed("deleted"), "$departures"] } };
  const { owner, labels } = pastOf(record);
  const isSelectedOtherwise = { $or: [{ $ne: [past.owner, owner] }, { $ne: [past.labels, labels] }] };
  const hasChanged = {
    $or: [
      { $ne: ["$version", record.sessionRevision] },
      { $ne: ["$log", { $literal: record.log }] },
      { $lt: ["$update_time", updateTime] },
    ],
  };
  return {
    place: { $cond: [{ $and: [wasLiving, { $not: [hasChanged] }] }, "$place", "$next_place"] },
    made_place: { $cond: [wasLiving, "$made_place", "$next_place"] },
    departures: { $cond: [{ $and: [wasLiving, isSelectedOtherwise] }, departed("left"), "$departures"] },
  };
}
