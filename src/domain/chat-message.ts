import type { JsonObject } from "./json.js";
import { sameStruct } from "./json.js";

/** One piece of a message's content. `id` and `text` are empty when not given. */
export interface Part {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly data?: JsonObject | undefined;
  readonly attachment?: PartAttachment | undefined;
}

/**
 * What a part says of an attachment. In a message that is to be stored, everything but the id may be empty (`size` 0),
 * and the service fills it in.
 */
export interface PartAttachment {
  readonly attachmentId: string;
  readonly mediaType: string;
  readonly name: string;
  /** Number of bytes. */
  readonly size: number;
  /** In lower-case hexadecimal. */
  readonly sha256: string;
  /** Set where the bytes were left out of the backup that the message was imported from. */
  readonly missing?: true | undefined;
}

/** A message as a caller gives it to be appended. */
export interface NewChatMessage {
  /** 1-128 bytes of UTF-8 without control characters; a ULID is made when absent. */
  readonly id?: string | undefined;
  readonly role: string;
  /** Microseconds since 1970. When absent, the time of storing is used, but never one before the last message's. */
  readonly timestampMicros?: number | undefined;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
}

/** New content of a message. Absent fields stay as they are. */
export interface MessageChange {
  readonly role?: string | undefined;
  readonly parts?: readonly Part[] | undefined;
  /** Replaces all metadata; an empty object removes it. */
  readonly metadata?: JsonObject | undefined;
  /** Must be the time that the message has already. It cannot be changed, and a caller that tries gets an error. */
  readonly timestampMicros?: number | undefined;
}

/** A message as a session shows it: the canonical persisted message of the spec. */
export interface ChatMessage {
  readonly id: string;
  /** The session that was asked for, or for a message of an ancestor, that ancestor. */
  readonly sessionId: string;
  readonly role: string;
  /** Microseconds since 1970. */
  readonly timestampMicros: number;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
  /** The number of messages before it; absent for messages of ancestors. */
  readonly position?: number | undefined;
  /** The session it was first written to. */
  readonly originSessionId?: string | undefined;
}

/** The part of a message that the rule "same id, same content" compares, apart from the timestamp. */
export interface MessageContent {
  readonly role: string;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
}

/** Whether role, parts and metadata are equal; an absent Struct equals an empty one (docs/api.md, Same content). */
export function sameContent(a: MessageContent, b: MessageContent): boolean {
  return (
    a.role === b.role &&
    a.parts.length === b.parts.length &&
    a.parts.every((part, i) => samePart(part, b.parts[i] as Part)) &&
    sameStruct(a.metadata, b.metadata)
  );
}

function samePart(a: Part, b: Part): boolean {
  return (
    a.id === b.id &&
    a.type === b.type &&
    a.text === b.text &&
    sameStruct(a.data, b.data) &&
    sameAttachment(a.attachment, b.attachment)
  );
}

/** What one side leaves empty does not count, because the service fills it in. */
function sameAttachment(a: PartAttachment | undefined, b: PartAttachment | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const isSame = (one: string | number, other: string | number) => one === other || !one || !other;
  return (
    a.attachmentId === b.attachmentId &&
    isSame(a.mediaType, b.mediaType) &&
    isSame(a.name, b.name) &&
    isSame(a.size, b.size) &&
    isSame(a.sha256, b.sha256)
  );
}
