import type { JsonObject } from "@bufbuild/protobuf";
import type { UIMessage } from "ai";
import type { NewMessage, StoredMessage } from "../client/index.js";
import { fitted } from "./fitted.js";
import { fromStorable, toStorable, toStorableObject } from "./storable.js";

/** A part as the service keeps it. Its id is its place, so that a draft can name it. */
export interface StoredPart {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly data?: JsonObject | undefined;
}

const TYPES: ReadonlySet<string> = new Set([
  ...["text", "reasoning", "file", "source-url", "source-document", "step-start", "dynamic-tool"],
]);

/** The only field of metadata that the AI SDK gave as another value than an object. */
const VALUE = "$metadata";

/** Converts a message to one that the service takes, by the rules of `toStorable` and `fitted`. */
export function fromUIMessage({ id, role, metadata, parts }: UIMessage): NewMessage {
  const info = { id, role, ...unlessEmpty(fromUIMetadata(metadata)) };
  return fitted({ info, parts: parts.map((part, i) => wellFormed(fromUIPart(part, i))) });
}

/** Metadata may be any value; the service takes objects. */
export function fromUIMetadata(metadata: unknown): JsonObject {
  if (metadata === undefined) return {};
  const stored = toStorable(metadata);
  return typeof stored === "object" && stored !== null && !Array.isArray(stored) ? stored : { [VALUE]: stored };
}

function toUIMetadata(metadata: JsonObject | undefined): { readonly metadata?: unknown } {
  const kept = unlessEmpty(metadata);
  if (kept.metadata === undefined) return {};
  const { [VALUE]: value, ...others } = kept.metadata;
  return { metadata: fromStorable(value === undefined || Object.keys(others).length > 0 ? kept.metadata : value) };
}

/** A part with U+FFFD for each half of a character in its text, which may have been cut inside a character. */
export function wellFormed(part: StoredPart): StoredPart {
  return { ...part, text: part.text.toWellFormed() };
}

/**
 * Separates the text of a part from its other fields. The text stays as it is; whether it is still streaming is not
 * kept.
 */
export function fromUIPart(part: UIMessage["parts"][number], place: number): StoredPart {
  const { type, ...fields } = part as { type: string; text?: string; state?: string };
  const isText = type === "text" || type === "reasoning";
  const { text = "", state, ...others } = fields;
  const kept = isText ? others : fields;
  const data = toStorableObject(kept);
  return { id: `${place}`, type, text: isText ? text : "", ...(Object.keys(data).length > 0 && { data }) };
}

/**
 * Converts a message. TypeError: it has a role or a part that the AI SDK lacks, because another program has written it.
 */
export function toUIMessage<Message extends UIMessage>({ info, parts }: StoredMessage): Message {
  const { id = "", role = "", metadata } = info ?? {};
  if (role !== "user" && role !== "assistant" && role !== "system")
    throw new TypeError(`Message ${JSON.stringify(id)} has the role ${JSON.stringify(role)}, which the AI SDK lacks`);
  const uiParts = parts.map(({ type, text, data }) => {
    if (!TYPES.has(type) && !type.startsWith("tool-") && !type.startsWith("data-"))
      throw new TypeError(
        `Message ${JSON.stringify(id)} has a part of the type ${JSON.stringify(type)}, which the AI SDK lacks`,
      );
    return { type, ...(fromStorable(data) as object), ...((type === "text" || type === "reasoning") && { text }) };
  });
  return { id, role, ...toUIMetadata(metadata), parts: uiParts } as unknown as Message;
}

/** To the service, no metadata and empty metadata are the same. */
export function unlessEmpty(metadata: JsonObject | undefined): { readonly metadata?: JsonObject } {
  return metadata === undefined || Object.keys(metadata).length === 0 ? {} : { metadata };
}
