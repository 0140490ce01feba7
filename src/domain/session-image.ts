import type { JsonObject } from "./json.js";
import type { Labels } from "./labels.js";
import type { MessageBody } from "./message-body.js";

/** Messages `first` to `last`, both included, that are stored together under one name. They never change. */
export interface StoredRange {
  readonly log: string;
  readonly first: number;
  readonly last: number;
}

/** Messages `first` to `last`, by the numbers that a backup gives them. */
export interface NumberRange {
  readonly first: number;
  readonly last: number;
}

/** Everything that a session is at one moment, with ranges in the place of messages. */
export interface SessionImage<R> {
  readonly sessionId: string;
  readonly parentId: string;
  readonly forkPointId: string;
  readonly inheritedCount: number;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
  readonly labels?: Labels | undefined;
  readonly expireTimeMicros?: number | undefined;
  readonly createTimeMicros: number;
  readonly updateTimeMicros: number;
  /** What callers see as the session's revision. */
  readonly revision: number;
  /** How a fork or share was made, by which a retry is known; null for other sessions. */
  readonly origin: ImageOrigin | null;
  /** What `includeAncestors` puts in front, oldest first, and which session showed it. */
  readonly ancestry: readonly { readonly sessionId: string; readonly ranges: readonly R[] }[];
  readonly messages: readonly R[];
  /** All messages that an unrevert would bring back; null when there is nothing to unrevert. */
  readonly undo: readonly R[] | null;
}

export interface ImageOrigin {
  readonly kind: "fork" | "share";
  readonly sourceSessionId: string;
  /** As given; empty for all. */
  readonly upToMessageId: string;
  /** Whether the living session with that id is the source, and not one that got the id later. */
  readonly sourceLives: boolean;
}

export interface SnapshotRange extends StoredRange {
  /** Whether this session wrote the range. Only then can nobody else name it unless the session is shared. */
  readonly isOwn: boolean;
}

/** A session as a backup reads it. */
export interface SessionSnapshot extends SessionImage<SnapshotRange> {
  /** Whether other sessions name messages that this one wrote. */
  readonly isShared: boolean;
  /** Names the session for good: an id may be used again. */
  readonly uid: string;
  /** When it was read, on the provider's steady clock. */
  readonly atMs: number;
}

/** A message as a backup keeps it. */
export interface StoredMessage {
  readonly id: string;
  readonly role: string;
  readonly timestampMicros: number;
  readonly body: MessageBody;
  /** Session it was written to first. */
  readonly originSessionId: string;
}

/** A range that a living session wrote, to be shared by the one that is restored. */
export interface SharedRange extends StoredRange {
  readonly ownerId: string;
}

/** A session to be restored, of ranges to be shared and ranges to be written. */
export type RestoredImage = SessionImage<SharedRange | NumberRange>;

/** Reads the messages with these numbers, in order, some at a time. */
export type ReadNumbers = (range: NumberRange) => AsyncIterable<readonly StoredMessage[]>;

/** Where messages that were written stand: number `first` at `place.first`, and so on. */
export interface WrittenRange extends NumberRange {
  readonly place: SharedRange;
}

/**
 * `restored`: the session is there, whole. `exists`: another living session has the id; nothing was stored. `unshared`:
 * a range that it should share is no longer there, or no longer of a living session; nothing was stored.
 */
export type RestoreOutcome =
  | { readonly kind: "restored"; readonly written: readonly WrittenRange[] }
  | { readonly kind: "exists" }
  | { readonly kind: "unshared" };

/** Some of a store's sessions, in an order that never changes. */
export interface SessionKeys {
  readonly keys: readonly { readonly sessionId: string; readonly createTimeMicros: number }[];
  /** Where to go on; absent at the end. */
  readonly next?: string | undefined;
}
