import type { Attachment } from "../../../domain/attachment.js";
import type { Call } from "../../../domain/call.js";
import type { Segment } from "../session-record.js";

/** An attachment as a store keeps it. */
export interface StoredAttachment extends Attachment {
  /** The session that it was uploaded to. */
  readonly uid: string;
  /** The log of its pieces, which is never used for anything else: `uid.n`. */
  readonly log: string;
  /** When a sweep last looked at it, in milliseconds by the store's clock, or when it was last uploaded. */
  readonly seenMs: number;
  /**
   * `arriving`: its bytes are being stored, and nobody sees it; `size` is 0 and `sha256` empty, except in a session
   * that is being restored, where both are known from the start. `stored`: it is whole. `doomed`: it is to be
   * removed. Nothing can come to name it any more but what shows it already, and its id is free, but it is there as
   * long as anything names it. No state goes back.
   */
  readonly state: "arriving" | "stored" | "doomed";
  /** How many pieces a sweep has seen of one that arrives. */
  readonly pieces: number;
}

/** What is known of an attachment once it has arrived. */
export type ArrivedAttachment = Pick<StoredAttachment, "log" | "size" | "sha256" | "createTimeMicros" | "seenMs">;

/** A stored message, or a step of a draft, that names an attachment. */
export interface Naming {
  /** Its place. */
  readonly log: string;
  readonly seq: number;
  readonly attachmentId: string;
  /** The log of the attachment's pieces. */
  readonly target: string;
}

/**
 * The attachments of one namespace: rows, pieces of bytes, and an index of what names them. The index is kept by
 * `append`, `overwriteEntries` and `deleteEntries`, in the same step as the entries: it holds what
 * `MessageBody.attachments` of every stored entry says. `deleteEntries` of a uid also deletes its rows and pieces, and
 * of a range the pieces in it; `entryBytes` counts the pieces in a range; `listOrphans` finds owners of either. Nothing
 * here changes a record. Outcomes that are unknown are read back, as those of `append` are.
 */
export interface AttachmentTable {
  /**
   * Adds the row of one that arrives. Safe to repeat. `gone`: nothing was stored, because the session does not live.
   */
  begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone">;

  /**
   * Stores a piece at a place of a log: places count from 1, and nobody else writes to the log. Safe to repeat. `gone`:
   * nothing was stored, because no attachment with this log arrives.
   */
  putPiece(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone">;

  /**
   * Turns one that arrives into a stored one, unless its session has a stored one with the id, and resolves to the one
   * that it has then. Safe to repeat. `gone`: nothing was changed, because no attachment with this log arrives, or the
   * session does not live.
   */
  complete(arrived: ArrivedAttachment, call?: Call): Promise<StoredAttachment | "gone">;

  /**
   * The pieces of a log from a place on, up to the first gap, at most `limit`. They belong to the caller, who must not
   * change them.
   */
  readPieces(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]>;

  /** The last place of a log that has a piece; 0 when there is none. */
  lastPiece(log: string, call?: Call): Promise<number>;

  /** The stored ones of a session with these ids, in any order. */
  find(uid: string, attachmentIds: readonly string[], call?: Call): Promise<readonly StoredAttachment[]>;

  /** The row whose pieces are in this log, in whatever state; null when there is none. */
  findLog(log: string, call?: Call): Promise<StoredAttachment | null>;

  /** All rows of a session, by log (by code unit or by byte, but always the same), after a log. */
  list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]>;

  /** Rows of the namespace in a state whose `seenMs` is at most this, the earliest first. */
  listSeen(
    state: StoredAttachment["state"],
    untilMs: number,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]>;

  /** Changes a row, if it is there. A doomed one stays doomed. Safe to repeat. */
  change(
    log: string,
    change: { readonly seenMs: number; readonly state?: "doomed"; readonly pieces?: number },
    call?: Call,
  ): Promise<void>;

  /** Removes a row, if it is there. */
  remove(log: string, call?: Call): Promise<void>;

  /**
   * Deletes pieces that arrived only after their row was removed, if that was at or before this time. Absent where
   * `putPiece` stores nothing once `remove` has begun, so that there are none.
   */
  clearLate?(untilMs: number, call?: Call): Promise<void>;

  /** The sum of the sizes of a session's rows, and how many of them arrive. */
  usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }>;

  /** What names an attachment, by log and place, after a place. */
  namings(
    target: string,
    after: { readonly log: string; readonly seq: number } | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly Naming[]>;

  /** What names one of these ids in these logs, in any order. */
  findNamings(logs: readonly string[], attachmentIds: readonly string[], call?: Call): Promise<readonly Naming[]>;

  /**
   * What names attachments in these logs, by attachment id (by code unit or by byte, but always the same), after an id.
   */
  listNamings(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]>;

  /**
   * At most `limit` different targets that entries of a range name, or entries of a session's logs that name the
   * attachments of other sessions.
   */
  targetsIn(where: Segment | { readonly foreignTo: string }, limit: number, call?: Call): Promise<readonly string[]>;
}
