import type { JsonObject } from "./json.js";
import { sameStruct } from "./json.js";

/** One piece of a message's content. `id` and `text` are empty when not given. */
export interface Part {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly data?: JsonObject | undefined;
}

/** What a caller gives to be appended. */
export interface NewChatMessage {
  /** 1-128 bytes of UTF-8 without control characters; a ULID is made when absent. */
  readonly id?: string | undefined;
  readonly role: string;
  /** Microseconds since 1970; the time of storing (but never before the last message) when absent. */
  readonly timestampMicros?: number | undefined;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
}

/** New content of a message. What is absent stays as it is. */
export interface MessageChange {
  readonly role?: string | undefined;
  readonly parts?: readonly Part[] | undefined;
  /** Replaced whole; an empty object empties it. */
  readonly metadata?: JsonObject | undefined;
  /** Not a change: the time that the message must have, so that nobody takes it for one. */
  readonly timestampMicros?: number | undefined;
}

/** A message as a session shows it: the canonical persisted message of the spec. */
export interface ChatMessage {
  readonly id: string;
  /** Session that was asked for; of a message of an ancestor, that ancestor. */
  readonly sessionId: string;
  readonly role: string;
  /** Microseconds since 1970. */
  readonly timestampMicros: number;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
  /** Number of messages in front of it; absent for messages of ancestors. */
  readonly position?: number | undefined;
  /** Session it was written to first. */
  readonly originSessionId?: string | undefined;
}

/** The part of a message that the rule "same id, same content" compares, but for the timestamp. */
export interface MessageContent {
  readonly role: string;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
}

/**
 * Whether role, parts and metadata are the same; an absent and an empty Struct are equal (docs/api.md, Same content).
 */
export function sameContent(a: MessageContent, b: MessageContent): boolean {
  return (
    a.role === b.role &&
    a.parts.length === b.parts.length &&
    a.parts.every((part, i) => samePart(part, b.parts[i] as Part)) &&
    sameStruct(a.metadata, b.metadata)
  );
}

function samePart(a: Part, b: Part): boolean {
  return a.id === b.id && a.type === b.type && a.text === b.text && sameStruct(a.data, b.data);
}
