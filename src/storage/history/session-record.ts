import type { MessageBody } from "../../domain/message-body.js";
import type { SessionFields } from "../../domain/session.js";
import type { RunningUsage } from "./running-usage.js";

/** Entries `first` to `last` of a log, inclusive. Entries are numbered from 1. */
export interface Segment {
  readonly log: string;
  readonly first: number;
  readonly last: number;
}

/** A segment that a parent showed, and the id of that parent. */
export interface AncestrySegment extends Segment {
  readonly sessionId: string;
  /** The uid of that parent. Absent when it owns the log, and in records from before this was kept. */
  readonly uid?: string | undefined;
}

/**
 * A message or a step of a draft, written once at its place in a log. Only an erasure changes it. Seals are not
 * entries: no read returns them.
 */
export interface Entry {
  /** `uid.n`: the uid of the session that owns the log, followed by the log's own name. */
  readonly log: string;
  readonly seq: number;
  /** The message's id, unique within the log. */
  readonly id: string;
  readonly timestampMicros: number;
  readonly role: string;
  readonly body: MessageBody;
  /** The client's id of the session that owns the log; the same for all entries of a log. */
  readonly sessionId: string;
  /** The session it was first written to. */
  readonly originSessionId: string;
  /**
   * How many messages of its batch follow it. A batch whose last message (`remaining` 0) is missing is not visible. A
   * store whose `append` is atomic need not store this and may return 0.
   */
  readonly remaining: number;
  /**
   * The sums of usage over the entries of the log up to this one. Given with every message that has usage and is
   * appended to a log of a history, and with nothing else; no read of entries returns it.
   */
  readonly usageSums?: RunningUsage | undefined;
}

/** The end of a log. */
export interface Tail {
  /** The last message of the last complete batch, which has `remaining` 0; null when there is none. */
  readonly last: {
    readonly seq: number;
    readonly id: string;
    readonly timestampMicros: number;
  } | null;
  /**
   * `sealed`: a seal comes right after the last message stored, so nothing can follow. `remaining`: messages of an
   * unfinished batch come after `last`, with no seal after them. `open`: neither. A seal further ahead, with a free
   * place before it, does not count.
   */
  readonly state: "open" | "unfinished" | "sealed";
  /**
   * Whether a record lets entries into the log (`namesLog`), read after everything else here. A store that does not
   * check this in `append` and `seal` returns true.
   */
  readonly isNamed: boolean;
}

/** Something that a sweep may remove. */
export interface Markable {
  /**
   * The sweep's mark: the store's time, by `timeMs`, of a moment after a sweep saw that nothing needs this any more.
   * Absent until a sweep has seen that.
   */
  readonly markedAtMs?: number | undefined;
  /** How many bytes the sweep has found in it then; absent where bytes are not counted. */
  readonly bytes?: number | undefined;
}

/** A range of a session's own log that its record no longer names. */
export type DroppedRange = Segment & Markable;

/**
 * A log other than the open one that the session writes. The record names it before its first entry is written. `copy`:
 * a side log, which one writer fills and an edit then uses up. Its writer removes the name, or the sweep does if the
 * writer died. `older`: the log that version 0.1.0 kept for older messages, which nobody writes to any more.
 */
export interface NamedLog extends Markable {
  readonly log: string;
  readonly purpose: "older" | "copy";
}

/**
 * A draft: a message that is being written, as a log of deltas that the record names before its first entry is written.
 * The log's own last entry tells whether the draft has ended; the record may learn it later.
 */
export interface DraftRef extends Markable {
  readonly log: string;
  /** The message's id, which no other message of the history may get while the draft is open. */
  readonly messageId: string;
  /** The timestamp that the message will have; null for the time at which the draft is finished. */
  readonly timestampMicros: number | null;
  readonly discardWhenAbandoned: boolean;
  /**
   * How the draft ended; absent while it is open. Set once its message is appended or it is discarded. From then on
   * nothing can be appended to its log, and a sweep clears it away.
   */
  readonly end?: "finished" | "discarded" | undefined;
}

/** An edit that changed messages. */
export interface EditMark {
  /** The record's revision after it. */
  readonly revision: number;
  /** How many messages at the front it did not change. */
  readonly kept: number;
  /**
   * What happened to the first message after the kept ones, if the edit changed only that message. Kept for the last
   * edit only, because nobody asks about earlier ones.
   */
  readonly single?: SingleEdit | undefined;
  /** Set when the edit is an erasure, so that a repeated erasure is not noted twice. */
  readonly erased?: true | undefined;
}

/** What an edit did to the one message that it changed: it got new content, or it was deleted. */
export type SingleEdit = { readonly kind: "updated" } | { readonly kind: "deleted"; readonly messageId: string };

/** When a session was deleted, and until when it can be brought back, in microseconds by the store's clock. */
export interface BinTimes {
  /** Later than that of every other deleted session with the same id that can still be brought back. */
  readonly deleteTimeMicros: number;
  readonly purgeTimeMicros: number;
}

/** How a fork or share was made, so that a retry is recognised. */
export interface Origin {
  readonly kind: "fork" | "share";
  readonly sourceSessionId: string;
  readonly sourceUid: string;
  /** As the caller gave it; empty means all. */
  readonly upToMessageId: string;
}

/**
 * A session's record. It is replaced as a whole, by compare-and-set of `revision`. A process that appends by a cached
 * head goes by the time of expiry in that head. So a change of that time also replaces the open log: an append by an
 * older head then fails, and its process reads the record again.
 */
export interface SessionRecord extends SessionFields {
  /** Random, never used again. */
  readonly uid: string;
  readonly origin: Origin | null;
  /** The name of the key that made the session; absent when quotas of keys are off. */
  readonly creatorKey?: string | undefined;
  /** Whether the store counts the bytes of its entries, because quotas of bytes are or were on. */
  readonly isCounted?: true | undefined;
  /** How often the tickets of the session were revoked; absent for never. */
  readonly ticketGeneration?: number | undefined;
  /** The revision of the record. Every replacement adds 1. */
  readonly revision: number;
  /**
   * The revision of the session that callers see, called `revision` in the API. Every change of the session except an
   * append adds 1.
   */
  readonly sessionRevision: number;
  /** Closed ranges, in the order of the history. */
  readonly segments: readonly Segment[];
  /** The open log, whose messages all follow the segments. */
  readonly log: string;
  /**
   * The timestamp of the last message of `segments`. Without segments it is 0 and has no meaning, because a message may
   * have an earlier time.
   */
  readonly lastTimestampMicros: number;
  readonly ancestry: readonly AncestrySegment[];
  /** What an unrevert puts back; see undo.ts. */
  readonly undo: {
    readonly segments: readonly Segment[];
    readonly lastTimestampMicros: number;
  } | null;
  /** The places of its annotations, in no order; absent when there are none. */
  readonly annotations?: readonly Segment[] | undefined;
  /** The other logs that entries may be appended to. */
  readonly namedLogs: readonly NamedLog[];
  /** Drafts that are open, and those that ended most recently, in the order in which they were started. */
  readonly drafts: readonly DraftRef[];
  /** The number of rollovers in a row, and the time of the last one by `HistoryContext.storeMicros`. */
  readonly rollovers: { readonly count: number; readonly atMs: number };
  readonly dropped: readonly DroppedRange[];
  /** The last 64 edits, oldest first. */
  readonly edits: readonly EditMark[];
  /** The uids of the sessions from which it was directly forked, copied or made. */
  readonly sources: readonly string[];
  /** How many records name this one as a source. Only `addFork` and `raiseForks` change it. */
  readonly forks: number;
  /**
   * Set only while the record is being restored: like a tombstone, nobody sees it while its messages are written.
   * `publishRecord` makes it a living record. The sweep takes this mark away by compare-and-set before it clears such a
   * record away, so that it cannot be published any more.
   */
  readonly restoring?: true | undefined;
  /** Whether it is a tombstone, whose session id is free again. */
  readonly deleted: boolean;
  /**
   * Set only in a tombstone whose session can be brought back, and which keeps all that the session had. A sweep does
   * nothing to such a record but take this away, by compare-and-set, when the time is over.
   */
  readonly bin?: BinTimes | undefined;
  /** The `sessionRevision` after the session was brought back last, so that a retry of that is recognised. */
  readonly broughtBackAs?: number | undefined;
  /** A tombstone's mark. */
  readonly markedAtMs: number | null;
}

/** A record as a caller of `replaceRecord` gives it: the store keeps `forks`. */
export type NextRecord = Omit<SessionRecord, "forks">;
