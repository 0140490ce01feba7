import type { Document, Long } from "mongodb";
import type { StoredAttachment } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { int64 } from "./entry-document.js";

/**
 * The row of an attachment. `removed`: it is gone for everybody. The document stays until pieces that were under way
 * when it was removed have surely arrived, so that they are found and cleared away.
 */
export interface AttachmentDocument {
  /** The log of its pieces. */
  readonly _id: string;
  readonly namespace: string;
  readonly uid: string;
  readonly attachment_id: string;
  /**
   * What the unique index compares: `=` and the attachment's id if it is stored, otherwise `.` and the log. So a
   * session has one stored attachment with an id, and any number that arrive or are doomed.
   */
  readonly slot: string;
  readonly media_type: string;
  readonly name: string;
  readonly size: Long | number;
  readonly sha256: string;
  readonly create_time: Long | number;
  /** Milliseconds; of a removed one, when it was removed. */
  readonly seen_ms: Long | number;
  readonly state: StoredAttachment["state"] | "removed";
  readonly pieces: number;
}

export interface PieceDocument {
  /** Of the log and the place, so that sending a piece again stores nothing twice. */
  readonly _id: string;
  readonly log: string;
  readonly seq: number;
  /** Number of bytes, by which an index counts them. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** The states of rows that are there for callers. */
export const PRESENT = ["arriving", "stored", "doomed"] as const;

function slotOf({ state, attachmentId, log }: Pick<StoredAttachment, "state" | "attachmentId" | "log">): string {
  return state === "stored" ? storedSlot(attachmentId) : freeSlot(log);
}

export function storedSlot(attachmentId: string): string {
  return `=${attachmentId}`;
}

export function freeSlot(log: string): string {
  return `.${log}`;
}

/** The update that hides rows. It leaves nothing of what callers have said of them, which may be about to be erased. */
export function removal(removedMs: number): Document[] {
  const said = { attachment_id: "", media_type: "", name: "", size: int64(0), sha256: "" };
  return [{ $set: { ...said, state: "removed", slot: { $concat: [".", "$_id"] }, seen_ms: int64(removedMs) } }];
}

/** The filter that finds one row. The uid selects the shard. */
export function rowFilter(namespace: string, log: string) {
  return { _id: log, uid: ownerOf(log), namespace } as const;
}

export function toRow(namespace: string, attachment: StoredAttachment): AttachmentDocument {
  const { log, uid, attachmentId, mediaType, name, size, sha256, createTimeMicros, seenMs, state, pieces } = attachment;
  return {
    _id: log,
    namespace,
    uid,
    attachment_id: attachmentId,
    slot: slotOf(attachment),
    media_type: mediaType,
    name,
    size: int64(size),
    sha256,
    create_time: int64(createTimeMicros),
    seen_ms: int64(seenMs),
    state,
    pieces,
  };
}

export function toAttachment(row: AttachmentDocument): StoredAttachment {
  return {
    attachmentId: row.attachment_id,
    mediaType: row.media_type,
    name: row.name,
    size: Number(row.size),
    sha256: row.sha256,
    createTimeMicros: Number(row.create_time),
    uid: row.uid,
    log: row._id,
    seenMs: Number(row.seen_ms),
    state: row.state as StoredAttachment["state"],
    pieces: row.pieces,
  };
}
