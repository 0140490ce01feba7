import type { SessionFilter } from "../../domain/page.js";
import type { SessionOrder } from "../../domain/session-order.js";
import type { RecordPlace, RecordQuery } from "../history/log-store.js";
import {
  afterFirstBound,
  conditionsOf,
  type LookedPage,
  labelCondition,
  type QueryDriver,
  wordCondition,
} from "../history/query-planner.js";
import { toColumn } from "../text-column.js";
import { RECORD } from "./rows.js";
import { ANY_TIME, ANY_TITLE } from "./schema.js";
import type { Value } from "./values.js";

/** An index by which sessions are found. Its rows are `d`; what callers wrote is only ever a parameter. */
export interface Driver extends QueryDriver {
  readonly table: string;
  readonly scope: (sql: Parameters) => readonly string[];
  /** The columns of its order, after those that the scope fixes. */
  readonly columns: readonly string[];
  readonly hasTime: boolean;
}

const KEYS = { update_time: "s.update_time", create_time: "l.create_time", title: "l.title_key" } as const;

/** The values of a statement, each of which `add` gives a name. */
export class Parameters {
  readonly values: Value[] = [];

  add(value: Value, type: "text" | "bigint" | "text[]"): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }
}

/** The statements about the sessions of one namespace that meet conditions. */
export class QuerySql {
  readonly #s: string;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(s: string, namespace: string) {
    this.#s = s;
    this.#namespace = namespace;
  }

  driversOf({ parentId, owner, labels = [], titleWords = [] }: SessionFilter): readonly Driver[] {
    const living = (covers: readonly string[], scope: Driver["scope"] = () => []): Driver => ({
      table: "sessions",
      scope: (sql) => ["NOT d.deleted", ...scope(sql)],
      ...TIMED,
      covers: new Set([...covers, "time"]),
    });
    const ofOwner: Driver["scope"] = (sql) =>
      owner === undefined ? [] : [`d.owner = ${sql.add(toColumn(owner), "text")}`];
    const owned = owner === undefined ? [] : ["owner"];
    const labeled = (label: string): Driver => ({
      table: "labels",
      scope: (sql) => [...ofOwner(sql), `d.label = ${sql.add(toColumn(label), "text")}`],
      ...TIMED,
      covers: new Set([...owned, labelCondition(label), "time"]),
    });
    const worded = (word: string): Driver => ({
      table: "title_words",
      scope: (sql) => [`d.word = ${sql.add(word, "text")}`],
      columns: ["uid"],
      hasTime: false,
      covers: new Set([wordCondition(word)]),
    });
    const listed = (by: "create_time" | "title", column: string): Driver => ({
      table: "listed",
      scope: (sql) => [...ofOwner(sql), `d.${by === "title" ? ANY_TITLE : ANY_TIME}`],
      by,
      columns: [column, "session_id"],
      hasTime: false,
      covers: new Set(owned),
    });
    const ofParent: Driver["scope"] = (sql) => [
      `d.parent_id = ${sql.add(toColumn(parentId), "text")} AND d.parent_id <> ''`,
    ];
    return [
      living([]),
      ...(owner === undefined ? [] : [living(["owner"], ofOwner)]),
      ...(parentId === "" ? [] : [living(["parent"], ofParent)]),
      ...labels.map(labeled),
      ...titleWords.map(worded),
      listed("create_time", "create_time"),
      listed("title", "title_key"),
    ];
  }

  /** The number of sessions of each driver, up to a number. */
  countEach(drivers: readonly Driver[], most: number, filter: SessionFilter, sql: Parameters): string {
    const counts = drivers.map((driver) => {
      const rows = `SELECT 1 ${this.#rows(driver, filter, sql)} ${orderedBy(driver.columns, true)} ${limit(most, sql)}`;
      return `(SELECT count(*) FROM (${rows}) AS counted)`;
    });
    return `SELECT ${counts.join(", ")}`;
  }

  countMeeting(driver: Driver, filter: SessionFilter, sql: Parameters): string {
    return `SELECT count(*) FROM (SELECT d.uid ${this.#rows(driver, filter, sql)} OFFSET 0) AS d
      ${this.#session(driver, filter, sql)}`;
  }

  /** Key, session id and record of a page of all sessions of the driver that meet the conditions. */
  gather(driver: Driver, query: RecordQuery, { limit: most, after }: LookedPage, sql: Parameters): string {
    const key = KEYS[query.order.by];
    const rows = `SELECT d.uid ${this.#rows(driver, query, sql)} ${orderedBy(driver.columns, true)} OFFSET 0`;
    const listed =
      query.order.by === "update_time"
        ? ""
        : `CROSS JOIN LATERAL (SELECT l.* FROM ${this.#s}.listed AS l WHERE l.uid = d.uid OFFSET 0) AS l`;
    const place = afterPlace(key, "s.session_id", query.order, after, sql);
    return `SELECT ${key}, s.session_id, ${RECORD} FROM (${rows}) AS d ${this.#session(driver, query, sql)} ${listed}
      WHERE ${place.join(" AND ") || "true"}
      ORDER BY ${inDirection([key, "s.session_id"], query.order.descending)} ${limit(most, sql)}`;
  }

  /** Key, session id and record of the next sessions of the driver; no record where not all conditions are met. */
  look(driver: Driver, query: RecordQuery, { limit: most, after }: LookedPage, sql: Parameters): string {
    const [key = "", id = ""] = driver.columns;
    const { order } = query;
    const filter = after ? afterFirstBound(query) : query;
    const place = afterPlace(`d.${key}`, `d.${id}`, order, after, sql);
    const some = `SELECT d.uid, d.${key} AS key, d.session_id ${this.#rows(driver, filter, sql, place)}
      ${orderedBy(driver.columns, order.descending)} ${limit(most, sql)}`;
    return `SELECT d.key, d.session_id, ${RECORD} FROM (${some}) AS d
      LEFT ${this.#session(driver, query, sql).replace("CROSS ", "")} ON true
      ORDER BY ${inDirection(["d.key", "d.session_id"], order.descending)}`;
  }

  #rows(driver: Driver, filter: SessionFilter, sql: Parameters, place: readonly string[] = []): string {
    const scope = [`d.namespace = ${sql.add(this.#namespace, "text")}`, ...driver.scope(sql)];
    const time = driver.hasTime ? timeOf("d", filter, sql) : [];
    return `FROM ${this.#s}.${driver.table} AS d WHERE ${[...scope, ...time, ...place].join(" AND ")}`;
  }

  /** The session of a row, if it meets the conditions that the driver does not cover. It is found by its key. */
  #session({ covers }: Driver, filter: SessionFilter, sql: Parameters): string {
    const { parentId, owner, labels = [], titleWords = [] } = filter;
    const missing = new Set(conditionsOf(filter).filter((name) => !covers.has(name)));
    const hasAll = (table: string, column: string, texts: readonly string[]) => {
      const all = [...new Set(texts)];
      if (all.length === 0) return [];
      const found = `SELECT count(*) FROM ${this.#s}.${table} AS x
        WHERE x.uid = d.uid AND x.${column} = ANY (${sql.add(all, "text[]")})`;
      return [`(${found}) = ${sql.add(all.length, "bigint")}`];
    };
    const conditions = [
      "s.uid = d.uid AND NOT s.deleted",
      ...(missing.has("owner") ? [`s.owner = ${sql.add(toColumn(owner ?? ""), "text")}`] : []),
      ...(missing.has("parent") ? [`s.parent_id = ${sql.add(toColumn(parentId), "text")}`] : []),
      ...(missing.has("time") ? timeOf("s", filter, sql) : []),
      ...hasAll("labels", "label", labels.filter((label) => missing.has(labelCondition(label))).map(toColumn)),
      ...hasAll(
        "title_words",
        "word",
        titleWords.filter((word) => missing.has(wordCondition(word))),
      ),
    ];
    return `CROSS JOIN LATERAL (
        SELECT s.* FROM ${this.#s}.sessions AS s WHERE ${conditions.join(" AND ")} OFFSET 0
      ) AS s`;
  }
}

const TIMED = { by: "update_time", columns: ["update_time", "session_id"], hasTime: true } as const;

function timeOf(row: string, { updatedSinceMicros, updatedUntilMicros }: SessionFilter, sql: Parameters): string[] {
  return [
    ...(updatedSinceMicros === undefined ? [] : [`${row}.update_time >= ${sql.add(updatedSinceMicros, "bigint")}`]),
    ...(updatedUntilMicros === undefined ? [] : [`${row}.update_time < ${sql.add(updatedUntilMicros, "bigint")}`]),
  ];
}

function afterPlace(
  key: string,
  id: string,
  order: SessionOrder,
  after: RecordPlace | undefined,
  sql: Parameters,
): readonly string[] {
  if (after === undefined) return [];
  const value = sql.add(after.key, order.by === "title" ? "text" : "bigint");
  return [`(${key}, ${id}) ${order.descending ? "<" : ">"} (${value}, ${sql.add(toColumn(after.sessionId), "text")})`];
}

function orderedBy(columns: readonly string[], descending: boolean): string {
  return `ORDER BY ${inDirection(
    columns.map((column) => `d.${column}`),
    descending,
  )}`;
}

function inDirection(columns: readonly string[], descending: boolean): string {
  return columns.map((column) => `${column}${descending ? " DESC" : ""}`).join(", ");
}

/** A limit that the planner does not know, as in the other lists. */
function limit(most: number, sql: Parameters): string {
  return `LIMIT (SELECT ${sql.add(most, "bigint")})`;
}
