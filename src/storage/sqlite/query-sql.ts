import type { SessionFilter } from "../../domain/page.js";
import type { SessionOrder } from "../../domain/session-order.js";
import type { RecordPlace, RecordQuery } from "../history/log-store.js";
import { afterFirstBound, labelCondition, type QueryDriver, wordCondition } from "../history/query-planner.js";
import { toColumn } from "../text-column.js";
import type { Bound } from "./statements.js";

/** A piece of a statement and the values of its parameters. What callers wrote is only ever a value. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Bound[];
}

export interface Driver extends QueryDriver {
  readonly from: string;
  readonly scope: Sql;
  /** Bounds of the update time, where the index has it. */
  readonly time: readonly Sql[];
  /** The column of what it is ordered by. */
  readonly column?: string | undefined;
}

/** A condition of a filter, for a row `d` of a driver. Some need its session, `s`. */
interface Condition extends Sql {
  readonly name: string;
  readonly needsSession: boolean;
}

const KEYS = { update_time: "s.update_time", create_time: "l.create_time", title: "l.title_key" } as const;

/** All indexes that the sessions of a filter can be found by. */
export function driversOf(namespace: string, filter: SessionFilter): readonly Driver[] {
  const { parentId, owner, labels = [], titleWords = [] } = filter;
  const time = timeOf("d", filter);
  const living = (text: string, values: readonly Bound[], index: string, covers: readonly string[]): Driver => ({
    from: `sessions AS d INDEXED BY ${index}`,
    scope: sql(`d.namespace = ? AND d.deleted = 0${text}`, namespace, ...values),
    time,
    covers: new Set([...covers, "time"]),
    by: "update_time",
    column: "update_time",
  });
  const labeled = (
    label: string,
    text: string,
    values: readonly Bound[],
    index: string,
    covers: readonly string[],
  ) => ({
    from: `labels AS d INDEXED BY ${index}`,
    scope: sql(`d.namespace = ? AND d.label = ?${text}`, namespace, toColumn(label), ...values),
    time,
    covers: new Set([...covers, labelCondition(label), "time"]),
    by: "update_time" as const,
    column: "update_time",
  });
  const ofOwner = owner === undefined ? [] : [toColumn(owner)];
  return [
    living("", [], "sessions_by_time", []),
    ...ofOwner.map((value) => living(" AND d.owner = ?", [value], "sessions_by_owner", ["owner"])),
    ...(parentId === ""
      ? []
      : [living(" AND d.parent_id = ?", [toColumn(parentId)], "sessions_by_parent", ["parent"])]),
    ...labels.map((label) =>
      owner === undefined
        ? labeled(label, "", [], "labels_by_time", [])
        : labeled(label, " AND d.owner = ?", ofOwner, "labels_by_owner", ["owner"]),
    ),
    ...titleWords.map((word) => ({
      from: "title_words AS d",
      scope: sql("d.namespace = ? AND d.word = ?", namespace, word),
      time: [],
      covers: new Set([wordCondition(word)]),
    })),
    ...(["create_time", "title"] as const).map((by) => listed(namespace, by, ofOwner)),
  ];
}

function listed(namespace: string, by: "create_time" | "title", [owner]: readonly string[]): Driver {
  const order = { by, column: by === "title" ? "title_key" : by } as const;
  const from = (index: string) => `listed AS d INDEXED BY ${index}_${by}`;
  if (owner === undefined)
    return { from: from("listed_by"), scope: sql("d.namespace = ?", namespace), time: [], covers: new Set(), ...order };
  const scope = sql("d.namespace = ? AND d.owner = ?", namespace, owner);
  return { from: from("listed_by_owner"), scope, time: [], covers: new Set(["owner"]), ...order };
}

/** Counts the sessions of a driver, up to a number. */
export function countSql(driver: Driver, most: number): Sql {
  const rows = all([driver.scope, ...driver.time]);
  return sql(`SELECT count(*) FROM (SELECT 1 FROM ${driver.from} WHERE ${rows.text} LIMIT ?)`, ...rows.values, most);
}

/** Counts the sessions of a driver that meet all conditions. */
export function countAllSql(driver: Driver, namespace: string, filter: SessionFilter): Sql {
  const where = all([driver.scope, ...driver.time, LIVING, ...othersOf(driver, namespace, filter)]);
  return sql(`SELECT count(*) FROM ${driver.from} ${OF_SESSION} WHERE ${where.text}`, ...where.values);
}

/** Reads all sessions of a driver and sorts those that meet all conditions: uid, key and session id of a page. */
export function gatherSql(
  driver: Driver,
  namespace: string,
  query: RecordQuery,
  { limit, after }: { readonly limit: number; readonly after: RecordPlace | undefined },
): Sql {
  const key = KEYS[query.order.by];
  const join = query.order.by === "update_time" ? "" : "CROSS JOIN listed AS l ON l.uid = d.uid";
  const others = othersOf(driver, namespace, query);
  const place = afterPlace(key, "s.session_id", query.order, after);
  const where = all([driver.scope, ...driver.time, LIVING, ...others, ...place]);
  return sql(
    `SELECT s.uid, ${key}, s.session_id FROM ${driver.from} ${OF_SESSION} ${join} WHERE ${where.text}
     ${orderedBy([key, "s.session_id"], query.order)} LIMIT ?`,
    ...where.values,
    limit,
  );
}

/**
 * The next sessions of a driver in the order of the query: uid, key, session id, and whether they meet the other
 * conditions, too.
 */
export function walkSql(
  driver: Driver,
  namespace: string,
  query: RecordQuery,
  { limit, after }: { readonly limit: number; readonly after: RecordPlace | undefined },
): Sql {
  const column = `d.${driver.column}`;
  const place = afterPlace(column, "d.session_id", query.order, after);
  const time = after && driver.time.length > 0 ? timeOf("d", afterFirstBound(query)) : driver.time;
  const where = all([driver.scope, ...time, ...place]);
  const some = `SELECT d.uid, ${column} AS key, d.session_id FROM ${driver.from} WHERE ${where.text}
    ${orderedBy([column, "d.session_id"], query.order)} LIMIT ?`;
  const others = othersOf(driver, namespace, query, "d.key");
  if (others.length === 0) return sql(`SELECT d.*, 1 FROM (${some}) AS d`, ...where.values, limit);
  const met = all(others);
  const join = others.some(({ needsSession }) => needsSession) ? OF_SESSION : "";
  return sql(
    `SELECT d.*, ${met.text} FROM (${some}) AS d ${join} ${orderedBy(["d.key", "d.session_id"], query.order)}`,
    ...met.values,
    ...where.values,
    limit,
  );
}

const OF_UID = "EXISTS (SELECT 1 FROM labels WHERE uid = d.uid AND label = ?)";
const OF_SESSION = "CROSS JOIN sessions AS s ON s.uid = d.uid";
const LIVING = sql("s.deleted = 0");

/** The conditions that a driver does not cover. `key`: what its rows call the column that they are ordered by. */
function othersOf(
  driver: Driver,
  namespace: string,
  filter: SessionFilter,
  key = `d.${driver.column}`,
): readonly Condition[] {
  const { parentId, owner, labels = [], titleWords = [] } = filter;
  // Rows in the order of the index of labels find their places there one beside the other. By uid they are anywhere.
  const atPlace = (label: string) =>
    sql(
      `EXISTS (SELECT 1 FROM labels INDEXED BY labels_by_time WHERE namespace = ? AND label = ? AND update_time = ${key}
      AND session_id = d.session_id)`,
      namespace,
      toColumn(label),
    );
  const ofSession = (name: string, piece: Sql): Condition => ({ ...piece, name, needsSession: true });
  const conditions: Condition[] = [
    ...titleWords.map((word) => ({
      ...sql("EXISTS (SELECT 1 FROM title_words WHERE namespace = ? AND word = ? AND uid = d.uid)", namespace, word),
      name: wordCondition(word),
      needsSession: false,
    })),
    ...labels.map((label) => ({
      ...(driver.column === "update_time" ? atPlace(label) : sql(OF_UID, toColumn(label))),
      name: labelCondition(label),
      needsSession: false,
    })),
    // The sign keeps the planner from taking an index of these columns.
    ...(owner === undefined ? [] : [ofSession("owner", sql("+s.owner = ?", toColumn(owner)))]),
    ...(parentId === "" ? [] : [ofSession("parent", sql("+s.parent_id = ?", toColumn(parentId)))]),
    ...timeOf("+s", filter).map((piece) => ofSession("time", piece)),
  ];
  return conditions.filter(({ name }) => !driver.covers.has(name));
}

function timeOf(row: string, { updatedSinceMicros, updatedUntilMicros }: SessionFilter): readonly Sql[] {
  const since = updatedSinceMicros === undefined ? [] : [sql(`${row}.update_time >= ?`, updatedSinceMicros)];
  const until = updatedUntilMicros === undefined ? [] : [sql(`${row}.update_time < ?`, updatedUntilMicros)];
  return [...since, ...until];
}

function afterPlace(key: string, id: string, order: SessionOrder, after: RecordPlace | undefined): readonly Sql[] {
  if (after === undefined) return [];
  return [sql(`(${key}, ${id}) ${order.descending ? "<" : ">"} (?, ?)`, after.key, toColumn(after.sessionId))];
}

function orderedBy(columns: readonly string[], { descending }: SessionOrder): string {
  return `ORDER BY ${columns.map((column) => `${column}${descending ? " DESC" : ""}`).join()}`;
}

function all(pieces: readonly Sql[]): Sql {
  return sql(pieces.map(({ text }) => text).join(" AND "), ...pieces.flatMap(({ values }) => values));
}

function sql(text: string, ...values: readonly Bound[]): Sql {
  return { text, values };
}
