import type { NewChatMessage, Part, PartAttachment } from "./chat-message.js";
import type { JsonObject, JsonValue } from "./json.js";
import type { Usage } from "./usage.js";
import { hasUsage } from "./usage-text.js";

/** Fields of a message that only occur in answers. */
export interface OutputFields {
  readonly sessionId: string;
  readonly position?: number | undefined;
  readonly originSessionId?: string | undefined;
}

/** The exact number of bytes that parts, metadata and usage add to a message as protobuf. */
export interface BodySizes {
  /** All parts, which are fields of `MessageWithParts`. */
  readonly parts: number;
  /** The metadata, which is a field of `MessageInfo`; 0 when there is none. */
  readonly metadata: number;
  /** The usage, which is a field of `MessageInfo`, too; 0 when there is none. */
  readonly usage: number;
}

/**
 * The exact size in bytes of a message as protobuf (`MessageWithParts`): as in a request without `output`, as in an
 * answer with it. A caller that knows the sizes of the body passes them.
 */
export function messageSize(
  message: NewChatMessage,
  output?: OutputFields,
  sizes: BodySizes = bodySizes(message),
): number {
  return embeddedSize(infoSize(message, sizes, output)) + sizes.parts;
}

export function bodySizes({ parts, metadata, usage }: Pick<NewChatMessage, "parts" | "metadata" | "usage">): BodySizes {
  let size = 0;
  for (const part of parts) size += embeddedSize(partSize(part));
  return {
    parts: size,
    metadata: metadata === undefined ? 0 : embeddedSize(structSize(metadata)),
    usage: usageFieldSize(usage),
  };
}

/** Bytes that a usage takes in the message around it as protobuf; one that says nothing is left out. */
export function usageFieldSize(usage: Usage | undefined): number {
  if (!hasUsage(usage)) return 0;
  const { model, provider, cost, currency, startTimeMicros, firstTokenTimeMicros, durationMicros } = usage;
  let size = textSize(model) + textSize(provider) + textSize(cost) + textSize(currency);
  for (const tokens of [usage.inputTokens, usage.outputTokens, usage.cachedInputTokens, usage.reasoningTokens]) {
    if (tokens !== undefined) size += 1 + varintSize(tokens);
  }
  // A Duration has the same fields as a Timestamp.
  for (const micros of [startTimeMicros, firstTokenTimeMicros, durationMicros]) {
    if (micros !== undefined) size += embeddedSize(timestampSize(micros));
  }
  return embeddedSize(size);
}

/** The exact size in bytes of a Struct as protobuf. */
export function structSize(struct: JsonObject): number {
  let size = 0;
  for (const key of Object.keys(struct)) {
    const value = struct[key] as JsonValue;
    size += embeddedSize(embeddedSize(Buffer.byteLength(key)) + embeddedSize(valueSize(value)));
  }
  return size;
}

/**
 * Bytes that a field of `size` bytes takes in the message around it. All our field numbers are below 16, so a tag is
 * one byte.
 */
export function embeddedSize(size: number): number {
  return 1 + varintSize(size) + size;
}

function infoSize(message: NewChatMessage, sizes: BodySizes, output: OutputFields | undefined): number {
  let size = textSize(message.id) + textSize(message.role) + sizes.metadata + sizes.usage;
  if (message.timestampMicros !== undefined) size += embeddedSize(timestampSize(message.timestampMicros));
  if (output === undefined) return size;
  size += textSize(output.sessionId) + textSize(output.originSessionId);
  return output.position === undefined ? size : size + 1 + varintSize(output.position);
}

function partSize(part: Part): number {
  return partSizeWithoutText(part) + textSize(part.text);
}

/** Bytes of a part as protobuf, not counting its text. */
export function partSizeWithoutText(part: Part): number {
  const size = textSize(part.id) + textSize(part.type);
  const withData = part.data === undefined ? size : size + embeddedSize(structSize(part.data));
  return part.attachment === undefined ? withData : withData + embeddedSize(attachmentSize(part.attachment));
}

function attachmentSize({ attachmentId, mediaType, name, size, sha256, missing }: PartAttachment): number {
  const texts = textSize(attachmentId) + textSize(mediaType) + textSize(name) + textSize(sha256);
  return texts + (size === 0 ? 0 : 1 + varintSize(size)) + (missing ? 2 : 0);
}

/** Bytes that a text of this length takes in the message around it; an empty text is left out. */
export function textFieldSize(bytes: number): number {
  return bytes === 0 ? 0 : embeddedSize(bytes);
}

function timestampSize(micros: number): number {
  const seconds = Math.floor(micros / 1e6);
  const nanos = (micros - seconds * 1e6) * 1000;
  return (seconds === 0 ? 0 : 1 + varintSize(seconds)) + (nanos === 0 ? 0 : 1 + varintSize(nanos));
}

/** Bytes of a text field, which is left out when it is empty. */
function textSize(text: string | undefined): number {
  return text ? textFieldSize(Buffer.byteLength(text)) : 0;
}

/** Bytes of a Value. Its kind is a oneof, so zero values are written too. */
function valueSize(value: JsonValue): number {
  switch (typeof value) {
    case "boolean":
      return 2;
    case "number":
      return 9;
    case "string":
      return embeddedSize(Buffer.byteLength(value));
  }
  if (value === null) return 2;
  return embeddedSize(isList(value) ? listSize(value) : structSize(value));
}

function listSize(list: readonly JsonValue[]): number {
  let size = 0;
  for (const item of list) size += embeddedSize(valueSize(item));
  return size;
}

/** A negative number is written as 64 bits, which takes ten bytes. */
function varintSize(value: number): number {
  if (value < 0) return 10;
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
  return size;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
