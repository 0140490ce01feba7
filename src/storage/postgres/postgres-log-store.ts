import type { Call } from "../../domain/call.js";
import type { MessageIdentity } from "../../domain/erasure.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type {
  AttachmentTable,
  BinFilter,
  BinPage,
  Entry,
  ExpiryBounds,
  FeedTable,
  LogStore,
  Newest,
  NewestOptions,
  NextRecord,
  OwnedPlace,
  Range,
  RangeOptions,
  RecordBin,
  RecordFilter,
  RecordPage,
  RecordQueries,
  Segment,
  SessionRecord,
  Tail,
  Usage,
  UsageEnds,
  UsageFilter,
  UsageRows,
} from "../history/log-store.js";
import { QueryPlanner } from "../history/query-planner.js";
import { toColumn } from "../text-column.js";
import { PostgresAttachments } from "./postgres-attachments.js";
import { PostgresFeed } from "./postgres-feed.js";
import { PostgresLogs } from "./postgres-logs.js";
import { PostgresRecords } from "./postgres-records.js";
import { PostgresSearch } from "./postgres-search.js";
import { RecordFinder } from "./record-finder.js";
import { toRecord } from "./rows.js";
import type { PostgresShared } from "./shared.js";
import type { Value } from "./values.js";

/** After every id in the order of lists. */
const LAST_ID = "\u{10FFFF}";

/** A namespace of a PostgreSQL database. */
export class PostgresLogStore implements LogStore {
  readonly #shared: PostgresShared;
  /** As a column holds it. */
  readonly #namespace: string;
  readonly #records: PostgresRecords;
  readonly #logs: PostgresLogs;
  readonly attachments: AttachmentTable;
  readonly bin: RecordBin;
  readonly queries: RecordQueries;
  readonly feed: FeedTable;
  readonly searchEntries?: NonNullable<LogStore["searchEntries"]>;
  readonly subscribe?: NonNullable<LogStore["subscribe"]>;

  constructor(shared: PostgresShared, namespace: string) {
    this.#shared = shared;
    this.#namespace = toColumn(namespace);
    this.#records = new PostgresRecords(shared, namespace);
    this.#logs = new PostgresLogs(shared, namespace);
    this.attachments = new PostgresAttachments(shared, namespace);
    this.feed = new PostgresFeed(shared, namespace);
    this.bin = {
      list: (filter, page, call) => this.#listBinned(filter, page, call),
      listDue: (untilMicros, limit, call) => this.#list(shared.sql.toPurge, [untilMicros, limit], call),
      revive: (record, ifRevision, call) => this.#records.revive(record, ifRevision, call),
    };
    this.queries = new QueryPlanner(new RecordFinder(shared, shared.schema, namespace));
    if (shared.indexed) {
      const searching = new PostgresSearch(shared, namespace);
      this.searchEntries = (what, page, call) => searching.find(what, page, call);
    }
    const { changes } = shared;
    if (shared.hears) this.subscribe = (listener) => changes.subscribe(listener);
  }

  createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    return this.#records.create(record, call);
  }

  readRecord(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    return this.#records.read(sessionId, call);
  }

  raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    return this.#records.raiseForks(sessionId, call);
  }

  replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    return this.#records.replace(record, ifRevision, call);
  }

  publishRecord(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone"> {
    return this.#records.publish(record, call);
  }

  readRecordByUid(uid: string, call?: Call): Promise<SessionRecord | null> {
    return this.#records.readByUid(uid, call);
  }

  addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean> {
    return this.#records.addFork(uid, delta, call);
  }

  addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    return this.#records.countBytes(bytes, false, call);
  }

  setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    return this.#records.countBytes(bytes, true, call);
  }

  entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    return this.#logs.entryBytes(ranges, call);
  }

  usage(filter: UsageFilter, call?: Call): Promise<Usage> {
    return this.#records.usage(filter, call);
  }

  deleteRecord(uid: string, call?: Call): Promise<boolean> {
    return this.#records.delete(uid, call);
  }

  listRecords({ parentId, labels = [], owner }: RecordFilter, { limit, after }: RecordPage, call?: Call) {
    const { sql } = this.#shared;
    const columns = [...new Set(labels)].map(toColumn);
    const place = [after?.updateTimeMicros ?? Number.MAX_SAFE_INTEGER, toColumn(after?.sessionId ?? LAST_ID), limit];
    const parent = toColumn(parentId);
    const [label] = columns;
    const [byAll, byOne, whose] =
      owner === undefined
        ? [sql.labeledAll, sql.labeled, []]
        : [sql.ownedLabeledAll, sql.ownedLabeled, [toColumn(owner)]];
    if (columns.length > 1) return this.#list(byAll, [...place, parent, columns, ...whose], call);
    if (label !== undefined) return this.#list(byOne, [...place, parent, label, ...whose], call);
    if (owner !== undefined) return this.#list(sql.owned, [...place, parent, ...whose], call);
    if (parentId !== "") return this.#list(sql.children, [...place, parent], call);
    return this.#list(sql.newestFirst, place, call);
  }

  #listBinned({ owner, sessionId }: BinFilter, { limit, after }: BinPage, call?: Call) {
    const { sql } = this.#shared;
    const place = [after?.deleteTimeMicros ?? Number.MAX_SAFE_INTEGER, toColumn(after?.sessionId ?? LAST_ID), limit];
    if (sessionId !== undefined) return this.#list(sql.binnedById, [...place, toColumn(sessionId)], call);
    if (owner !== undefined) return this.#list(sql.ownedBinned, [...place, toColumn(owner)], call);
    return this.#list(sql.binned, place, call);
  }

  listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#list(this.#shared.sql.sweepable, [untilMs, limit], call);
  }

  listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#list(this.#shared.sql.drafting, [toColumn(afterUid), limit], call);
  }

  listExpired({ expireTimeMicros, updateTimeMicros }: ExpiryBounds, limit: number, call?: Call) {
    return this.#list(this.#shared.sql.expired, [expireTimeMicros, updateTimeMicros ?? null, limit], call);
  }

  scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#list(this.#shared.sql.scan, [toColumn(afterUid), limit], call);
  }

  async timeMs(call?: Call): Promise<number> {
    const { pool, sql } = this.#shared;
    const [row] = await pool.read(sql.time, [], call);
    return row?.[0] as number;
  }

  append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken" | "unnamed"> {
    return this.#logs.append(log, seq, entries, call);
  }

  seal(log: string, _lastSeq?: number, call?: Call): Promise<number | "unnamed"> {
    return this.#logs.seal(log, call);
  }

  readRange(log: string, first: number, last: number, options: RangeOptions = {}, call?: Call): Promise<Range> {
    return this.#logs.readRange(log, first, last, options, call);
  }

  readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    return this.#logs.readLast(logs, call);
  }

  readNewest(sessionId: string, options: NewestOptions, call?: Call): Promise<Newest | null> {
    return this.#records.readNewest(sessionId, options, call);
  }

  readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    return this.#logs.readUsage(ranges, limit, call);
  }

  readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    return this.#logs.readUsageEnds(ranges, call);
  }

  tail(log: string, call?: Call): Promise<Tail> {
    return this.#logs.tail(log, call);
  }

  seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    return this.#logs.seqAtTime(log, first, last, micros, call);
  }

  findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    return this.#logs.findById(logs, ids, call);
  }

  findCopies(
    owners: readonly Pick<SessionRecord, "uid" | "sessionId">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]> {
    return this.#logs.findCopies(owners, message, call);
  }

  findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]> {
    return this.#logs.findOwned([uid], id, call);
  }

  listOwned(uid: string, after: OwnedPlace | undefined, limit: number, call?: Call): Promise<readonly OwnedPlace[]> {
    return this.#logs.listOwned(uid, after, limit, call);
  }

  overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    return this.#logs.overwriteEntries(entries, call);
  }

  deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    return this.#logs.deleteEntries(target, limit, call);
  }

  listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    return this.#logs.listOrphans(limit, call);
  }

  async readTodos(call?: Call): Promise<TodoList> {
    const { pool, sql } = this.#shared;
    const [row] = await pool.read(sql.readTodos, [this.#namespace], call);
    if (row === undefined) return { todos: [], revision: 0 };
    return { todos: JSON.parse(row[1] as string) as Todo[], revision: row[0] as number };
  }

  async replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    const { pool, sql, turns } = this.#shared;
    const values = [this.#namespace, JSON.stringify(todos)];
    // No uid has U+0000.
    return turns.take(`\u0000${this.#namespace}`, call, async (limited) => {
      const rows =
        ifRevision === 0
          ? await pool.writeOnce(sql.insertTodos, values, limited)
          : await pool.writeOnce(sql.updateTodos, [...values, ifRevision], limited);
      return rows.length === 1;
    });
  }

  ping(call?: Call): Promise<void> {
    return this.#shared.ping(call);
  }

  async close(): Promise<void> {}

  async #list(text: string, values: readonly Value[], call?: Call): Promise<readonly SessionRecord[]> {
    return (await this.#shared.pool.read(text, [this.#namespace, ...values], call)).map(toRecord);
  }
}
