import { setImmediate } from "node:timers/promises";
import type { Call } from "../../domain/call.js";
import { isSameMessage, type MessageIdentity } from "../../domain/erasure.js";
import { NEWEST_FIRST } from "../../domain/session-order.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type {
  AttachmentTable,
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
import { isPlainList, wholePage } from "../history/record-queries.js";
import { AttachmentRows, byColumn } from "./attachment-rows.js";
import { FeedRows } from "./feed-rows.js";
import type { FileCleaner } from "./file-cleaner.js";
import { MessageTable } from "./message-table.js";
import { NamingTable, namingRows } from "./naming-table.js";
import { NewestReader } from "./newest-reader.js";
import { RecordFinder } from "./record-finder.js";
import { entryToRow } from "./rows.js";
import { foundEntries, type SearchQuery, searchQuery } from "./search-table.js";
import { SessionTable } from "./session-table.js";
import { SqliteAttachmentTable } from "./sqlite-attachment-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import { SqliteFeedTable } from "./sqlite-feed-table.js";
import type { Row } from "./statements.js";
import { TodoTable } from "./todo-table.js";

/** How many look-ups are made before other work may run. */
const LOOKUPS_AT_ONCE = 2000;
const OWNERS_AT_ONCE = 500;
const MEASURED_AT_ONCE = 5000;

/** Finds the rows of a search. */
export type SearchRows = (query: SearchQuery, call: Call | undefined) => Promise<Row[]>;

/** A namespace of a SQLite file. The file is as long as the interface is: one short method for each of the store's. */
export class SqliteLogStore implements LogStore {
  readonly #connection: SqliteConnection;
  readonly #messages: MessageTable;
  readonly #sessions: SessionTable;
  readonly #newest: NewestReader;
  readonly #todos: TodoTable;
  readonly #attachments: AttachmentRows;
  readonly #namings: NamingTable;
  readonly attachments: AttachmentTable;
  readonly queries: RecordQueries;
  readonly bin: RecordBin;
  readonly feed: FeedTable;
  /** The store's clock, in milliseconds. All processes of a file are on one machine. */
  readonly #now: () => number;
  readonly cleanFiles?: NonNullable<LogStore["cleanFiles"]>;
  readonly searchEntries?: NonNullable<LogStore["searchEntries"]>;

  /**
   * `cleaner` is absent for a database in memory; `search`, which finds the rows of a query, is absent where messages
   * cannot be searched.
   */
  constructor(
    connection: SqliteConnection,
    namespace: string,
    now: () => number,
    { cleaner, search }: { readonly cleaner?: FileCleaner | undefined; readonly search?: SearchRows | undefined } = {},
  ) {
    this.#connection = connection;
    this.#messages = new MessageTable(connection.statements);
    const feed = new FeedRows(connection.statements, namespace, now);
    this.feed = new SqliteFeedTable(connection, feed);
    this.#sessions = new SessionTable(connection.statements, namespace, feed);
    this.#newest = new NewestReader(connection.statements, this.#sessions, this.#messages);
    this.#todos = new TodoTable(connection.statements, namespace);
    this.#attachments = new AttachmentRows(connection.statements, namespace);
    this.#namings = new NamingTable(connection.statements);
    const tables = { sessions: this.#sessions, rows: this.#attachments, namings: this.#namings };
    this.attachments = new SqliteAttachmentTable(connection, tables);
    this.queries = new QueryPlanner(new RecordFinder(connection, this.#sessions));
    this.bin = binOf(connection, this.#sessions);
    this.#now = now;
    if (cleaner) this.cleanFiles = (call) => cleaner.clean(call);
    if (search)
      this.searchEntries = async (...[wanted, page, call]) =>
        foundEntries(await search(searchQuery(namespace, wanted, page), call), page.limit);
  }

  async createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    const kept = copyOf(record);
    return this.#connection.write(() => this.#sessions.create(kept), call);
  }

  async readRecord(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    return this.#connection.read(() => this.#sessions.living(sessionId), call);
  }

  async raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    return this.#connection.write(() => this.#sessions.raiseForks(sessionId), call);
  }

  async replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    const kept = copyOf(record);
    return this.#connection.write(() => this.#sessions.replace(kept, ifRevision), call);
  }

  async publishRecord(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone"> {
    const kept = copyOf(record);
    return this.#connection.write(() => this.#sessions.publish(kept), call);
  }

  async readRecordByUid(uid: string, call?: Call): Promise<SessionRecord | null> {
    return this.#connection.read(() => this.#sessions.byUid(uid), call);
  }

  async addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean> {
    return this.#connection.write(() => this.#sessions.addFork(uid, delta), call);
  }

  async addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    const kept = [...bytes];
    await this.#connection.write(() => {
      for (const [uid, more] of kept) this.#sessions.addBytes(uid, more);
    }, call);
  }

  async setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    const kept = [...bytes];
    await this.#connection.write(() => {
      for (const [uid, counted] of kept) this.#sessions.setBytes(uid, counted);
    }, call);
  }

  async entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    let sum = 0;
    for (const range of ranges) {
      const { log } = range;
      const ends = () => [Math.abs(this.#messages.lastPlace(log)), this.#attachments.lastPiece(log)] as const;
      const [lastPlace, lastPiece] = await this.#connection.read(ends, call);
      sum += await this.#sumOf(range, lastPlace, (some) => this.#messages.bodyBytes(some), call);
      sum += await this.#sumOf(range, lastPiece, (some) => this.#attachments.pieceBytes(some), call);
    }
    return sum;
  }

  async usage(filter: UsageFilter, call?: Call): Promise<Usage> {
    return this.#connection.read(() => this.#sessions.usage(filter), call);
  }

  async listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]> {
    const { parentId, labels, owner } = filter;
    const query = { parentId, labels, owner, order: NEWEST_FIRST };
    if (isPlainList(query)) return this.#connection.read(() => this.#sessions.list(filter, page), call);
    return wholePage(this.queries, query, page, call);
  }

  async timeMs(call?: Call): Promise<number> {
    return this.#connection.read(() => this.#now(), call);
  }

  async append(
    log: string,
    seq: number,
    entries: readonly Entry[],
    call?: Call,
  ): Promise<number | "idTaken" | "unnamed"> {
    const rows = entries.map(entryToRow);
    const named = namingRows(entries);
    return this.#connection.write(() => {
      const end = this.#sessions.openEnd(log);
      const updateTime = end?.updateTime ?? this.#sessions.updateTimeOf(log);
      // Rule: named-logs-only.
      if (updateTime === null) return "unnamed";
      const stored = this.#messages.append(log, seq, rows, end?.lastPlace);
      if (stored === rows.length) this.#namings.insert(named);
      // Rule: update-time-with-append.
      if (stored === rows.length) this.#sessions.touchOwner(log, updateTime, this.#now() * 1000);
      return stored;
    }, call);
  }

  async seal(log: string, _lastSeq?: number, call?: Call): Promise<number | "unnamed"> {
    return this.#connection.write(() => (this.#sessions.names(log) ? this.#messages.seal(log) : "unnamed"), call);
  }

  async readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range> {
    return this.#connection.read(() => this.#messages.read(log, first, last, options ?? {}), call);
  }

  async readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    return this.#connection.read(() => logs.map((log) => this.#messages.last(log)), call);
  }

  async readNewest(sessionId: string, options: NewestOptions, call?: Call): Promise<Newest | null> {
    const connection = this.#connection;
    return connection.read(() => connection.atOneMoment(() => this.#newest.read(sessionId, options)), call);
  }

  async readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    return this.#connection.read(() => this.#messages.readUsage(ranges, limit), call);
  }

  async readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    return this.#connection.read(() => ranges.map((range) => this.#messages.usageEnds(range)), call);
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    return this.#connection.read(() => {
      const tail = this.#messages.tail(log, this.#sessions.namespace);
      // The end of the log is read before its name is looked up, because a log that is still named afterwards was named
      // when its end was read.
      return tail.isNamed ? tail : { ...tail, isNamed: this.#sessions.names(log) };
    }, call);
  }

  async seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    return this.#connection.read(() => this.#messages.seqAtTime(log, first, last, micros), call);
  }

  /** Entries never change, so looking into logs in several steps finds no less than looking into all at once. */
  async findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    const wanted = [...new Set(ids)];
    const names = [...new Set(logs)];
    const atOnce = Math.ceil(LOOKUPS_AT_ONCE / (wanted.length + 1));
    const found: Entry[] = [];
    for (let start = 0; start < names.length; start += atOnce) {
      if (start > 0) await setImmediate();
      const some = names.slice(start, start + atOnce);
      const look = () => some.flatMap((log) => this.#messages.find(log, wanted));
      found.push(...(await this.#connection.read(look, call)));
    }
    return found;
  }

  async findCopies(
    owners: readonly Pick<SessionRecord, "uid">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]> {
    const look = () => owners.flatMap(({ uid }) => this.#messages.findOwned(uid, message.id));
    const found = await this.#connection.read(look, call);
    return found.filter((entry) => isSameMessage(entry, message));
  }

  async findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]> {
    return this.#connection.read(() => this.#messages.findOwned(uid, id), call);
  }

  async listOwned(
    uid: string,
    after: OwnedPlace | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly OwnedPlace[]> {
    return this.#connection.read(() => this.#messages.listOwned(uid, after, limit), call);
  }

  async overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    const kept = [...entries];
    await this.#connection.write(() => {
      for (const entry of kept) if (this.#messages.overwrite(entry)) this.#namings.replace(entry);
    }, call);
  }

  async listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#connection.read(() => this.#sessions.sweepable(untilMs, limit), call);
  }

  async listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#connection.read(() => this.#sessions.drafting(afterUid, limit), call);
  }

  async listExpired(bounds: ExpiryBounds, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#connection.read(() => this.#sessions.expired(bounds, limit), call);
  }

  async deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    return this.#connection.write(
      () => this.#messages.delete(target, limit) || this.#attachments.delete(target, limit),
      call,
    );
  }

  async deleteRecord(uid: string, call?: Call): Promise<boolean> {
    return this.#connection.write(() => this.#sessions.deleteTombstone(uid), call);
  }

  async scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#connection.read(() => this.#sessions.scan(afterUid, limit), call);
  }

  async listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    const orphans: string[] = [];
    let from: string | undefined = "";
    while (from !== undefined && orphans.length < limit) {
      if (from !== "") await setImmediate();
      const start: string = from;
      from = await this.#connection.read(() => this.#collectOrphans(start, limit, orphans), call);
    }
    return orphans;
  }

  async readTodos(call?: Call): Promise<TodoList> {
    return this.#connection.read(() => this.#todos.read(), call);
  }

  async replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    const body = JSON.stringify(todos);
    return this.#connection.write(() => this.#todos.replace(body, ifRevision), call);
  }

  async ping(call?: Call): Promise<void> {
    await this.#connection.read(() => this.#messages.nextOwner(""), call);
    await this.#connection.checkWritable();
  }

  async close(): Promise<void> {}

  /** The sum of what the places of a range take, some at a time. */
  async #sumOf(
    { log, first, last }: Segment,
    lastPlace: number,
    bytesOf: (range: Segment) => number,
    call?: Call,
  ): Promise<number> {
    let sum = 0;
    const end = Math.min(last, lastPlace);
    for (let from = first; from <= end; from += MEASURED_AT_ONCE, await setImmediate()) {
      const some = { log, first: from, last: Math.min(end, from + MEASURED_AT_ONCE - 1) };
      sum += await this.#connection.read(() => bytesOf(some), call);
    }
    return sum;
  }

  /** Checks some owners; returns where to continue, if there are more. */
  #collectOrphans(start: string, limit: number, orphans: string[]): string | undefined {
    let uid = this.#nextOwner(start);
    for (let seen = 1; uid !== undefined && orphans.length < limit; seen++) {
      if (!this.#sessions.ownerExists(uid)) orphans.push(uid);
      const next = `${uid}/`;
      if (seen >= OWNERS_AT_ONCE) return next;
      uid = this.#nextOwner(next);
    }
    return undefined;
  }

  /** The first uid at or after the given one that owns an entry, an attachment or a piece. */
  #nextOwner(from: string): string | undefined {
    const owners = [this.#messages.nextOwner(from), this.#attachments.nextOwner(from)];
    return owners.filter((uid) => uid !== undefined).sort(byColumn)[0];
  }
}

/** A record is stored as JSON, so a copy as JSON lacks nothing, and is made faster than by `structuredClone`. */
function copyOf(record: NextRecord): NextRecord {
  return JSON.parse(JSON.stringify(record)) as NextRecord;
}

function binOf(connection: SqliteConnection, sessions: SessionTable): RecordBin {
  return {
    list: async (filter, page, call) => connection.read(() => sessions.binned(filter, page), call),
    listDue: async (untilMicros, limit, call) => connection.read(() => sessions.toPurge(untilMicros, limit), call),
    revive: async (record, ifRevision, call) => {
      const kept = copyOf(record);
      return connection.write(() => sessions.revive(kept, ifRevision), call);
    },
  };
}
