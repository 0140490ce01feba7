import type { Db } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { MessageIdentity } from "../../domain/erasure.js";
import type { SearchScope } from "../../domain/search.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type {
  AttachmentTable,
  Entry,
  ExpiryBounds,
  FeedTable,
  LogStore,
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
import { FeedPlaces } from "./feed-places.js";
import { MongoAppender } from "./mongo-appender.js";
import { MongoAttachmentRows } from "./mongo-attachment-rows.js";
import { MongoAttachmentTable } from "./mongo-attachment-table.js";
import type { MongoChanges } from "./mongo-changes.js";
import { collectionsOf } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { MongoDepartures } from "./mongo-departures.js";
import { MongoErasures } from "./mongo-erasures.js";
import { MongoFeed } from "./mongo-feed.js";
import { MongoLogDeletes } from "./mongo-log-deletes.js";
import { MongoLogReads } from "./mongo-log-reads.js";
import { MongoNamings } from "./mongo-namings.js";
import { MongoPieces } from "./mongo-pieces.js";
import { MongoRecordLists } from "./mongo-record-lists.js";
import { MongoRecords } from "./mongo-records.js";
import { MongoSealer } from "./mongo-sealer.js";
import { MongoSearch } from "./mongo-search.js";
import { MongoTodos } from "./mongo-todos.js";
import { MongoUsageReads } from "./mongo-usage-reads.js";
import { RecordFinder } from "./record-finder.js";
import type { SafeReads } from "./safe-reads.js";
import { termsField } from "./search-words.js";
import type { ServerClock } from "./server-clock.js";
import type { WriteIds } from "./write-ids.js";

/** What all stores of one database share. */
export interface MongoShared {
  readonly db: Db;
  readonly commands: MongoCommands;
  readonly ids: WriteIds;
  readonly safeReads: SafeReads;
  readonly clock: ServerClock;
  /** Whether updates may ask for the server's time. */
  readonly hasNow: boolean;
  /** Null where the server has no change streams. */
  readonly changes: MongoChanges | null;
  /** What of messages is in the index of words; undefined where they are not searched. */
  readonly indexed: SearchScope | undefined;
}

/**
 * A namespace of a MongoDB database. It passes each operation on to one of its parts, which are divided by what they
 * work on.
 */
export class MongoLogStore implements LogStore {
  readonly #shared: MongoShared;
  readonly #records: MongoRecords;
  readonly #lists: MongoRecordLists;
  readonly #appender: MongoAppender;
  readonly #sealer: MongoSealer;
  readonly #reads: MongoLogReads;
  readonly #usage: MongoUsageReads;
  readonly #deletes: MongoLogDeletes;
  readonly #erasures: MongoErasures;
  readonly #todos: MongoTodos;
  readonly attachments: AttachmentTable;
  readonly queries: RecordQueries;
  readonly bin: RecordBin;
  readonly feed: FeedTable;
  readonly searchEntries?: NonNullable<LogStore["searchEntries"]>;
  readonly subscribe?: (listener: (uid: string) => void) => Promise<() => Promise<void>>;

  constructor(namespace: string, shared: MongoShared) {
    const { db, commands, ids, safeReads, changes, clock, indexed } = shared;
    const collections = collectionsOf(db);
    const { sessions, messages, todos } = collections;
    this.#shared = shared;
    const timeMs = shared.hasNow ? undefined : () => clock.knownMs();
    const places = new FeedPlaces(namespace, collections, commands, { timeMs });
    const departures = new MongoDepartures(namespace, collections, commands);
    this.#records = new MongoRecords(namespace, sessions, { commands, ids, safeReads, clock, places, departures });
    this.#lists = new MongoRecordLists(namespace, sessions, commands, places);
    this.feed = new MongoFeed(namespace, collections, { commands, safeReads, clock, places, departures });
    this.queries = new QueryPlanner(new RecordFinder(namespace, sessions, commands));
    const termsOf = indexed && ((entry: Entry) => termsField(namespace, entry, indexed));
    this.#appender = new MongoAppender(messages, commands, ids, safeReads, termsOf);
    this.#sealer = new MongoSealer(messages, commands, ids);
    this.#reads = new MongoLogReads(collections, commands, { withWords: indexed !== undefined });
    this.#usage = new MongoUsageReads(messages, commands);
    this.#deletes = new MongoLogDeletes(collections, commands, clock);
    this.#erasures = new MongoErasures(namespace, messages, commands, indexed ?? "text");
    this.#todos = new MongoTodos(namespace, todos, commands, ids, safeReads);
    const rows = new MongoAttachmentRows(namespace, collections.attachments, {
      commands,
      clock,
      records: this.#records,
    });
    const pieces = new MongoPieces(collections.pieces, { commands, clock, rows, deletes: this.#deletes });
    this.attachments = new MongoAttachmentTable(rows, pieces, new MongoNamings(messages, commands));
    this.bin = {
      list: (filter, page, call) => this.#lists.listBinned(filter, page, call),
      listDue: (untilMicros, limit, call) => this.#lists.listDue(untilMicros, limit, call),
      revive: (record, ifRevision, call) => this.#records.revive(record, ifRevision, call),
    };
    if (indexed) {
      const searching = new MongoSearch(namespace, messages, commands);
      this.searchEntries = (what, page, call) => searching.find(what, page, call);
    }
    if (changes) this.subscribe = (listener) => changes.subscribe(listener);
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

  listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#lists.list(filter, page, call);
  }

  addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    return this.#lists.addBytes(bytes, call);
  }

  setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    return this.#lists.setBytes(bytes, call);
  }

  entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    return this.#reads.entryBytes(ranges, call);
  }

  usage(filter: UsageFilter, call?: Call): Promise<Usage> {
    return this.#lists.usage(filter, call);
  }

  touchRecords(times: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    return this.#lists.touch(times, call);
  }

  knownTimeMs(): number {
    return this.#shared.clock.knownMs();
  }

  timeMs(call?: Call): Promise<number> {
    return this.#shared.clock.timeMs(call);
  }

  append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken"> {
    return this.#appender.append(log, seq, entries, call);
  }

  seal(log: string, lastSeq?: number, call?: Call): Promise<number> {
    return this.#sealer.seal(log, lastSeq, call);
  }

  readRange(log: string, first: number, last: number, options: RangeOptions = {}, call?: Call): Promise<Range> {
    return this.#reads.readRange(log, first, last, options, call);
  }

  readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    return this.#reads.readLast(logs, call);
  }

  readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    return this.#usage.readUsage(ranges, limit, call);
  }

  readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    return this.#usage.readUsageEnds(ranges, call);
  }

  tail(log: string, call?: Call): Promise<Tail> {
    return this.#reads.tail(log, call);
  }

  seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    return this.#reads.seqAtTime(log, first, last, micros, call);
  }

  findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    return this.#reads.findById(logs, ids, call);
  }

  findCopies(
    owners: readonly Pick<SessionRecord, "uid" | "sessionId">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]> {
    return this.#erasures.findCopies(owners, message, call);
  }

  findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]> {
    return this.#erasures.findOwned(uid, id, call);
  }

  listOwned(uid: string, after: OwnedPlace | undefined, limit: number, call?: Call): Promise<readonly OwnedPlace[]> {
    return this.#erasures.listOwned(uid, after, limit, call);
  }

  overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    return this.#erasures.overwriteEntries(entries, call);
  }

  listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#lists.listSweepable(untilMs, limit, call);
  }

  listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#lists.listDrafting(afterUid, limit, call);
  }

  listExpired(bounds: ExpiryBounds, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#lists.listExpired(bounds, limit, call);
  }

  deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    return this.#deletes.delete(target, limit, call);
  }

  deleteRecord(uid: string, call?: Call): Promise<boolean> {
    return this.#records.delete(uid, call);
  }

  scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#lists.scan(afterUid, limit, call);
  }

  listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    return this.#deletes.listOrphans(limit, call);
  }

  readTodos(call?: Call): Promise<TodoList> {
    return this.#todos.read(call);
  }

  replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    return this.#todos.replace(todos, ifRevision, call);
  }

  async ping(call?: Call): Promise<void> {
    const { commands, db } = this.#shared;
    await commands.read(call, (limits) => db.command({ ping: 1 }, limits));
  }

  async close(): Promise<void> {}
}
