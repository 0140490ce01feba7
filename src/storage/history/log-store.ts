import type { Call } from "../../domain/call.js";
import type { Part } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { Todo, TodoList } from "../../domain/todo.js";

/** Entries `first` to `last` of a log, both included. Entries are numbered from 1. */
export interface Segment {
  readonly log: string;
  readonly first: number;
  readonly last: number;
}

/** A segment that a parent showed, and which parent. */
export interface AncestrySegment extends Segment {
  readonly sessionId: string;
}

/** One message, written once at its place in a log and never changed. Seals are not entries: no read returns them. */
export interface Entry {
  /** `uid.n`: the uid of the session that owns it, and a name of its own. */
  readonly log: string;
  readonly seq: number;
  /** The message's id, unique within the log. */
  readonly id: string;
  readonly timestampMicros: number;
  readonly role: string;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
  /** The client's id of the session that owns the log; the same for all entries of a log. */
  readonly sessionId: string;
  /** Session it was written to first. */
  readonly originSessionId: string;
  /**
   * How many messages of its batch still follow. A batch whose last message (`owed` 0) is missing is not visible. A store whose
   * `append` is atomic need not keep it and may answer 0.
   */
  readonly owed: number;
}

/** What ends a log. */
export interface Tail {
  /** The last message after which none is owed; null when there is none. */
  readonly last: {
    readonly seq: number;
    readonly id: string;
    readonly timestampMicros: number;
  } | null;
  /**
   * `sealed`: a seal stands right behind the last message stored, so nothing can follow. `owed`: messages of an unfinished batch stand
   * behind `last`, and no seal behind them. `open`: neither. A seal further ahead, with a free place in front, does not count.
   */
  readonly state: "open" | "owed" | "sealed";
}

/** A range of a session's own log that no record names any more; `droppedAtMs` is put by the store. */
export interface DroppedRange extends Segment {
  readonly droppedAtMs?: number | undefined;
}

/** An edit that changed messages. */
export interface EditMark {
  /** The record's revision after it. */
  readonly revision: number;
  /** How many messages in front it left standing. */
  readonly kept: number;
}

/** How a fork or share was made: a retry is known by it. */
export interface Origin {
  readonly kind: "fork" | "share";
  readonly sourceSessionId: string;
  readonly sourceUid: string;
  /** As given; empty for all. */
  readonly upToMessageId: string;
}

/** A session's record; replaced whole, by compare-and-set of `revision`. */
export interface SessionRecord {
  /** Random, never used again. */
  readonly uid: string;
  readonly sessionId: string;
  readonly parentId: string;
  readonly forkPointId: string;
  readonly inheritedCount: number;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
  readonly createTimeMicros: number;
  readonly updateTimeMicros: number;
  readonly origin: Origin | null;
  /** Goes up with every replacement, by 1. */
  readonly revision: number;
  /** Goes up with every change that a caller sees: what the API calls `revision`. */
  readonly version: number;
  /** Closed ranges, in order of the history. */
  readonly segments: readonly Segment[];
  /** The open log: all its messages follow the segments. */
  readonly log: string;
  /** Timestamp of the last message of `segments`; 0 when there is none. */
  readonly lastTimestampMicros: number;
  readonly ancestry: readonly AncestrySegment[];
  /** What an unrevert brings back. */
  readonly undo: {
    readonly segments: readonly Segment[];
    readonly lastTimestampMicros: number;
  } | null;
  /** Log for older messages; null until there is one. */
  readonly sideLog: string | null;
  /** Rollovers in a row, and when the last one was. */
  readonly rollovers: { readonly count: number; readonly atMs: number };
  readonly dropped: readonly DroppedRange[];
  /** The last 64, oldest first. */
  readonly edits: readonly EditMark[];
  /** uids of the sessions that it was directly forked, copied or born from. */
  readonly sources: readonly string[];
  /** How many records name this one as a source. Only `addFork` and `readRecord(raise)` change it. */
  readonly forks: number;
  /** When it was deleted: a tombstone, whose session id is free again. Null while it lives. */
  readonly deletedAtMs: number | null;
}

/** What a caller of `replaceRecord` gives: the store puts the times, and keeps `forks`. */
export type NextRecord = Omit<SessionRecord, "forks" | "deletedAtMs"> & {
  readonly deleted: boolean;
};

/** A record that has something to be swept, and those of its dropped ranges that are old enough. */
export interface Sweepable {
  readonly record: SessionRecord;
  readonly dropped: readonly DroppedRange[];
}

export interface RecordFilter {
  /** Only children of this session; all when empty. */
  readonly parentId: string;
}

/** Order: `updateTimeMicros`, then `sessionId` (by code unit or by byte, but always the same), both descending. */
export interface RecordPage {
  readonly limit: number;
  /** Only records behind this place in the order. */
  readonly after?: { readonly updateTimeMicros: number; readonly sessionId: string } | undefined;
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
 * Records, logs and todos of one namespace: all that histories need of a database (history.md, "What a store must give").
 *
 * Every method is atomic by itself, but for `append` and `seal` as said there. Methods reject with DomainError: `unavailable` when the
 * database cannot be reached, `deadline_exceeded` or `canceled` when the call ended; a write that was rejected so may have happened,
 * except where a method says that it reads the outcome back. Logs are named by uids and need no namespace.
 */
export interface LogStore {
  /** Adds a record with `forks` 0. `exists`: a living record has the session id; nothing was stored. A repeated send of the same uid is `created`. */
  createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists">;

  /** The living record with this session id, read linearizably. With `raise`, its `forks` goes up by 1 in the same step. */
  readRecord(sessionId: string, options?: { raise?: boolean }, call?: Call): Promise<SessionRecord | null>;

  /**
   * Replaces the record with this uid if its revision is still `ifRevision`; answers what is stored then, or null when it is not.
   * `forks` is never touched. Dropped ranges without a time, and a tombstone, get the store's time of this moment.
   * An unknown outcome is read back: a record that this very write made is ours, one of the next revision by another is null; when the record has gone
   * on since, or is gone, nobody can tell any more: `unavailable`, never null, after which the caller would undo what the record may name.
   */
  replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null>;

  /** Adds to `forks`, if there is such a record and (when given) its revision is `ifRevision`. Adding 0 tells whether there is one. Never repeated after an unknown outcome. */
  addFork(uid: string, delta: 1 | 0 | -1, ifRevision?: number, call?: Call): Promise<boolean>;

  /** Living records, newest update first. */
  listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]>;

  /** Raises `updateTimeMicros` of the records that still live; never lowers one, never touches `revision`. */
  touchRecords(times: ReadonlyMap<string, number>, call?: Call): Promise<void>;

  /**
   * Writes entries at `seq`, `seq + 1`, … of a log, and answers how many it stored, counted from the first. Fewer than given: the next
   * place, or the next id, was taken. `idTaken`: nothing was stored, and an id of them is in the log already.
   * A store with atomic writes stores all or none, and none unless `seq` is right behind the last place of the log; another may stop half way,
   * but never leaves a gap between its own. An unknown outcome is read back before it answers.
   */
  append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken">;

  /**
   * Makes sure that nothing can ever follow in this log, and answers the number of its messages after which none is owed. Wins against a busy appender.
   * Sealing a sealed log answers the same again. `lastSeq`: the last message, if the caller knows it.
   */
  seal(log: string, lastSeq?: number, call?: Call): Promise<number>;

  /** Messages of `first` to `last`, both bounds given, in either direction; ends at the first gap or seal. */
  readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range>;

  /** What ends the log; an unknown log is empty and open. */
  tail(log: string, call?: Call): Promise<Tail>;

  /** The first seq of `first` to `last`, all stored and with timestamps that never go down, whose timestamp is at or after `micros`; `last + 1` when there is none. */
  seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number>;

  /** All entries with one of these ids in one of these logs, in any order. */
  findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]>;

  /**
   * Records of this namespace with `forks` 0 that are tombstones older than `ageMs`, or have dropped ranges older than that, by the store's clock.
   */
  listSweepable(ageMs: number, limit: number, call?: Call): Promise<readonly Sweepable[]>;

  /** Deletes at most `limit` entries (seals too) of all logs of a uid, or of a range of one log. Whether there may be more. */
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
   * Calls the listener, some time after, with the uid of every session of which another process has written a record or a log entry. Only where the
   * database can tell; else followers poll. Answers a function that ends it.
   */
  subscribe?(listener: (uid: string) => void): Promise<() => Promise<void>>;

  /** Resolves when the database answers; rejects with `unavailable`. */
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
  /** Waits for writes under way and closes. */
  close(): Promise<void>;
}
