import type { MessageContent, PartAttachment } from "./chat-message.js";
import { type DomainError, invalidArgument } from "./errors.js";
import type { Limits } from "./limits.js";
import { checkBytes, checkOptionalId, checkText, hasControl } from "./validate.js";

/** The most bytes that are stored, read and sent at a time. */
export const PIECE_BYTES = 256 * 1024;

export const DEFAULT_MEDIA_TYPE = "application/octet-stream";

/** How many ids of messages a list tells of each attachment. */
export const LISTED_MESSAGES = 100;

/** Bytes that are stored beside the messages, without the bytes themselves. */
export interface Attachment {
  /** 1-128 bytes of UTF-8 without control characters, unique within the session. */
  readonly attachmentId: string;
  readonly mediaType: string;
  /** May be empty. */
  readonly name: string;
  /** Number of bytes. */
  readonly size: number;
  /** Of the bytes, in lower-case hexadecimal. */
  readonly sha256: string;
  /** Microseconds since 1970. */
  readonly createTimeMicros: number;
}

/** What is to be uploaded. */
export interface NewAttachment {
  /** A ULID is made when absent. */
  readonly attachmentId?: string | undefined;
  readonly mediaType?: string | undefined;
  readonly name?: string | undefined;
  /** Number of bytes, if known. */
  readonly size?: number | undefined;
  /** In hexadecimal, if known. */
  readonly sha256?: string | undefined;
}

/** Which bytes of an attachment to read: all when absent. */
export interface AttachmentRange {
  /** Number of bytes to skip, less than the size unless it is 0. */
  readonly offset?: number | undefined;
  /** The most bytes to read. */
  readonly length?: number | undefined;
}

/** An attachment and its bytes. */
export interface AttachmentContent {
  readonly attachment: Attachment;
  /** The bytes of the range, in pieces of at most PIECE_BYTES that nobody may change. May be read once. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** An attachment that a session shows. */
export interface ListedAttachment extends Attachment {
  /** Ids of messages and drafts that name it, at most LISTED_MESSAGES. */
  readonly messageIds: readonly string[];
}

/** A place in the list of the attachments that a session shows. Opaque above the provider. */
export interface AttachmentCursor {
  readonly sessionUid: string;
  readonly attachmentId: string;
}

export interface AttachmentPage {
  /** By id. */
  readonly attachments: readonly ListedAttachment[];
  /** Absent when nothing follows at present. */
  readonly next?: AttachmentCursor | undefined;
}

/** What an attachment and what a part or a repeated upload says of it have in common. */
type Facts = Pick<Attachment, "attachmentId" | "mediaType" | "name" | "size" | "sha256">;

/** What a part says of an attachment, once the service has filled it in. */
export function partOf({ attachmentId, mediaType, name, size, sha256 }: Facts): PartAttachment {
  return { attachmentId, mediaType, name, size, sha256 };
}

/** Whether two attachments have the same bytes, name and media type. */
export function isSameAttachment(a: Omit<Facts, "attachmentId">, b: Omit<Facts, "attachmentId">): boolean {
  return a.sha256 === b.sha256 && a.size === b.size && a.name === b.name && a.mediaType === b.mediaType;
}

/** The most bytes of a name and of a media type. */
export const MOST_TEXT_BYTES = 255;
/** A type and a subtype of RFC 9110, and whatever parameters. */
const MEDIA_TYPE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(\s*;.*)?$/;
const SHA256 = /^[0-9a-f]{64}$/i;

/** Checks what a caller says of an upload. */
export function checkNewAttachment(attachment: NewAttachment, limits: Limits): void {
  const { attachmentId, mediaType = "", name = "", size, sha256 = "" } = attachment;
  checkOptionalId("attachment_id", attachmentId, limits);
  for (const [field, text] of [
    ["name", name],
    ["media_type", mediaType],
  ] as const) {
    checkText(field, text);
    checkBytes(field, Buffer.byteLength(text), MOST_TEXT_BYTES);
    if (hasControl(text)) throw invalidArgument(`${field} must not contain control characters`);
  }
  if (mediaType !== "" && !MEDIA_TYPE.test(mediaType)) {
    throw invalidArgument(`media_type is ${JSON.stringify(mediaType)}; it must be a type such as "image/png"`);
  }
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 0)) {
    throw invalidArgument(`size is ${size}; it must be a whole number of at least 0`);
  }
  if (sha256 !== "" && !SHA256.test(sha256)) throw invalidArgument("sha256 must have 64 hexadecimal digits");
}

/** Throws `invalid_argument` unless what a caller says of an attachment is empty or right. */
export function checkFacts(given: PartAttachment, known: Facts): void {
  const { attachmentId } = known;
  for (const [field, name] of FACTS) {
    const value = given[field];
    if (value === "" || value === 0 || value === known[field]) continue;
    const is = JSON.stringify(known[field]);
    throw invalidArgument(
      `${name} of attachment ${JSON.stringify(attachmentId)} is ${is}, not ${JSON.stringify(value)}`,
    );
  }
}

/** The error of a part that names what its session does not have. */
export function namesNothing(attachmentId: string, sessionId: string): DomainError {
  const session = `session ${JSON.stringify(sessionId)}`;
  return invalidArgument(`attachment_id ${JSON.stringify(attachmentId)} names no attachment of ${session}`);
}

/** The error of messages to a session that is yet to be made, which has no attachment; absent if they name none. */
export function refusalInNewSession(
  messages: readonly Pick<MessageContent, "parts">[],
  sessionId: string,
): DomainError | undefined {
  for (const { parts } of messages) {
    for (const { attachment } of parts) if (attachment) return namesNothing(attachment.attachmentId, sessionId);
  }
  return undefined;
}

const FACTS = [
  ["mediaType", "media_type"],
  ["name", "name"],
  ["size", "size"],
  ["sha256", "sha256"],
] as const;
