import { setImmediate } from "node:timers/promises";
import { type Call, checkCall } from "../../domain/call.js";
import type { SessionFilter } from "../../domain/page.js";
import type { SessionOrder } from "../../domain/session-order.js";
import {
  type FoundRecords,
  GATHERED_PART,
  MOST_LOOKED_AT,
  type QueryPage,
  type RecordPlace,
  type RecordQueries,
  type RecordQuery,
} from "./record-queries.js";
import type { SessionRecord } from "./session-record.js";

/** How many records are looked at before other work may run. */
const AT_ONCE = 1000;
/** A step looks at no fewer, so that a page takes few steps. */
const LEAST_AT_ONCE = 200;
/** How far the records of several conditions are counted to tell which is the rarest, as a part of MOST_LOOKED_AT. */
const COMPARED_PART = 2;

/** An index by which records are found: those that meet some of the conditions of a filter. */
export interface QueryDriver {
  /** The names of the conditions that all of its records meet, as `conditionsOf` names them. */
  readonly covers: ReadonlySet<string>;
  /** What it is ordered by; absent where the order is of no use. */
  readonly by?: SessionOrder["by"] | undefined;
}

/** A record that was looked at; null if it does not meet all conditions, or is gone. */
export interface Looked {
  readonly place: RecordPlace;
  readonly record: SessionRecord | null;
}

/** Where to look, and at how many records. */
export interface LookedPage {
  readonly limit: number;
  readonly after: RecordPlace | undefined;
}

/** What a store does for the queries that are planned here. */
export interface QueryIndexes<Driver extends QueryDriver> {
  /** The indexes by update time, and those of the words; and those of the other orders. The first covers least. */
  driversOf(filter: SessionFilter): readonly Driver[];
  /** The numbers of the records of drivers, each up to `most`. */
  countEach(drivers: readonly Driver[], most: number, filter: SessionFilter, call?: Call): Promise<readonly number[]>;
  /** How many records of a driver meet all conditions. Reads them all. */
  countMeeting(driver: Driver, filter: SessionFilter, call?: Call): Promise<number>;
  /** Reads all records of a driver, and returns those that meet all conditions, in the order of the query. */
  gather(driver: Driver, query: RecordQuery, page: LookedPage, call?: Call): Promise<readonly Looked[]>;
  /** The next records of a driver that has the order of the query; fewer than `limit` only at its end. */
  look(driver: Driver, query: RecordQuery, page: LookedPage, call?: Call): Promise<readonly Looked[]>;
  sample: RecordQueries["sample"];
}

/**
 * Finds records by whichever index has the fewest that may be meant. If those are few, it reads them all and sorts
 * them. Otherwise it follows an index that has the order of the query.
 */
export class QueryPlanner<Driver extends QueryDriver> implements RecordQueries {
  readonly #indexes: QueryIndexes<Driver>;

  constructor(indexes: QueryIndexes<Driver>) {
    this.#indexes = indexes;
  }

  async find(query: RecordQuery, page: QueryPage, call?: Call): Promise<FoundRecords> {
    const drivers = this.#indexes.driversOf(query);
    const inOrder = drivers.filter(({ by }) => by === query.order.by);
    const exact = inOrder.find((driver) => coversAll(driver, query));
    if (exact) return this.#walk(exact, query, page, call);
    const { lookAt = MOST_LOOKED_AT } = page;
    const most = Math.floor(lookAt * GATHERED_PART);
    const { driver: rarest, count } = await this.#rarest(timed(drivers), most + 1, query, call);
    if (count <= most) return this.#gather(rarest, query, page, call);
    const [first, ...others] = inOrder as [Driver, ...Driver[]];
    const walked =
      others.length === 0 ? first : (await this.#rarest(inOrder, lookAt * COMPARED_PART, query, call)).driver;
    return this.#walk(walked, query, page, call);
  }

  async count(filter: SessionFilter, most: number, call?: Call): Promise<number | null> {
    const drivers = timed(this.#indexes.driversOf(filter));
    const exact = drivers.find((driver) => coversAll(driver, filter));
    const { driver, count } = await this.#rarest(exact ? [exact] : drivers, most + 1, filter, call);
    if (count > most) return null;
    return exact ? count : this.#indexes.countMeeting(driver, filter, call);
  }

  sample(limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#indexes.sample(limit, call);
  }

  /** The driver with the fewest records, and how many it has. Of those with as few, it covers the most. */
  async #rarest(
    drivers: readonly Driver[],
    most: number,
    filter: SessionFilter,
    call?: Call,
  ): Promise<{ driver: Driver; count: number }> {
    const counts = await this.#indexes.countEach(drivers, most, filter, call);
    const count = Math.min(...counts);
    const fewest = drivers.filter((_, i) => counts[i] === count);
    const driver = fewest.reduce((best, one) => (one.covers.size > best.covers.size ? one : best));
    return { driver, count };
  }

  async #gather(driver: Driver, query: RecordQuery, { limit, after }: QueryPage, call?: Call): Promise<FoundRecords> {
    const looked = await this.#indexes.gather(driver, query, { limit: limit + 1, after }, call);
    const page = looked.slice(0, limit);
    const records = page.map(({ record }) => record).filter((record) => record !== null);
    return { records, next: looked.length > limit ? (page.at(-1)?.place ?? null) : null };
  }

  async #walk(
    driver: Driver,
    query: RecordQuery,
    { limit, after, lookAt = MOST_LOOKED_AT }: QueryPage,
    call?: Call,
  ): Promise<FoundRecords> {
    const isExact = coversAll(driver, query);
    const atOnce = isExact ? limit : Math.min(AT_ONCE, lookAt, Math.max(LEAST_AT_ONCE, limit * 2));
    const records: SessionRecord[] = [];
    let vain = 0;
    for (let place = after; ; await setImmediate()) {
      checkCall(call);
      const looked = await this.#indexes.look(driver, query, { limit: atOnce, after: place }, call);
      for (const { record, place: at } of looked) {
        place = at;
        if (record) records.push(record);
        else vain++;
        if (records.length === limit || vain === lookAt) return { records, next: at };
      }
      if (looked.length < atOnce) return { records, next: null };
    }
  }
}

/** The names of the conditions of a filter. */
export function conditionsOf(filter: SessionFilter): readonly string[] {
  const { parentId, owner, updatedSinceMicros, updatedUntilMicros, labels = [], titleWords = [] } = filter;
  return [
    ...(parentId === "" ? [] : ["parent"]),
    ...(owner === undefined ? [] : ["owner"]),
    ...(updatedSinceMicros === undefined && updatedUntilMicros === undefined ? [] : ["time"]),
    ...labels.map(labelCondition),
    ...titleWords.map(wordCondition),
  ];
}

export function labelCondition(label: string): string {
  return `label ${label}`;
}

export function wordCondition(word: string): string {
  return `word ${word}`;
}

/**
 * The filter without the bound of the update time at which a list in this order begins. After a place, that bound says
 * nothing more, and with two bounds on one side a database may begin at the other one.
 */
export function afterFirstBound({ order, ...filter }: RecordQuery): SessionFilter {
  return { ...filter, [order.descending ? "updatedUntilMicros" : "updatedSinceMicros"]: undefined };
}

function coversAll({ covers }: QueryDriver, filter: SessionFilter): boolean {
  return conditionsOf(filter).every((name) => covers.has(name));
}

/** Those that may have fewer records than others; those of the other orders have as many as that of the update time. */
function timed<Driver extends QueryDriver>(drivers: readonly Driver[]): readonly Driver[] {
  return drivers.filter(({ by = "update_time" }) => by === "update_time");
}
