import type { StoredAnnotation } from "./annotation.js";
import type { AttachmentContent } from "./attachment.js";
import type { MessageBody } from "./message-body.js";
import type { SessionFields } from "./session.js";

/** Messages `first` to `last`, inclusive, that are stored together under one name. They never change. */
export interface StoredRange {
  readonly log: string;
  readonly first: number;
  readonly last: number;
}

/** Messages `first` to `last`, by their numbers in a backup. */
export interface NumberRange {
  readonly first: number;
  readonly last: number;
}

/** The whole state of a session at one moment, with ranges instead of messages. */
export interface SessionImage<R> extends SessionFields {
  /** The revision that callers see. */
  readonly revision: number;
  /** How a fork or share was made, so that a retry is recognised; null for other sessions. */
  readonly origin: ImageOrigin | null;
  /** What `includeAncestors` puts in front, oldest first, and the session that showed each piece. */
  readonly ancestry: readonly { readonly sessionId: string; readonly ranges: readonly R[] }[];
  readonly messages: readonly R[];
  /** All messages that an unrevert would bring back; null when there is nothing to bring back. */
  readonly undo: readonly R[] | null;
  /** Its annotations, oldest first, also of messages that an unrevert would bring back; absent when there are none. */
  readonly annotations?: readonly StoredAnnotation[] | undefined;
}

export interface ImageOrigin {
  readonly kind: "fork" | "share";
  readonly sourceSessionId: string;
  /** As the caller gave it; empty means all. */
  readonly upToMessageId: string;
  /** Whether the living session with that id is the source, rather than one that got the id later. */
  readonly sourceLives: boolean;
}

export interface SnapshotRange extends StoredRange {
  /** Whether this session wrote the range. If so, others can name the range only if the session is shared. */
  readonly isOwn: boolean;
}

/** A session as a backup reads it. */
export interface SessionSnapshot extends SessionImage<SnapshotRange> {
  /** Whether other sessions name messages that this one wrote. */
  readonly isShared: boolean;
  /** Identifies the session permanently, because an id may be used again. */
  readonly uid: string;
  /** When it was read, by the provider's steady clock. */
  readonly atMs: number;
}

/** A message as a backup keeps it. */
export interface BackupMessage {
  readonly id: string;
  readonly role: string;
  readonly timestampMicros: number;
  readonly body: MessageBody;
  /** The session it was first written to. */
  readonly originSessionId: string;
  /** Those that a message to be restored names. `body.attachments` says what a stored message names. */
  readonly attachments?: readonly BackupAttachment[] | undefined;
}

/** An attachment that a message of a backup names. */
export interface BackupAttachment {
  /** Identifies it among all attachments of the backup. */
  readonly number: number;
  readonly attachmentId: string;
  /** Reads it from the backup. */
  open(): Promise<AttachmentContent>;
}

/** An attachment of a living session, which messages of a restored session are to name. */
export interface SharedAttachment {
  readonly log: string;
  readonly ownerId: string;
}

/** A range written by a living session, which the restored session is to share. */
export interface SharedRange extends StoredRange {
  readonly ownerId: string;
}

/** A session to be restored, made of ranges to share and ranges to write. */
export interface RestoredImage extends SessionImage<SharedRange | NumberRange> {
  /** The attachments, by their numbers, that need not be written because a living session has them. */
  readonly sharedAttachments?: ReadonlyMap<number, SharedAttachment> | undefined;
}

/** Reads the messages with these numbers in order, in batches. */
export type ReadNumbers = (range: NumberRange) => AsyncIterable<readonly BackupMessage[]>;

/** Where written messages are stored: number `first` is at `place.first`, and so on. */
export interface WrittenRange extends NumberRange {
  readonly place: SharedRange;
}

/**
 * `restored`: the whole session is stored. `exists`: another living session has the id; nothing was stored. `unshared`:
 * a range or attachment to be shared is gone, or no longer belongs to a living session; nothing was stored.
 */
export type RestoreOutcome =
  | {
      readonly kind: "restored";
      readonly written: readonly WrittenRange[];
      /** The attachments that were written, by their numbers. */
      readonly attachments: ReadonlyMap<number, SharedAttachment>;
    }
  | { readonly kind: "exists" }
  | { readonly kind: "unshared" };

export interface SessionKey {
  readonly sessionId: string;
  readonly createTimeMicros: number;
  /** Absent for none. */
  readonly owner?: string | undefined;
}

/** Some of a store's sessions, in an order that never changes. */
export interface SessionKeys {
  readonly keys: readonly SessionKey[];
  /** Where the next page begins; absent at the end. */
  readonly next?: string | undefined;
}
