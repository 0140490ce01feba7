import { setImmediate } from "node:timers/promises";
import type { Call } from "../../domain/call.js";
import type { SessionFilter } from "../../domain/page.js";
import type { RecordPlace, RecordQuery, SessionRecord } from "../history/log-store.js";
import type { Looked, LookedPage, QueryIndexes } from "../history/query-planner.js";
import { fromColumn } from "../text-column.js";
import { countAllSql, countSql, type Driver, driversOf, gatherSql, type Sql, walkSql } from "./query-sql.js";
import type { SessionTable } from "./session-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import type { Row } from "./statements.js";

/** How many records of a sample are read before other work may run. */
const SAMPLED_AT_ONCE = 500;

/** Finds sessions by the indexes of a file. */
export class RecordFinder implements QueryIndexes<Driver> {
  readonly #connection: SqliteConnection;
  readonly #sessions: SessionTable;

  constructor(connection: SqliteConnection, sessions: SessionTable) {
    this.#connection = connection;
    this.#sessions = sessions;
  }

  driversOf(filter: SessionFilter): readonly Driver[] {
    return driversOf(this.#sessions.namespace, filter);
  }

  /** Each is counted no further than those before it. */
  async countEach(
    drivers: readonly Driver[],
    most: number,
    _filter: SessionFilter,
    call?: Call,
  ): Promise<readonly number[]> {
    const counts: number[] = [];
    for (const driver of drivers) {
      const limit = Math.min(most, ...counts);
      counts.push(await this.#connection.read(() => this.#number(countSql(driver, limit)), call));
    }
    return counts;
  }

  async countMeeting(driver: Driver, filter: SessionFilter, call?: Call): Promise<number> {
    const { namespace } = this.#sessions;
    return this.#connection.read(() => this.#number(countAllSql(driver, namespace, filter)), call);
  }

  gather(driver: Driver, query: RecordQuery, page: LookedPage, call?: Call): Promise<readonly Looked[]> {
    return this.#look(gatherSql(driver, this.#sessions.namespace, query, page), call);
  }

  look(driver: Driver, query: RecordQuery, page: LookedPage, call?: Call): Promise<readonly Looked[]> {
    return this.#look(walkSql(driver, this.#sessions.namespace, query, page), call);
  }

  async sample(limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const found: SessionRecord[] = [];
    for (let after = ""; ; await setImmediate()) {
      const some = await this.#connection.read(() => this.#sessions.scan(after, SAMPLED_AT_ONCE), call);
      found.push(...some.filter(({ deleted }) => !deleted));
      if (found.length >= limit || some.length < SAMPLED_AT_ONCE) return found.slice(0, limit);
      after = some.at(-1)?.uid ?? "";
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
