import type { MessageChange, NewChatMessage, Part, PartAttachment } from "./chat-message.js";
import type { DraftDelta } from "./draft.js";
import { invalidArgument } from "./errors.js";
import type { Limits } from "./limits.js";
import { embeddedSize, messageSize } from "./message-size.js";
import { checkBytes, checkId, checkIsList, checkIsObject, checkOptionalId, checkText } from "./validate.js";
import { checkMetadata, checkStruct } from "./validate-struct.js";
import { checkUsage } from "./validate-usage.js";

/**
 * Checks the messages of one call: each by itself, then their number, their total size, and that no id occurs twice.
 */
export function checkNewMessages(messages: readonly NewChatMessage[], limits: Limits): void {
  checkIsList("messages", messages);
  checkCount(messages, limits);
  let bytes = 0;
  for (const [i, message] of messages.entries()) {
    const size = checkNewMessage(messages.length === 1 ? "message" : `messages[${i}]`, message, limits);
    bytes += embeddedSize(size);
  }
  if (messages.length === 1) return;
  checkBytes("messages", bytes, limits.batchBytes);
  checkIdsDiffer(messages);
}

function checkCount(messages: readonly NewChatMessage[], limits: Limits): void {
  if (messages.length === 0) throw invalidArgument("messages is empty; at least 1 message is required");
  if (messages.length > limits.batchMessages) {
    throw invalidArgument(`messages holds ${messages.length} messages; at most ${limits.batchMessages} are allowed`);
  }
}

/** Checks the new content of a message as far as it is given. The provider checks the size of the whole message. */
export function checkMessageChange(change: MessageChange, limits: Limits): void {
  checkIsObject("message", change);
  checkContent("message", change, limits);
  const { role = "x", parts = [], metadata, usage } = change;
  checkBytes("message", messageSize({ role, parts, metadata, usage }), limits.messageBytes);
}

/** Checks that deltas for a draft are well-formed. */
export function checkDeltas(deltas: readonly DraftDelta[], limits: Limits): void {
  checkIsList("deltas", deltas);
  for (const [i, delta] of deltas.entries()) {
    checkIsObject(`deltas[${i}]`, delta);
    if (delta.kind === "put_part") {
      checkPart(`deltas[${i}].put_part.part`, delta.part, limits);
    } else {
      checkText(`deltas[${i}].append_text.part_id`, delta.partId);
      checkText(`deltas[${i}].append_text.text`, delta.text);
    }
  }
}

/** Checks a message; returns its size as protobuf. */
function checkNewMessage(field: string, message: NewChatMessage, limits: Limits): number {
  checkIsObject(field, message);
  checkOptionalId(`${field}.info.id`, message.id, limits);
  checkText(`${field}.info.role`, message.role);
  checkIsList(`${field}.parts`, message.parts);
  checkContent(field, message, limits);
  const size = messageSize(message);
  checkBytes(field, size, limits.messageBytes);
  return size;
}

function checkContent(field: string, change: MessageChange, limits: Limits): void {
  const { role, parts, metadata, timestampMicros } = change;
  if (role !== undefined) checkText(`${field}.info.role`, role);
  if (role === "") throw invalidArgument(`${field}.info.role is required`);
  checkTimestamp(`${field}.info.timestamp`, timestampMicros);
  checkMetadata(`${field}.info.metadata`, metadata, limits);
  checkUsage(`${field}.info.usage`, change.usage);
  if (parts === undefined) return;
  checkIsList(`${field}.parts`, parts);
  checkPartCount(`${field}.parts`, parts, limits);
  for (const [i, part] of parts.entries()) checkPart(`${field}.parts[${i}]`, part, limits);
  const attached = parts.filter(({ attachment }) => attachment !== undefined).length;
  if (attached <= limits.messageAttachments) return;
  throw invalidArgument(
    `${field}.parts names ${attached} attachments; at most ${limits.messageAttachments} are allowed (--limit-message-attachments)`,
  );
}

function checkPartCount(field: string, { length }: readonly Part[], limits: Limits): void {
  if (length <= limits.parts) return;
  throw invalidArgument(`${field} holds ${length} parts; at most ${limits.parts} are allowed`);
}

function checkTimestamp(field: string, micros: number | undefined): void {
  if (micros === undefined || Number.isSafeInteger(micros)) return;
  throw invalidArgument(`${field} is out of range: a whole number of microseconds up to 2^53 is allowed`);
}

function checkPart(field: string, part: Part, limits: Limits): void {
  checkIsObject(field, part);
  checkText(`${field}.id`, part.id);
  checkText(`${field}.type`, part.type);
  if (part.type === "") throw invalidArgument(`${field}.type is required`);
  checkText(`${field}.text`, part.text);
  checkStruct(`${field}.data`, part.data, limits);
  if (part.attachment !== undefined) checkAttachment(`${field}.attachment`, part.attachment, limits);
}

function checkAttachment(field: string, attachment: PartAttachment, limits: Limits): void {
  checkIsObject(field, attachment);
  const { attachmentId, mediaType, name, size, sha256 } = attachment;
  checkId(`${field}.attachment_id`, attachmentId, limits);
  checkText(`${field}.media_type`, mediaType);
  checkText(`${field}.name`, name);
  checkText(`${field}.sha256`, sha256);
  if (Number.isSafeInteger(size) && size >= 0) return;
  throw invalidArgument(`${field}.size is ${size}; it must be a whole number of at least 0`);
}

/** Throws `invalid_argument` if two messages have the same id. Those without one will get different ids. */
export function checkIdsDiffer(messages: readonly Pick<NewChatMessage, "id">[]): void {
  if (messages.length === 1) return;
  const seen = new Set<string>();
  for (const { id } of messages) {
    if (!id) continue;
    if (seen.has(id)) throw invalidArgument(`messages holds the id ${JSON.stringify(id)} twice`);
    seen.add(id);
  }
}
