import type { Call } from "../../domain/call.js";
import type { SessionFilter } from "../../domain/page.js";
import type { RecordPlace, RecordQuery, SessionRecord } from "../history/log-store.js";
import type { Looked, LookedPage, QueryIndexes } from "../history/query-planner.js";
import { fromColumn, toColumn } from "../text-column.js";
import { type Driver, Parameters, QuerySql } from "./query-sql.js";
import { RECORD, RECORD_COLUMNS, toRecord } from "./rows.js";
import type { PostgresShared } from "./shared.js";
import type { Row } from "./values.js";

/** Finds sessions by the indexes of a schema. Its statements differ by their conditions, so none is prepared. */
export class RecordFinder implements QueryIndexes<Driver> {
  readonly #shared: PostgresShared;
  readonly #s: string;
  /** As a column holds it. */
  readonly #namespace: string;
  readonly #sql: QuerySql;

  constructor(shared: PostgresShared, s: string, namespace: string) {
    this.#shared = shared;
    this.#s = s;
    this.#namespace = toColumn(namespace);
    this.#sql = new QuerySql(s, this.#namespace);
  }

  driversOf(filter: SessionFilter): readonly Driver[] {
    return this.#sql.driversOf(filter);
  }

  async countEach(drivers: readonly Driver[], most: number, filter: SessionFilter, call?: Call): Promise<number[]> {
    const [counts] = await this.#read((sql) => this.#sql.countEach(drivers, most, filter, sql), call);
    return [...(counts ?? [])] as number[];
  }

  async countMeeting(driver: Driver, filter: SessionFilter, call?: Call): Promise<number> {
    const [row] = await this.#read((sql) => this.#sql.countMeeting(driver, filter, sql), call);
    return row?.[0] as number;
  }

  async gather(driver: Driver, query: RecordQuery, page: LookedPage, call?: Call): Promise<readonly Looked[]> {
    return (await this.#read((sql) => this.#sql.gather(driver, query, page, sql), call)).map(lookedOf);
  }

  async look(driver: Driver, query: RecordQuery, page: LookedPage, call?: Call): Promise<readonly Looked[]> {
    return (await this.#read((sql) => this.#sql.look(driver, query, page, sql), call)).map(lookedOf);
  }

  async sample(limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const text = (sql: Parameters) => `SELECT ${RECORD} FROM ${this.#s}.sessions AS s
      WHERE s.namespace = ${sql.add(this.#namespace, "text")} AND NOT s.deleted
      ORDER BY s.uid LIMIT (SELECT ${sql.add(limit, "bigint")})`;
    return (await this.#read(text, call)).map(toRecord);
  }

  #read(text: (sql: Parameters) => string, call?: Call): Promise<Row[]> {
    const sql = new Parameters();
    return this.#shared.pool.read(text(sql), sql.values, call, false);
  }
}

function lookedOf([key, sessionId, ...record]: Row): Looked {
  const place: RecordPlace = { key: key as number | string, sessionId: fromColumn(sessionId as string) };
  return { place, record: record[0] === null ? null : toRecord(record.slice(0, RECORD_COLUMNS)) };
}
