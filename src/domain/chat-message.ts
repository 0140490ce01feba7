import type { JsonObject } from "./json.js";
import { sameStruct } from "./json.js";
import type { Usage } from "./usage.js";
import { sameUsage } from "./usage-text.js";

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
  /** One that says nothing is as good as none. */
  readonly usage?: Usage | undefined;
}

/** New content of a message. Absent fields stay as they are. */
export interface MessageChange {
  readonly role?: string | undefined;
  readonly parts?: readonly Part[] | undefined;
  /** Replaces all metadata; an empty object removes it. */
  readonly metadata?: JsonObject | undefined;
  /** Replaces the whole usage; an empty object removes it. */
  readonly usage?: Usage | undefined;
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
  readonly usage?: Usage | undefined;
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
  readonly usage?: Usage | undefined;
}

/**
 * Whether role, parts, metadata and usage of a stored message are those that a caller gives; an absent Struct or usage
 * equals an empty one (docs/api.md, Same content).
 */
export function sameContent(stored: MessageContent, given: MessageContent): boolean {
  return (
    stored.role === given.role &&
    stored.parts.length === given.parts.length &&
    stored.parts.every((part, i) => samePart(part, given.parts[i] as Part)) &&
    sameStruct(stored.metadata, given.metadata) &&
    sameUsage(stored.usage, given.usage)
  );
}

function samePart(stored: Part, given: Part): boolean {
  return (
    stored.id === given.id &&
    stored.type === given.type &&
    stored.text === given.text &&
    sameStruct(stored.data, given.data) &&
    sameAttachment(stored.attachment, given.attachment)
  );
}

/** What a caller leaves empty does not count, because the service has filled it in. */
function sameAttachment(stored: PartAttachment | undefined, given: PartAttachment | undefined): boolean {
  if (stored === undefined || given === undefined) return stored === given;
  const isSame = (one: string | number, other: string | number) => one === other || !other;
  return (
    stored.attachmentId === given.attachmentId &&
    isSame(stored.mediaType, given.mediaType) &&
    isSame(stored.name, given.name) &&
    isSame(stored.size, given.size) &&
    isSame(stored.sha256, given.sha256)
  );
}
