import type { Call } from "../../domain/call.js";
import type { MessageIdentity } from "../../domain/erasure.js";
import type { SearchScope, SearchTerm } from "../../domain/search.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type { Usage as MessageUsage } from "../../domain/usage.js";
import type { AttachmentTable } from "./attachments/attachment-table.js";
import type { FeedTable } from "./feed-table.js";
import type { RecordBin } from "./record-bin.js";
import type { RecordQueries } from "./record-queries.js";
import type { RegisterTable } from "./register-table.js";
import type { RunningUsage } from "./running-usage.js";
import type { Entry, NextRecord, Segment, SessionRecord, Tail } from "./session-record.js";

export type * from "./attachments/attachment-table.js";
export type * from "./feed-table.js";
export type * from "./record-bin.js";
export type * from "./record-queries.js";
export type * from "./register-table.js";
export type * from "./running-usage.js";
export type * from "./session-record.js";

export interface RecordFilter {
  /** Only children of this session; all sessions when empty. */
  readonly parentId: string;
  /**
   * Only sessions with all of these labels, each as `labelTexts` writes it; all sessions when absent or empty. A page
   * of one label costs no more than a page of all sessions. With several labels, or with a parent as well, the sessions
   * that have one of them are scanned.
   */
  readonly labels?: readonly string[] | undefined;
  /**
   * Only sessions of this owner, or, if empty, those without one; all sessions when absent. A page of one owner, or of
   * one owner and one label, costs no more than a page of all sessions. With a parent as well, the sessions of the
   * owner are scanned.
   */
  readonly owner?: string | undefined;
}

/**
 * The order of lists is `updateTimeMicros`, then `sessionId` (by code unit or by byte, but always the same), both
 * descending.
 */
export interface RecordPage {
  readonly limit: number;
  /** Only records after this place in the order. */
  readonly after?: { readonly updateTimeMicros: number; readonly sessionId: string } | undefined;
}

/** Which living records to count: all of the namespace, or those of one owner (empty for none), or of one key. */
export type UsageFilter =
  | { readonly owner?: undefined; readonly key?: undefined }
  | { readonly owner: string; readonly key?: undefined }
  | { readonly owner?: undefined; readonly key: string };

/** What living records take. */
export interface Usage {
  readonly sessions: number;
  /** The sum of their counted bytes. */
  readonly bytes: number;
  /** How many of them have no counted bytes. */
  readonly uncounted: number;
}

/** Microseconds since 1970. */
export interface ExpiryBounds {
  readonly expireTimeMicros: number;
  /** When absent, the time of the last update does not matter. */
  readonly updateTimeMicros?: number | undefined;
}

export interface RangeOptions {
  readonly descending?: boolean | undefined;
  readonly limit?: number | undefined;
  /** Ends the read, after at least one entry, once roughly this many bytes have been read; Infinity for no end. */
  readonly maxBytes?: number | undefined;
}

export interface Range {
  /** Contiguous entries: a read ends at the first gap and at a seal. */
  readonly entries: readonly Entry[];
  /** Whether `maxBytes` ended the read. */
  readonly cut: boolean;
}

/** How much to read at the end of a session. */
export interface NewestOptions {
  /** At least 1. */
  readonly limit: number;
  /** Ends the read, after at least one message, once roughly this many bytes have been read; Infinity for no end. */
  readonly maxBytes: number;
}

/** The end of a session, with everything in it as of one moment. */
export interface Newest {
  readonly record: SessionRecord;
  /** The end of the record's open log, which the record names at this moment. */
  readonly end: Omit<Tail, "isNamed">;
  /**
   * The last messages of the session, the newest first. Its messages are those of the record's `segments`, in their
   * order, and then those of its open log up to `end.last`. The entries end before the first that is missing, as those
   * of a range do; `cut` says whether `maxBytes` ended them instead.
   */
  readonly messages: Range;
}

/** An entry that was appended with `usageSums`, without its content. */
export interface UsageRow {
  readonly log: string;
  readonly seq: number;
  readonly timestampMicros: number;
  readonly originSessionId: string;
  readonly usage: MessageUsage;
}

/** Rows of usage, and what is left of the ranges that were asked for. */
export interface UsageRows {
  /** In the order of the ranges, and in each range by place. */
  readonly rows: readonly UsageRow[];
  /** The ranges that were not looked at, of which the first may be the rest of one; empty when all were. */
  readonly rest: readonly Segment[];
}

/** The sums at both ends of a range. */
export interface UsageEnds {
  /** The session whose client's id owns the log. */
  readonly sessionId: string;
  /** The first entry with usage in the range, and the sums up to it. */
  readonly first: UsageRow & { readonly sums: RunningUsage };
  /** The sums up to the last entry with usage in the range. */
  readonly last: RunningUsage;
}

/** Which entries to find: those whose searched text (`searchedText`) holds every term. */
export interface EntrySearch {
  readonly terms: readonly SearchTerm[];
  /**
   * What of an entry is searched. With `text`, a store whose index holds more may also return entries that have terms
   * elsewhere; with `all`, one whose index is being extended finds the others later.
   */
  readonly scope: SearchScope;
  /** Only entries with a timestamp at or after this one. */
  readonly sinceMicros?: number | undefined;
  /** Only entries with an earlier timestamp. */
  readonly untilMicros?: number | undefined;
  /** Only entries of logs that these uids own; absent: all. */
  readonly owners?: readonly string[] | undefined;
}

export interface FoundEntry {
  readonly log: string;
  readonly seq: number;
  readonly originSessionId: string;
  readonly role: string;
  /**
   * Where this entry is in the order of the search. As `after` of a later call, the search continues right after it.
   */
  readonly place: string;
}

/** A place that holds an entry. */
export interface OwnedPlace {
  readonly log: string;
  readonly seq: number;
  readonly originSessionId: string;
}

/** Which entries of a search to return: at most `limit`, from right after a place that an earlier answer gave. */
export interface SearchedPage {
  readonly limit: number;
  readonly after?: string | undefined;
}

export interface FoundEntries {
  /** By timestamp, the newest first. Of those with the same timestamp in one log, the last first. */
  readonly entries: readonly FoundEntry[];
  /** Where to go on, also when no entry was found; null when nothing follows. */
  readonly next: string | null;
}

/**
 * The records, logs and todos of one namespace: everything that histories need from a database. docs/adding-a-store.md
 * explains how to write one. Every method is atomic, except that `append` and `seal` may stop half way as described
 * there. Methods reject with DomainError: `unavailable` when the database cannot be reached, `deadline_exceeded` or
 * `canceled` when the call has ended. A write that was rejected in this way may have happened, except where a method
 * says that it reads the outcome back. Logs are named by uids and need no namespace. The file is long because it holds
 * all that a store promises.
 */
export interface LogStore {
  /**
   * Adds a record with `forks` 0, and with the counted bytes 0 if it `isCounted`, otherwise without any. `exists`: a
   * living record has the session id; nothing was stored, and the uid must not be used again, because a store may have
   * blocked it, also before it rejected. A blocked uid gives `exists`. Sending a stored uid again gives `created`. A
   * record that is being restored is added with `deleted` set, whether or not a living one has the session id.
   */
  createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists">;

  /** The living record with this session id, read linearizably; null when there is none. */
  readRecord(sessionId: string, call?: Call): Promise<SessionRecord | null>;

  /**
   * Adds 1 to the `forks` of the living record with this session id and returns that record, in one step; null when
   * there is none. Never repeated after an unknown outcome.
   */
  raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null>;

  /**
   * Replaces the record with this uid if its revision is still `ifRevision`, and resolves to what is stored then; null
   * when the revision differs. Never changes `forks` or the counted bytes, and never lowers the `updateTimeMicros` of a
   * living record, which may have advanced since the caller read it. An unknown outcome is read back: if the record was
   * made by this very write, it is returned; if another write made the next revision, null. If the record has changed
   * further since, or does not exist any more, the outcome stays unknown, and this rejects with `unavailable`. It must
   * not return null then, because the caller would take back what the record may name.
   */
  replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null>;

  /**
   * Turns a record that is being restored into a living one: replaces it with this one of the same uid, with the next
   * revision and the stored `forks`. `exists`: a living record has the session id by now. `gone`: there is no such
   * record, or it is no longer being restored. In both cases nothing was changed. `published` also when a living record
   * has this uid already, whatever it holds, because then this was sent before. When an unknown outcome cannot be read
   * back, this rejects with `unavailable` and never answers `gone`: after `gone`, the caller deletes the messages, but
   * if the record was published and then deleted, forks may name them.
   */
  publishRecord(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone">;

  /** The record with this uid, which may be a tombstone, read linearizably; null when this namespace has none. */
  readRecordByUid(uid: string, call?: Call): Promise<SessionRecord | null>;

  /** Adds to `forks` if the record exists; resolves to whether it does. Never repeated after an unknown outcome. */
  addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean>;

  /**
   * Adds to the counted bytes of records, by uid. The numbers may be negative, but no count falls below 0. Records that
   * are missing, or have no counted bytes, stay as they are. Changes no `revision` and is no change to followers. After
   * an error, which is not repeated, some of the records may have been changed.
   */
  addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void>;

  /** Sets the counted bytes of the records that exist, by uid, also where they have none yet. Safe to repeat. */
  setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void>;

  /**
   * How many bytes the stored bodies of the entries in these ranges take together: those of `MessageBody.encode()`.
   * Missing entries and seals take none.
   */
  entryBytes(ranges: readonly Segment[], call?: Call): Promise<number>;

  /** Counts living records. Reads an index at most, never the messages. */
  usage(filter: UsageFilter, call?: Call): Promise<Usage>;

  /** Living records, most recently updated first. */
  listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * Raises `updateTimeMicros` of those records that still live; never lowers one and never changes `revision`. If this
   * method is absent, `append` does it in the step that writes: when the owner of the log lives and its time is more
   * than a second old by the store's clock, the time becomes that clock's.
   */
  touchRecords?(times: ReadonlyMap<string, number>, call?: Call): Promise<void>;

  /**
   * The latest time of the store's own clock, in milliseconds, that any answer to this process has carried; 0 before
   * the first answer. It never goes back. Before a call resolves, its answer has advanced this time at least to the
   * time of the call, so whatever a call did happened at or before `knownTimeMs()`. If this method is absent, `append`
   * and `seal` check, in the step that writes, whether a record of this namespace lets entries into the log
   * (`namesLog`), and store nothing when none does. Then no decision depends on any clock. A store that has this method
   * makes no such check. There, an append may succeed in a log that a sweep has cleared away, and the caller notices
   * this because, by this clock, the answer came long after the record was read.
   */
  knownTimeMs?(): number;

  /**
   * The store's time, in milliseconds, of a moment between the start of this call and its answer. Every write answered
   * before the call began has an earlier or equal time, and every write sent after the answer a later or equal one.
   * Where the store has `knownTimeMs`, this never goes back and uses the same clock.
   */
  timeMs(call?: Call): Promise<number>;

  /**
   * Writes entries at `seq`, `seq + 1`, … of a log. Resolves to how many it stored, counted from the first; if fewer
   * than given, the next place or the next id was taken. `idTaken`: nothing was stored, because one of the ids is in
   * the log already, or occurs twice among the entries. `unnamed`: nothing was stored, because no record of this
   * namespace lets entries into the log, that is, no record that lives or is being restored has it as its `log`, in
   * `namedLogs` or as the log of an open draft (a store with `knownTimeMs` never answers this). A store with atomic
   * writes stores all or none, and none unless `seq` comes right after the last place of the log. Another store may
   * stop half way, but never leaves a gap between its own entries. An unknown outcome is read back before this
   * resolves.
   */
  append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken" | "unnamed">;

  /**
   * Ensures that nothing can ever follow in this log. Resolves to the number of its messages up to the end of the last
   * complete batch. Must win against busy appenders, after a number of attempts that does not grow with how fast they
   * are. Sealing a sealed log gives the same answer again. `unnamed`: nothing was done, as with `append`. `lastSeq` is
   * the place of the last message, if the caller knows it.
   */
  seal(log: string, lastSeq?: number, call?: Call): Promise<number | "unnamed">;

  /** The messages from `first` to `last`, inclusive, in either direction. Ends at the first gap or seal. */
  readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range>;

  /**
   * For each log, in the same order, the last message of its last complete batch; null when there is none. Each answer
   * is as of one moment. The logs are read in parallel where that is faster.
   */
  readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]>;

  /**
   * The living record with this session id, the end of its open log and the newest messages, all as of one moment and
   * as linearizably as `readRecord`; null when there is no such record. The messages may be in several logs, also in
   * those of other sessions: a fork that nobody has written to has all of them there. This saves round trips, so a
   * store that cannot answer it with one leaves it out. The engine then reads the record, the end and the ranges one
   * after the other, and answers the same.
   */
  readNewest?(sessionId: string, options: NewestOptions, call?: Call): Promise<Newest | null>;

  /**
   * The entries with usage in these ranges, at most `limit` of them. An entry has usage if it was appended with
   * `usageSums`; its `usage` is that of its body, also after an erasure. Costs what the entries with usage cost,
   * however many others the ranges have, and reads no body.
   */
  readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows>;

  /**
   * For each range, in the same order, the sums of usage at its ends, from which the sum over the range follows; null
   * when no entry in it has usage. Each answer is as of one moment. Costs the same however long the ranges are, one
   * round trip for all of them if the database has round trips, and reads no body.
   */
  readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]>;

  /** The end of the log. An unknown log is empty and open. */
  tail(log: string, call?: Call): Promise<Tail>;

  /**
   * The first place from `first` to `last`, within which timestamps never decrease, whose timestamp is at or after
   * `micros`; `last + 1` when all are before it. Null when an entry that would decide it is missing, because a range
   * that has been swept gets no answer.
   */
  seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null>;

  /** All entries with one of these ids in one of these logs, in any order. */
  findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]>;

  /**
   * All copies of a message in the logs that these records own, whether or not a record names the log or the place, in
   * any order. Copies are entries with the same id, origin and timestamp.
   */
  findCopies(
    owners: readonly Pick<SessionRecord, "uid" | "sessionId">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]>;

  /** All entries with this id in the logs of one owner, whether or not a record names the log, in any order. */
  findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]>;

  /**
   * At most `limit` places of entries in the logs of one owner, whether or not a record names the logs, after the place
   * `after`; by log and place, in an order of logs that never changes. Fewer than `limit` only when none follows. No
   * body is read for it.
   */
  listOwned(uid: string, after: OwnedPlace | undefined, limit: number, call?: Call): Promise<readonly OwnedPlace[]>;

  /**
   * Replaces the bodies of these entries, in one step for each entry; everything else stays, the sums of usage among
   * it. What is kept of the usage beside the body becomes that of the new body, which has the same numbers. An entry
   * that is no longer there is skipped. Safe to repeat, and safe beside other calls of the same: an entry gets one of
   * the bodies, whole. Only erasing may use this, because entries never change in any other way.
   */
  overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void>;

  /**
   * Finds entries of logs of this namespace by their words, whether or not a record shows them. Entries of logs that a
   * record of another namespace owns are never found. Copies of a message are separate entries. `after` is a place that
   * an earlier call returned; another one is `invalid_argument`. Finds at most `limit` entries; a store may look at
   * only a part at a time and return fewer, with `next`. Absent where the store has no index of words.
   */
  searchEntries?(search: EntrySearch, page: SearchedPage, call?: Call): Promise<FoundEntries>;

  /**
   * Resolves once the files of the database hold nothing of what was erased or deleted before the call. This may take
   * as long as copying the database, and writes may wait meanwhile. Absent where the store has no files of its own to
   * clean.
   */
  cleanFiles?(call?: Call): Promise<void>;

  /**
   * The records of this namespace with `forks` 0 whose `sweepTimeOf` is at most `untilMs`: they have something to be
   * swept that has no mark yet or an old enough one. Earliest first.
   */
  listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * At most `limit` living records that expired at or before one time, or that were last updated at or before another,
   * each once.
   */
  listExpired(bounds: ExpiryBounds, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * Living records of this namespace that name drafts, open or ended, ordered by uid, after `afterUid`. Unlike
   * `listSweepable`, this includes records with `forks` above 0, because no other session ever names the log of a
   * draft.
   */
  listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * Deletes at most `limit` entries, including seals, from all logs of a uid or from a range of one log. Resolves to
   * whether there may be more.
   */
  deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean>;

  /** Removes a tombstone; resolves to false when there was none. A blocked uid stays blocked. */
  deleteRecord(uid: string, call?: Call): Promise<boolean>;

  /** All records of the namespace, including tombstones, by uid; for sums, exports, erasures and `sweep --repair`. */
  scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /** At most `limit` uids that own entries but have no record in any namespace; for `sweep --repair`. */
  listOrphans(limit: number, call?: Call): Promise<readonly string[]>;

  /** Absent where the store lists records only as `listRecords` does. */
  readonly queries?: RecordQueries | undefined;

  /** Absent where the store cannot bring deleted sessions back. */
  readonly bin?: RecordBin | undefined;

  /** Absent where the store keeps no attachments. */
  readonly attachments?: AttachmentTable | undefined;

  /** Absent where the store keeps no feed of its sessions. */
  readonly feed?: FeedTable | undefined;

  readTodos(call?: Call): Promise<TodoList>;

  /**
   * Replaces the list if its revision is still `ifRevision`, which the new list's exceeds by 1. Resolves to whether it
   * did.
   */
  replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean>;

  /**
   * Calls the listener, some time later, with the uid of every session whose record or logs another process has written
   * to. Absent where the database cannot tell; followers poll then. Resolves to a function that ends the
   * subscription.
   */
  subscribe?(listener: (uid: string) => void): Promise<() => Promise<void>>;

  /**
   * Resolves when the database answers and, as far as the store can tell, accepts writes; otherwise rejects with
   * `unavailable`.
   */
  ping(call?: Call): Promise<void>;

  /** Closes this handle. The database stays open for others. */
  close(): Promise<void>;
}

/** Figures about everything that a database holds, for metrics. */
export interface StoreFigures {
  /** What it takes up on the disk; absent where nobody can tell. */
  readonly bytes?: number | undefined;
  /** Living records. */
  readonly sessions: number;
  /** Drafts without an end that living records name. */
  readonly openDrafts: number;
  /**
   * How long the oldest of these has waited for a sweep, by the store's clock: something that a sweep has marked, and a
   * session with a time of expiry. 0 when nothing waits. Records that are being restored do not count, because a sweep
   * leaves them alone for a day.
   */
  readonly unsweptAgeMs: number;
  /** Entries that the index of words lacks, of which at most MOST_UNINDEXED are counted; absent without an index. */
  readonly unindexed?: number | undefined;
}

/** Counting more would cost more than an operator learns from it. */
export const MOST_UNINDEXED = 10_000;

export interface VacuumOptions {
  /**
   * Whether the files are written anew, so that no byte of an old version is left in them. Nobody else can use the
   * messages meanwhile.
   */
  readonly full: boolean;
  /** Is told now and then how many pages have been looked at. */
  readonly onProgress?: ((pages: number, of: number) => void) | undefined;
}

/** A database that holds the logs of many namespaces. */
export interface LogDatabase {
  /** A name without credentials, for the start line and logs: `sqlite:./data/session-pool.db`. */
  readonly name: string;
  /** Returns a handle for one namespace. Handles are cheap. */
  namespace(namespace: string): LogStore;
  /** The namespaces that have records, todos, or rows of the feed that tell what has departed. */
  listNamespaces(): Promise<readonly string[]>;
  /** Absent where the store has no registers. */
  readonly registers?: RegisterTable | undefined;
  /**
   * Figures about all namespaces, not necessarily as of one moment. Reads an index at most, never the messages, and
   * lets other calls of this process through meanwhile. Absent where the store has no such figures.
   */
  figures?(call?: Call): Promise<StoreFigures>;
  /**
   * What the database's settings endanger, as of the last ping: a sentence for each of those by which something that
   * was acknowledged can be lost. Absent where no setting can do that.
   */
  readonly risks?: readonly string[];
  /**
   * Clears away the versions of rows that erasures have replaced and the database still keeps. Resolves when none is
   * left that anybody could read. `failed_precondition`: the service may not do this, or something may still read them;
   * the text says what. Absent where an erasure leaves nothing that this could clear away.
   */
  vacuum?(options: VacuumOptions): Promise<void>;
  /**
   * Waits for running writes until the call's deadline at most, and closes. A write that could not even begin by then
   * is rejected with `unavailable`.
   */
  close(call?: Call): Promise<void>;
}
