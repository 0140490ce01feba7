import { create, equals, type JsonObject } from "@bufbuild/protobuf";
import type { UIMessage } from "ai";
import { MessageWithPartsSchema } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import type { NewMessage, StoredMessage } from "../index.js";
import { fitted } from "./fitted.js";
import { fromStorable, toStorable, toStorableObject } from "./storable.js";
import { withEndedCalls } from "./ui-calls.js";

/** A part as the service keeps it. Its id is its place, so that a draft can name it. */
export interface StoredPart {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly data?: JsonObject | undefined;
  readonly attachment?: { readonly attachmentId: string } | undefined;
}

type UIPart = UIMessage["parts"][number];
type Role = UIMessage["role"];

/** The only field of metadata that the AI SDK gave as another value than an object. */
const VALUE = "$metadata";
/** The type of a part of a draft that the AI SDK has dropped, because a draft cannot lose parts. */
export const DROPPED = "dropped";
const ROLES: Readonly<Record<string, Role>> = {
  ...{ user: "user", assistant: "assistant", system: "system", developer: "system" },
};
const CUT_FILE = /^parts\[(\d+)\]\.data\.url$/;

/** Converts a message to one that the service takes if it is not over a limit, by the rules of `toStorable`. */
export function fromUIMessage({ id, role, metadata, parts }: UIMessage): NewMessage {
  const info = { id, role, ...unlessEmpty(fromUIMetadata(metadata)) };
  return { info, parts: parts.map((part, i) => wellFormed(fromUIPart(part, i))) };
}

/** The message within the API's limits, by the rules of `fitted`. */
export function fittedUIMessage(message: NewMessage): NewMessage {
  return withoutCutFiles(fitted(message));
}

/** Metadata may be any value; the service takes objects. */
export function fromUIMetadata(metadata: unknown): JsonObject {
  if (metadata === undefined) return {};
  const stored = toStorable(metadata);
  return typeof stored === "object" && stored !== null && !Array.isArray(stored) ? stored : { [VALUE]: stored };
}

export function toUIMetadata(metadata: JsonObject | undefined): { readonly metadata?: unknown } {
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
export function fromUIPart(part: UIPart, place: number): StoredPart {
  const { type, ...fields } = part as { type: string; text?: string; state?: string };
  const isText = type === "text" || type === "reasoning";
  const { text = "", state, ...others } = fields;
  const data = toStorableObject(isText ? others : fields);
  return { id: `${place}`, type, text: isText ? `${text}` : "", ...(Object.keys(data).length > 0 && { data }) };
}

/** The beginning of a file is no file, so a text says which file was left out. */
function withoutCutFiles(message: NewMessage): NewMessage {
  const { truncated = [] } = (message.info?.metadata ?? {}) as { truncated?: readonly { path: string }[] };
  const parts = [...(message.parts ?? [])] as StoredPart[];
  for (const { path } of truncated) {
    const place = Number(CUT_FILE.exec(path)?.[1] ?? Number.NaN);
    const { id, data = {} } = parts[place] ?? {};
    if (id === undefined) continue;
    const name = data.filename === undefined ? "" : ` ${JSON.stringify(data.filename)}`;
    parts[place] = { id, type: "text", text: `[The file${name} of type ${data.mediaType} was too large to be stored]` };
  }
  return { ...message, parts } as NewMessage;
}

/**
 * Converts a message. Parts of any type come back as they were saved, those of other programs as far as the AI SDK can
 * pass over them. An erased message says so in a text. The tool calls of an interrupted message have ended.
 */
export function toUIMessage<Message extends UIMessage>({ info, parts }: StoredMessage): Message {
  const { id = "", role = "", metadata } = info ?? {};
  const kept = parts.filter(({ type }) => type !== DROPPED).map(toUIPart);
  const uiParts = metadata?.interrupted === true ? withEndedCalls(kept) : kept;
  return { id, role: ROLES[role] ?? "assistant", ...toUIMetadata(metadata), parts: uiParts } as unknown as Message;
}

function toUIPart({ type, text, data }: StoredPart): UIPart {
  if (type === "erased") return { type: "text", text: "[erased]" };
  const fields = fromStorable(data) as Record<string, unknown> | undefined;
  if (type === "text" || type === "reasoning") return { ...fields, type, text } as UIPart;
  const isKnown = isWhole(type, fields ?? {});
  const said = text === "" ? {} : { text };
  if (isKnown) return { ...said, ...fields, type } as UIPart;
  return { type: `data-${type}`, data: { ...said, ...fields } } as UIPart;
}

/** Whether the AI SDK can take a part for what its type says. Other programs use some of the types for other things. */
function isWhole(type: string, { toolCallId, toolName, state, url }: Readonly<Record<string, unknown>>): boolean {
  const isCall = typeof toolCallId === "string" && typeof state === "string";
  if (type === "dynamic-tool") return isCall && typeof toolName === "string";
  if (type.startsWith("tool-")) return isCall;
  return (type !== "file" && type !== "reasoning-file") || typeof url === "string";
}

/** Whether a message has the content that is stored, or as `toUIMessage` gives it. */
export function isSame(message: NewMessage, stored: NewMessage | StoredMessage): boolean {
  return (
    haveSameContent(message, stored) || haveSameContent(message, fromUIMessage(toUIMessage(stored as StoredMessage)))
  );
}

/** Whether role, metadata and parts are equal, whatever the order of keys. Of attachments, parts need only the ids. */
export function haveSameContent(one: NewMessage | StoredMessage, other: NewMessage | StoredMessage): boolean {
  const [a, b] = [one, other].map(({ info, parts }) => {
    const { id = "", role = "", metadata } = info ?? {};
    const named = (parts as readonly Partial<StoredMessage["parts"][number]>[] | undefined)?.map((part) =>
      part.attachment === undefined ? part : { ...part, attachment: { attachmentId: part.attachment.attachmentId } },
    );
    const content = { info: { id, role, ...unlessEmpty(metadata as JsonObject | undefined) }, parts: named };
    return create(MessageWithPartsSchema, content as object);
  });
  return a !== undefined && b !== undefined && equals(MessageWithPartsSchema, a, b);
}

/** To the service, no metadata and empty metadata are the same. */
export function unlessEmpty(metadata: JsonObject | undefined): { readonly metadata?: JsonObject } {
  return metadata === undefined || Object.keys(metadata).length === 0 ? {} : { metadata };
}
