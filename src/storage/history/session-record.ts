import type { JsonObject } from "../../domain/json.js";
import type { Labels } from "../../domain/labels.js";
import type { MessageBody } from "../../domain/message-body.js";

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
  readonly body: MessageBody;
  /** The client's id of the session that owns the log; the same for all entries of a log. */
  readonly sessionId: string;
  /** Session it was written to first. */
  readonly originSessionId: string;
  /**
   * How many messages of its batch still follow. A batch whose last message (`owed` 0) is missing is not visible. A
   * store whose `append` is atomic need not keep it and may answer 0.
   */
  readonly owed: number;
}

/** The end of a log. */
export interface Tail {
  /** The last message after which none is owed; null when there is none. */
  readonly last: {
    readonly seq: number;
    readonly id: string;
    readonly timestampMicros: number;
  } | null;
  /**
   * `sealed`: a seal comes right after the last message stored, so nothing can follow. `owed`: messages of an
   * unfinished batch come after `last`, and no seal after them. `open`: neither. A seal further ahead, with a free
   * place in front, does not count.
   */
  readonly state: "open" | "owed" | "sealed";
  /**
   * Whether a record lets entries into the log (`namesLog`), read after everything else here. A store that does not
   * check this in `append` and `seal` answers true.
   */
  readonly isNamed: boolean;
}

/** Something that a sweep may remove. */
export interface Markable {
  /**
   * Mark of the sweep: the store's time, by `timeMs`, of a moment after the sweep saw that nothing needs it any more:
   * it was dropped, and the record's `forks` was 0. Absent until a sweep has seen that.
   */
  readonly markedAtMs?: number | undefined;
}

/** A range of a session's own log that its record does not name any more. */
export type DroppedRange = Segment & Markable;

/**
 * A log, beside the open one, that the session writes: the record names it before its first entry is written. `older`:
 * messages that are put between others; the log stays. `copy`: messages that are copied into a fresh log; its writer
 * takes the name away, and the sweep does when the writer died.
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
  /** The message's id, which nothing else in the history may get while the draft is open. */
  readonly messageId: string;
  /** Timestamp that the message will have; null for the time at which the draft is finished. */
  readonly timestampMicros: number | null;
  readonly discardWhenAbandoned: boolean;
  /**
   * Absent while the draft is open. Set once its end has been carried out: then nothing can be appended to its log, and
   * a sweep clears it away.
   */
  readonly end?: "finished" | "discarded" | undefined;
}

/** An edit that changed messages. */
export interface EditMark {
  /** The record's revision after it. */
  readonly revision: number;
  /** How many messages in front it left standing. */
  readonly kept: number;
  /** Of the last edit, when it changed only the message right after those: what became of it. Nobody asks of earlier ones. */
  readonly single?: SingleEdit | undefined;
}

/** What an edit made of the one message that it changed: it got new content, or it is gone. */
export type SingleEdit = { readonly kind: "updated" } | { readonly kind: "deleted"; readonly messageId: string };

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
  /** Absent: none. Of a tombstone they count for no list. */
  readonly labels?: Labels | undefined;
  /** Absent: it never expires by itself. Heads that name this log know it: changing it closes the open log. */
  readonly expireTimeMicros?: number | undefined;
  readonly createTimeMicros: number;
  readonly updateTimeMicros: number;
  readonly origin: Origin | null;
  /** Revision of the record. It goes up by 1 with every replacement. */
  readonly revision: number;
  /**
   * Revision of the session that callers see: what the API calls `revision`. It goes up with every change of the
   * session but appends.
   */
  readonly sessionRevision: number;
  /** Closed ranges, in order of the history. */
  readonly segments: readonly Segment[];
  /** The open log: all its messages follow the segments. */
  readonly log: string;
  /**
   * Timestamp of the last message of `segments`. Without segments it means nothing: it is 0 then, and a message may be
   * older.
   */
  readonly lastTimestampMicros: number;
  readonly ancestry: readonly AncestrySegment[];
  /** What an unrevert puts back; see undo.ts. */
  readonly undo: {
    readonly segments: readonly Segment[];
    readonly lastTimestampMicros: number;
  } | null;
  /** The other logs that entries may be appended to. */
  readonly namedLogs: readonly NamedLog[];
  /** Drafts that are open, and the last ones that have ended, in the order in which they were started. */
  readonly drafts: readonly DraftRef[];
  /** Rollovers in a row, and when the last one was. */
  readonly rollovers: { readonly count: number; readonly atMs: number };
  readonly dropped: readonly DroppedRange[];
  /** The last 64, oldest first. */
  readonly edits: readonly EditMark[];
  /** uids of the sessions that it was directly forked, copied or born from. */
  readonly sources: readonly string[];
  /** How many records name this one as a source. Only `addFork` and `raiseForks` change it. */
  readonly forks: number;
  /**
   * Only of a record that is being restored: nobody sees it, as if it were a tombstone, while its messages are written.
   * `publishRecord` makes it a living record. The sweep takes this mark away by compare-and-set before it clears such a
   * record away, so that it cannot be published any more.
   */
  readonly restoring?: true | undefined;
  /** Whether it is a tombstone, whose session id is free again. */
  readonly deleted: boolean;
  /** Of a tombstone: its mark. */
  readonly markedAtMs: number | null;
}

/** What a caller of `replaceRecord` gives: the store keeps `forks`. */
export type NextRecord = Omit<SessionRecord, "forks">;
