import { setImmediate } from "node:timers/promises";
import type { Call } from "../../domain/call.js";
import type { SessionFilter } from "../../domain/page.js";
import type {
  FoundRecords,
  QueryPage,
  RecordPlace,
  RecordQueries,
  RecordQuery,
  SessionRecord,
} from "../history/log-store.js";
import { GATHERED_PART, MOST_LOOKED_AT } from "../history/record-queries.js";
import { fromColumn } from "../text-column.js";
import { countAllSql, countSql, coversAll, type Driver, driversOf, gatherSql, type Sql, walkSql } from "./query-sql.js";
import type { SessionTable } from "./session-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import type { Row } from "./statements.js";

/** How many sessions are looked at before other work may run. */
const AT_ONCE = 1000;
/** How far the sessions of several conditions are counted to tell which is the rarest. */
const MOST_COMPARED = 20_000;

/** A session that was looked at, and its record if it meets all conditions. */
interface Looked {
  readonly place: RecordPlace;
  readonly record: SessionRecord | null;
}

/**
 * Finds sessions by whichever index has the fewest that may be meant. If those are few, it reads them all and sorts
 * them. Otherwise it follows an index in the order of the query.
 */
export class RecordFinder implements RecordQueries {
  readonly #connection: SqliteConnection;
  readonly #sessions: SessionTable;

  constructor(connection: SqliteConnection, sessions: SessionTable) {
    this.#connection = connection;
    this.#sessions = sessions;
  }

  async find(query: RecordQuery, page: QueryPage, call?: Call): Promise<FoundRecords> {
    const { namespace } = this.#sessions;
    const drivers = driversOf(namespace, query);
    const inOrder = drivers.filter(({ order }) => order?.by === query.order.by);
    const exact = inOrder.find((driver) => coversAll(driver, namespace, query));
    if (exact) return this.#walk(exact, query, page, call);
    const most = Math.floor((page.lookAt ?? MOST_LOOKED_AT) * GATHERED_PART);
    const conditions = drivers.filter(({ order }) => (order?.by ?? "update_time") === "update_time");
    const { driver: rarest, count } = await this.#rarest(conditions, most + 1, call);
    if (count <= most) return this.#gather(rarest, query, page, call);
    const [first, ...others] = inOrder as [Driver, ...Driver[]];
    const walked = others.length === 0 ? first : (await this.#rarest(inOrder, MOST_COMPARED, call)).driver;
    return this.#walk(walked, query, page, call);
  }

  async count(filter: SessionFilter, most: number, call?: Call): Promise<number | null> {
    const { namespace } = this.#sessions;
    const drivers = driversOf(namespace, filter);
    const exact = drivers.find((driver) => coversAll(driver, namespace, filter));
    const { driver, count } = await this.#rarest(exact ? [exact] : drivers, most + 1, call);
    if (count > most) return null;
    if (exact) return count;
    return this.#connection.read(() => this.#number(countAllSql(driver, namespace, filter)), call);
  }

  async sample(limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const found: SessionRecord[] = [];
    for (let after = ""; ; await setImmediate()) {
      const some = await this.#connection.read(() => this.#sessions.scan(after, AT_ONCE), call);
      found.push(...some.filter(({ deleted }) => !deleted));
      if (found.length >= limit || some.length < AT_ONCE) return found.slice(0, limit);
      after = some.at(-1)?.uid ?? "";
    }
  }

  /** The driver with the fewest sessions, and how many it has. Of those that have more than `most`, it is the first. */
  async #rarest(drivers: readonly Driver[], most: number, call?: Call): Promise<{ driver: Driver; count: number }> {
    let rarest = { driver: drivers[0] as Driver, count: Number.POSITIVE_INFINITY };
    for (const driver of drivers) {
      const limit = Math.min(most, rarest.count);
      const count = await this.#connection.read(() => this.#number(countSql(driver, limit)), call);
      if (count < rarest.count) rarest = { driver, count };
      if (count === 0) break;
    }
    return rarest;
  }

  async #gather(driver: Driver, query: RecordQuery, { limit, after }: QueryPage, call?: Call): Promise<FoundRecords> {
    const { namespace } = this.#sessions;
    const looked = await this.#look(gatherSql(driver, namespace, query, { limit: limit + 1, after }), call);
    const page = looked.slice(0, limit);
    return { records: recordsOf(page), next: looked.length > limit ? (page.at(-1)?.place ?? null) : null };
  }

  async #walk(
    driver: Driver,
    query: RecordQuery,
    { limit, after, lookAt = MOST_LOOKED_AT }: QueryPage,
    call?: Call,
  ): Promise<FoundRecords> {
    const { namespace } = this.#sessions;
    const atOnce = coversAll(driver, namespace, query) ? limit : Math.min(AT_ONCE, lookAt, Math.max(200, limit * 2));
    const records: SessionRecord[] = [];
    let vain = 0;
    for (let place = after; ; await setImmediate()) {
      const looked = await this.#look(walkSql(driver, namespace, query, { limit: atOnce, after: place }), call);
      for (const { record, place: at } of looked) {
        place = at;
        if (record) records.push(record);
        else vain++;
        if (records.length === limit || vain === lookAt) return { records, next: at };
      }
      if (looked.length < atOnce) return { records, next: null };
    }
  }

  /** The rows of a statement, and the records of those that meet all conditions, as of one moment. */
  #look(sql: Sql, call?: Call): Promise<readonly Looked[]> {
    const look = () =>
      this.#all(sql).map((row) => {
        const isMet = row[3] !== 0;
        return { place: placeOf(row), record: isMet ? this.#sessions.byUid(fromColumn(row[0] as string)) : null };
      });
    return this.#connection.read(() => this.#connection.atOneMoment(look), call);
  }

  #all({ text, values }: Sql): Row[] {
    return this.#connection.statement(text).all(...values);
  }

  #number(sql: Sql): number {
    return this.#all(sql)[0]?.[0] as number;
  }
}

function placeOf([, key, sessionId]: Row): RecordPlace {
  return { key: key as number | string, sessionId: fromColumn(sessionId as string) };
}

function recordsOf(looked: readonly Looked[]): SessionRecord[] {
  return looked.map(({ record }) => record).filter((record) => record !== null);
}
