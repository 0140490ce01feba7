import { changesFeed } from "../history/feed-facts.js";
import type {
  BinFilter,
  BinPage,
  ExpiryBounds,
  NextRecord,
  RecordFilter,
  RecordPage,
  SessionRecord,
  Usage,
  UsageFilter,
} from "../history/log-store.js";
import { isWritable, ownerOf, UPDATE_TIME_SLACK_MICROS } from "../history/record-facts.js";
import { fromColumn, toColumn } from "../text-column.js";
import type { FeedRows } from "./feed-rows.js";
import { LabelTable } from "./label-table.js";
import { ListedTable } from "./listed-table.js";
import { RecordCache } from "./record-cache.js";
import { pageOf, recordsOf } from "./record-pages.js";
import { recordToRow, rowToRecord, sideLogsOf } from "./rows.js";
import type { Row, Statement, Statements } from "./statements.js";

/**
 * The records of one namespace. All methods are synchronous; changes must be made inside a transaction that the caller
 * holds.
 */
export class SessionTable {
  readonly #sql: Statements;
  /** As a column holds it. */
  readonly namespace: string;
  readonly #cache = new RecordCache();
  readonly #labels: LabelTable;
  readonly #listed: ListedTable;
  readonly #feed: FeedRows;

  constructor(statements: Statements, namespace: string, feed: FeedRows) {
    this.#sql = statements;
    this.namespace = toColumn(namespace);
    this.#labels = new LabelTable(statements, this.namespace);
    this.#listed = new ListedTable(statements, this.namespace);
    this.#feed = feed;
  }

  create(record: NextRecord): "created" | "exists" {
    const uid = toColumn(record.uid);
    const place = record.deleted ? null : this.#feed.nextPlace();
    const bytes = record.isCounted ? 0 : null;
    if (this.#sql.insertRecord.run(uid, this.namespace, bytes, place, ...recordToRow(record)) === 1) {
      this.#labels.put(record);
      this.#listed.put(record);
      return "created";
    }
    return this.#sql.recordByUid.get(uid, this.namespace) === undefined ? "exists" : "created";
  }

  /**
   * If this is the open log of a living record, returns that record's update time and the log's last place as
   * `MessageTable.lastPlace` gives it.
   */
  openEnd(log: string): { readonly updateTime: number; readonly lastPlace: number } | null {
    const row = this.#sql.openEnd.get(toColumn(ownerOf(log)), this.namespace, toColumn(log));
    return row === undefined ? null : { updateTime: row[0] as number, lastPlace: (row[1] ?? 0) as number };
  }

  /** The update time of the record that lets entries into the log; null when no record does. */
  updateTimeOf(log: string): number | null {
    const uid = ownerOf(log);
    const found = this.#sql.logsOfRecord.get(toColumn(uid), this.namespace);
    if (found === undefined) return null;
    const [updateTime, deleted, open, named, drafts] = found as LogColumns;
    const isNamed = open === toColumn(log) || sideLogsOf(named, drafts).includes(log);
    if (!isNamed || (deleted === 1 && !isWritable(this.byUid(uid) as SessionRecord))) return null;
    return updateTime;
  }

  /** Whether a record lets entries into the log. */
  names(log: string): boolean {
    return this.updateTimeOf(log) !== null;
  }

  /** Whether a record has this uid and takes entries. */
  isWritable(uid: string): boolean {
    const found = this.#sql.logsOfRecord.get(toColumn(uid), this.namespace);
    return found !== undefined && (found[1] === 0 || isWritable(this.byUid(uid) as SessionRecord));
  }

  living(sessionId: string): SessionRecord | null {
    const row = this.#sql.recordById.get(this.namespace, toColumn(sessionId));
    return row === undefined ? null : this.recordOf(row);
  }

  /** The record of a row. It is frozen, because others may have got the same one. */
  recordOf(row: Row): SessionRecord {
    return this.#cache.recordOf(row);
  }

  raiseForks(sessionId: string): SessionRecord | null {
    const record = this.living(sessionId);
    if (record === null) return null;
    this.#sql.addFork.run(1, toColumn(record.uid));
    return { ...record, forks: record.forks + 1 };
  }

  replace(record: NextRecord, ifRevision: number): SessionRecord | null {
    const before = this.byUid(record.uid);
    // Rule: compare-and-set.
    if (before?.revision !== ifRevision) return null;
    // An append may have advanced it since the caller read the record.
    const leastMicros = before.deleted ? record.updateTimeMicros : before.updateTimeMicros;
    const after = { ...record, updateTimeMicros: Math.max(record.updateTimeMicros, leastMicros) };
    const row = recordToRow(after);
    const uid = toColumn(record.uid);
    // The place comes after that of this record, which the feed does not count any more once it is a tombstone.
    const place = changesFeed(before, after) ? this.#feed.nextPlace() : null;
    // Rule: forks-apart. The statement leaves `forks` and `bytes` alone.
    this.#sql.updateRecord.run(...row, uid);
    this.#labels.put(after, before);
    this.#listed.put(after, before);
    if (place !== null) this.#feed.note(before, after, place);
    return rowToRecord([uid, before.forks, ...row]);
  }

  publish(record: NextRecord): "published" | "exists" | "gone" {
    const before = this.byUid(record.uid);
    if (before?.deleted === false) return "published";
    if (before?.restoring !== true) return "gone";
    if (this.living(record.sessionId) !== null) return "exists";
    this.replace({ ...record, revision: before.revision + 1 }, before.revision);
    return "published";
  }

  revive(record: NextRecord, ifRevision: number): SessionRecord | "exists" | null {
    // Rule: undelete-if-free.
    if (this.byUid(record.uid)?.revision === ifRevision && this.living(record.sessionId) !== null) return "exists";
    return this.replace(record, ifRevision);
  }

  binned({ owner, sessionId }: BinFilter, { limit, after }: BinPage): SessionRecord[] {
    const { binned, binnedAfter, ownedBinned, ownedBinnedAfter, binnedById, binnedByIdAfter } = this.#sql;
    const scope = (texts: readonly string[]) => [this.namespace, ...texts.map(toColumn)];
    const place = after === undefined ? [] : [after.deleteTimeMicros, toColumn(after.sessionId)];
    const rows = () => {
      const one = (first: Statement, later: Statement, texts: readonly string[]) =>
        (after === undefined ? first : later).all(...scope(texts), ...place, limit);
      if (sessionId !== undefined) return one(binnedById, binnedByIdAfter, [sessionId]);
      return owner === undefined ? one(binned, binnedAfter, []) : one(ownedBinned, ownedBinnedAfter, [owner]);
    };
    return rows().map(rowToRecord);
  }

  toPurge(untilMicros: number, limit: number): SessionRecord[] {
    return this.#sql.toPurge.all(this.namespace, untilMicros, limit).map(rowToRecord);
  }

  addFork(uid: string, delta: number): boolean {
    if (this.byUid(uid) === null) return false;
    this.#sql.addFork.run(delta, toColumn(uid));
    return true;
  }

  addBytes(uid: string, bytes: number): void {
    this.#sql.addBytes.run(bytes, toColumn(uid), this.namespace);
  }

  setBytes(uid: string, bytes: number): void {
    this.#sql.setBytes.run(bytes, toColumn(uid), this.namespace);
  }

  usage({ owner, key }: UsageFilter): Usage {
    const { usage, usageOfOwner, usageOfKey } = this.#sql;
    const row = () => {
      if (owner !== undefined) return usageOfOwner.get(this.namespace, toColumn(owner));
      return key === undefined ? usage.get(this.namespace) : usageOfKey.get(this.namespace, toColumn(key));
    };
    const [sessions, counted, bytes] = row() as [number, number, number];
    return { sessions, bytes, uncounted: sessions - counted };
  }

  list({ parentId, labels: [label] = [], owner }: RecordFilter, page: RecordPage): SessionRecord[] {
    if (label !== undefined) return this.#labels.records(label, owner, page);
    const { newest, newestAfter, owned, ownedAfter, children, childrenAfter } = this.#sql;
    const { namespace } = this;
    if (owner !== undefined) return pageOf(owned, ownedAfter, [namespace, toColumn(owner)], page);
    if (parentId !== "") return pageOf(children, childrenAfter, [namespace, toColumn(parentId)], page);
    return pageOf(newest, newestAfter, [namespace], page);
  }

  /**
   * Moves the update time of the session whose log was just written to. `updateTime` is the time that was stored
   * before.
   */
  touchOwner(log: string, updateTime: number, nowMicros: number): void {
    // After a clock was set back, the time stays, and the place moves with every append.
    if (Math.abs(nowMicros - updateTime) <= UPDATE_TIME_SLACK_MICROS) return;
    const uid = ownerOf(log);
    const place = this.#feed.nextPlace();
    const touched = this.#sql.touch.run(nowMicros, place, toColumn(uid), this.namespace, UPDATE_TIME_SLACK_MICROS);
    if (touched === 1 && nowMicros > updateTime) this.#labels.touch(uid, nowMicros);
  }

  sweepable(untilMs: number, limit: number): SessionRecord[] {
    return this.#sql.toSweep.all(this.namespace, untilMs, limit).map(rowToRecord);
  }

  drafting(afterUid: string, limit: number): SessionRecord[] {
    return this.#sql.drafting.all(this.namespace, toColumn(afterUid), limit).map(rowToRecord);
  }

  expired({ expireTimeMicros, updateTimeMicros }: ExpiryBounds, limit: number): SessionRecord[] {
    const rows = this.#sql.toExpire.all(this.namespace, expireTimeMicros, limit);
    if (rows.length < limit && updateTimeMicros !== undefined) {
      const most = limit - rows.length;
      rows.push(...this.#sql.unchanged.all(this.namespace, updateTimeMicros, expireTimeMicros, most));
    }
    return rows.map(rowToRecord);
  }

  deleteTombstone(uid: string): boolean {
    return this.#sql.deleteTombstone.run(toColumn(uid), this.namespace) === 1;
  }

  scan(afterUid: string, limit: number): SessionRecord[] {
    return recordsOf(limit, { uid: afterUid }, (most, after) =>
      this.#sql.scan.get(this.namespace, toColumn(after?.uid ?? ""), most),
    );
  }

  /** Whether there is a record with this uid in any namespace. */
  ownerExists(uid: string): boolean {
    return this.#sql.ownerExists.get(toColumn(uid)) !== undefined;
  }

  byUid(uid: string): SessionRecord | null {
    return recordOrNull(this.#sql.recordByUid.get(toColumn(uid), this.namespace));
  }
}

/** The columns that `logsOfRecord` returns. */
type LogColumns = readonly [number, number, string, string | null, string | null];

/** The namespaces that have records or todos. */
export function namespacesOf(sql: Statements): string[] {
  const found = new Set<string>();
  const tables = [
    [sql.firstNamespace, sql.nextNamespace],
    [sql.firstTodos, sql.nextTodos],
    [sql.firstDeparted, sql.nextDeparted],
  ] as const;
  for (const [first, next] of tables)
    for (let row = first.get(); row !== undefined; row = next.get(row[0] as string)) found.add(row[0] as string);
  return [...found].map(fromColumn).sort();
}

function recordOrNull(row: Row | undefined): SessionRecord | null {
  return row === undefined ? null : rowToRecord(row);
}
