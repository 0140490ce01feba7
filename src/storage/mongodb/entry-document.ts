import { Long, type ObjectId } from "mongodb";
import { DomainError } from "../../domain/errors.js";
import { MessageBody } from "../../domain/message-body.js";
import { NOTHING_KNOWN } from "../../domain/usage-text.js";
import type { Entry } from "../history/log-store.js";
import { runningText } from "../history/running-usage.js";

/**
 * A message. Whatever callers wrote is only ever a string value: `body` is JSON text, so their keys never become
 * fields.
 */
export interface MessageDocument {
  readonly _id: ObjectId;
  readonly session_id: string;
  /** The session it was first written to, if that is another one. */
  readonly origin?: string;
  readonly log: string;
  readonly seq: number;
  readonly id: string;
  /** int64, microseconds since 1970. */
  readonly timestamp: Long | number;
  readonly role: string;
  /** The text that `MessageBody` makes: `{"sizes": [...], "parts": [...], "metadata": {...}}`, in lines. */
  readonly body: string;
  /** The `remaining` of its entry: how many messages of its batch follow it; absent for 0. */
  readonly owed?: number;
  /** What `termsField` returns for it; absent if the process that stored it ran without `--search`. */
  readonly terms?: readonly string[];
  /** Words of an earlier rule, which nothing reads. */
  readonly words?: readonly string[];
  /** The attachments that the body names, each with the log of its pieces; absent when there are none. */
  readonly named?: readonly { readonly id: string; readonly log: string }[];
  /** The usage of the message, as `usageText` writes it; absent when it has none. */
  readonly usage?: string;
  /** The sums of usage of the log up to it, as `runningText` writes them; present where `usage` is. */
  readonly usage_sums?: string;
  readonly seal?: undefined;
}

/** Ends a log when it is right after the last message. */
export interface SealDocument {
  readonly _id: ObjectId;
  readonly log: string;
  readonly seq: number;
  /** Begins with a control character, which no client's id may contain. */
  readonly id: string;
  readonly seal: true;
}

export type LogDocument = MessageDocument | SealDocument;

export function toDocument(_id: ObjectId, log: string, seq: number, entry: Entry): MessageDocument {
  const { sessionId, originSessionId, remaining } = entry;
  return {
    _id,
    session_id: sessionId,
    ...(originSessionId === sessionId ? {} : { origin: originSessionId }),
    log,
    seq: int32(seq),
    id: entry.id,
    timestamp: int64(entry.timestampMicros),
    role: entry.role,
    body: entry.body.encode(),
    ...(remaining > 0 ? { owed: remaining } : {}),
    ...(entry.body.attachments.length > 0 ? { named: namedIn(entry) } : {}),
    ...(entry.usageSums && { usage: usageIn(entry), usage_sums: runningText(entry.usageSums) }),
  };
}

/** What the field `named` of a document holds. */
export function namedIn({ body }: Pick<Entry, "body">): NonNullable<MessageDocument["named"]> {
  return body.attachments.map(({ attachmentId, log }) => ({ id: attachmentId, log }));
}

/** What the field `usage` of a document holds. */
export function usageIn({ body }: Pick<Entry, "body">): string {
  return body.usageText ?? NOTHING_KNOWN;
}

export function isMessage(document: LogDocument | undefined): document is MessageDocument {
  return document !== undefined && !document.seal;
}

export function toEntry(document: MessageDocument): Entry {
  return {
    log: document.log,
    seq: document.seq,
    id: document.id,
    timestampMicros: Number(document.timestamp),
    role: document.role,
    body: MessageBody.stored(document.body),
    sessionId: document.session_id,
    originSessionId: document.origin ?? document.session_id,
    remaining: document.owed ?? 0,
  };
}

export function sealDocument(_id: ObjectId, log: string, seq: number): SealDocument {
  return { _id, log, seq: int32(seq), id: `\u0000seal ${_id.toHexString()}`, seal: true };
}

/** The greatest place of a log. */
export const MAX_SEQ = 2 ** 31 - 1;

/**
 * The driver writes such a number as int32. A unique index may also compare types, and then 1 and 1.0 would be two
 * places.
 */
function int32(seq: number): number {
  if (Number.isInteger(seq) && seq > 0 && seq <= MAX_SEQ) return seq;
  throw new DomainError("internal", `A log has no place ${seq}`);
}

/** Always the same BSON type, whatever the size, so that indexes compare times alike. */
export function int64(value: number): Long {
  return Long.fromNumber(value);
}
