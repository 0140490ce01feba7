import type { Call } from "../../domain/call.js";
import type { MessageIdentity } from "../../domain/erasure.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type { Entry, NextRecord, Segment, SessionRecord, Tail } from "./session-record.js";

export type * from "./session-record.js";

export interface RecordFilter {
  /** Only children of this session; all when empty. */
  readonly parentId: string;
  /**
   * Only sessions with all of these labels, each as `labelTexts` writes it; absent or empty: all. A page of one label
   * costs no more than a page of all; otherwise the sessions that have the first label are gone along.
   */
  readonly labels?: readonly string[] | undefined;
}

/** Order: `updateTimeMicros`, then `sessionId` (by code unit or by byte, but always the same), both descending. */
export interface RecordPage {
  readonly limit: number;
  /** Only records after this place in the order. */
  readonly after?: { readonly updateTimeMicros: number; readonly sessionId: string } | undefined;
}

/** Microseconds since 1970. */
export interface ExpiryBounds {
  readonly expireTimeMicros: number;
  /** Absent: how long ago a session was updated does not matter. */
  readonly updateTimeMicros?: number | undefined;
}

export interface RangeOptions {
  readonly descending?: boolean | undefined;
  readonly limit?: number | undefined;
  /** Ends, after one entry at least, when this many bytes (roughly) have been read. */
  readonly maxBytes?: number | undefined;
}

export interface Range {
  /** Contiguous: a read ends at its first gap, and at a seal. */
  readonly entries: readonly Entry[];
  /** Whether `maxBytes` ended it. */
  readonly cut: boolean;
}

/**
 * Records, logs and todos of one namespace: all that histories need from a database. docs/adding-a-store.md explains
 * how to write one.
 *
 * Every method is atomic by itself, but for `append` and `seal` as said there. Methods reject with DomainError:
 * `unavailable` when the database cannot be reached, `deadline_exceeded` or `canceled` when the call ended; a write
 * that was rejected so may have happened, except where a method says that it reads the outcome back. Logs are named by
 * uids and need no namespace.
 */
export interface LogStore {
  /**
   * Adds a record with `forks` 0. `exists`: a living record has the session id; nothing was stored. A repeated send of
   * the same uid is `created`. A record that is being restored is added `deleted`.
   */
  createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists">;

  /** The living record with this session id, read linearizably; null when there is none. */
  readRecord(sessionId: string, call?: Call): Promise<SessionRecord | null>;

  /**
   * Adds 1 to the `forks` of the living record with this session id and answers that record, in one step; null when
   * there is none. Never repeated after an unknown outcome.
   */
  raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null>;

  /**
   * Replaces the record with this uid if its revision is still `ifRevision`; answers what is stored then, or null when
   * it is not. `forks` is never touched. An unknown outcome is read back: a record that this very write made is ours,
   * one of the next revision by another is null; when the record has gone on since, or is gone, nobody can tell any
   * more: `unavailable`, never null, after which the caller would undo what the record may name.
   */
  replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null>;

  /**
   * Makes a record that is being restored a living one: puts this one in the place of the one with its uid, with the
   * next revision and the `forks` that are there. `exists`: a living record has the session id by now. `gone`: there is
   * no such record, or it is not being restored any more. Then nothing was changed. A repeated send is `published`.
   */
  publishRecord(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone">;

  /** The record with this uid, a tombstone too, read linearizably; null: there is none in this namespace. */
  readRecordByUid(uid: string, call?: Call): Promise<SessionRecord | null>;

  /**
   * Adds to `forks`, if there is such a record and (when given) its revision is `ifRevision`. Never repeated after an
   * unknown outcome.
   */
  addFork(uid: string, delta: 1 | -1, ifRevision?: number, call?: Call): Promise<boolean>;

  /** Living records, newest update first. */
  listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * Raises `updateTimeMicros` of the records that still live; never lowers one, never touches `revision`. Absent:
   * `append` itself does so in the step that writes. When the owner of the log lives and its time is more than a second
   * old by the store's clock, the time becomes that clock's, and `replaceRecord` never lowers the time of a living
   * record.
   */
  touchRecords?(times: ReadonlyMap<string, number>, call?: Call): Promise<void>;

  /**
   * The latest time of the store's own clock, in milliseconds, that any answer to this process carried so far; 0 before
   * the first. It never goes back, and every answer moves it to the time of its own call at least, before the call
   * resolves: what a call did was done at or before `knownTimeMs()`.
   *
   * Absent: `append` and `seal` check in the step that writes whether a record of this namespace lets entries into the
   * log (`namesLog`), and store nothing when none does. Then no decision depends on any clock. A store that has this
   * method does not check: there an append may succeed in a place that a sweep has cleared away, and the caller finds
   * that out because by this clock the answer came long after the record was read.
   */
  knownTimeMs?(): number;

  /**
   * The store's time, in milliseconds, of a moment between the start of this call and its answer. Every write that was
   * answered before the call began has an earlier time or the same, and every write sent after the answer a later one
   * or the same. It never goes back where the store has `knownTimeMs`, and is on the same clock.
   */
  timeMs(call?: Call): Promise<number>;

  /**
   * Writes entries at `seq`, `seq + 1`, … of a log, and answers how many it stored, counted from the first. Fewer than
   * given: the next place, or the next id, was taken. `idTaken`: nothing was stored, and an id of them is in the log
   * already. `unnamed`: nothing was stored, because no record of this namespace lets entries into the log: one that
   * lives, or is being restored, and has it as its `log`, in `namedLogs` or as the log of an open draft (a store with `knownTimeMs` never answers
   * this). A store with atomic writes stores all or none, and none unless `seq` comes right after the last place of the
   * log; another may stop half way, but never leaves a gap between its own. An unknown outcome is read back before it
   * answers.
   */
  append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken" | "unnamed">;

  /**
   * Makes sure that nothing can ever follow in this log, and answers the number of its messages after which none is
   * owed. Wins against a busy appender. Sealing a sealed log answers the same again. `unnamed`: nothing was done, as
   * with `append`. `lastSeq`: the last message, if the caller knows it.
   */
  seal(log: string, lastSeq?: number, call?: Call): Promise<number | "unnamed">;

  /** Messages of `first` to `last`, both bounds given, in either direction; ends at the first gap or seal. */
  readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range>;

  /**
   * For each log, in the same order, its last message after which none is owed; null when it has none. Each is of one
   * moment. Read at once, where that is faster than one after the other.
   */
  readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]>;

  /** What ends the log; an unknown log is empty and open. */
  tail(log: string, call?: Call): Promise<Tail>;

  /**
   * The first seq of `first` to `last`, whose timestamps never go down, with a timestamp at or after `micros`; `last +
   * 1` when all are before it. Null when an entry that decides it is missing: no answer is given for a range that has
   * been swept.
   */
  seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null>;

  /** All entries with one of these ids in one of these logs, in any order. */
  findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]>;

  /**
   * All copies of a message in the logs that these records own, whether or not a record names the log or the place, in
   * any order: entries with the same id, origin and timestamp.
   */
  findCopies(
    owners: readonly Pick<SessionRecord, "uid" | "sessionId">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]>;

  /** All entries with this id in the logs of one owner, whether or not a record names the log, in any order. */
  findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]>;

  /**
   * Puts these bodies in the place of those that the entries have, in one step for each entry. All else of them stays. An
   * entry that is not there any more is left out. Safe to repeat. Only for erasing: entries change in no other way.
   */
  overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void>;

  /**
   * Resolves when the files of the database hold nothing any more of what was erased or deleted before the call. It may
   * take as long as copying the database, and writes may wait meanwhile. Absent where the store has no files of its own
   * that it could clean.
   */
  cleanFiles?(call?: Call): Promise<void>;

  /**
   * Records of this namespace with `forks` 0 whose `sweepTimeOf` is `untilMs` or earlier: they have something to be
   * swept that has no mark yet, or one that old. The earliest first.
   */
  listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /** Living records that expired at or before a time, or that were last updated at or before another, at most `limit`. */
  listExpired(bounds: ExpiryBounds, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * Living records of this namespace that name drafts, open or ended, in the order of their uids, after `afterUid`.
   * Unlike `listSweepable` it also answers records with `forks` above 0: no other session ever names the log of a
   * draft.
   */
  listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * Deletes at most `limit` entries (seals too) of all logs of a uid, or of a range of one log. Whether there may be
   * more.
   */
  deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean>;

  /** Removes a tombstone. false: there was none. */
  deleteRecord(uid: string, call?: Call): Promise<boolean>;

  /** All records of the namespace, tombstones too, by uid; for `sweep --repair`. */
  scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /** uids that own entries but have no record in any namespace, at most `limit`; for `sweep --repair`. */
  listOrphans(limit: number, call?: Call): Promise<readonly string[]>;

  readTodos(call?: Call): Promise<TodoList>;

  /** Replaces the list if its revision is still `ifRevision`; the new one is `ifRevision + 1`. */
  replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean>;

  /**
   * Calls the listener, some time after, with the uid of every session of which another process has written a record or
   * a log entry. Only where the database can tell; else followers poll. Answers a function that ends it.
   */
  subscribe?(listener: (uid: string) => void): Promise<() => Promise<void>>;

  /**
   * Resolves when the database answers and, as far as the store can tell, takes writes; otherwise rejects with
   * `unavailable`.
   */
  ping(call?: Call): Promise<void>;

  /** Ends this handle. The database stays open for others. */
  close(): Promise<void>;
}

/** A database that holds the logs of many namespaces. */
export interface LogDatabase {
  /** For the start line and logs, without credentials: `sqlite:./data/session-pool.db`. */
  readonly name: string;
  /** A handle for one namespace; handles are cheap. */
  namespace(namespace: string): LogStore;
  /** Namespaces that have records or todos. */
  listNamespaces(): Promise<readonly string[]>;
  /**
   * Waits for the writes under way, at most until the call's deadline, and closes. A write that could not even begin by
   * then is rejected with `unavailable`.
   */
  close(call?: Call): Promise<void>;
}
