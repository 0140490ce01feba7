import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { listAt, objectAt, textAt, without } from "./fields.js";
import type { ForeignPart } from "./reader.js";

/** Fields that have the text of a content whose type is not known, the first one that is there. */
const TEXT_FIELDS = ["text", "content", "result", "summary"];

type ReadContent = (content: JsonObject, message: Message) => readonly ForeignPart[];

interface Message {
  readonly id: string;
  /** The tool that wrote it; empty when none did. */
  readonly author: string;
  /** The tool that it is for; empty when it is for the reader. */
  readonly recipient: string;
  /** The call to which it answers; empty when there is none. */
  readonly callId: string;
  readonly onMend: (kind: string) => void;
}

/** How to read the types of content that are more than a text. */
const TABLE: ReadonlyMap<string, ReadContent> = new Map<string, ReadContent>([
  ["text", (content, message) => listOfParts(content, message)],
  ["multimodal_text", (content, message) => listOfParts(content, message)],
  ["thoughts", thoughts],
  ["reasoning_recap", (content) => [{ type: "reasoning", text: textAt(content, "content") }]],
  ["user_editable_context", (content) => joined(content, "user_profile", "user_instructions")],
  ["model_editable_context", (content) => joined(content, "model_set_context")],
  ["execution_output", (content, { callId, author }) => [result(textAt(content, "text"), callId, author)]],
  ["tether_quote", (content) => joined(content, "title", "url", "text")],
  ["tether_browsing_display", (content) => joined(content, "summary", "result")],
  ["system_error", (content) => [{ type: "error", text: textAt(content, "text"), data: rest(content, "text") }]],
]);

/**
 * The parts of a message: what can be read is the text of a part, calls of tools and their results are such parts, and
 * files are parts with data. Empty texts, of which hidden messages consist, are left out.
 */
export function partsOf(
  message: Record<string, unknown>,
  callId: string,
  onMend: (kind: string) => void,
): ForeignPart[] {
  const content = contentOf(message);
  const to = textAt(message, "recipient");
  const named = {
    id: textAt(message, "id"),
    author: textAt(message.author, "name"),
    recipient: to === "all" ? "" : to,
    callId,
    onMend,
  };
  const type = textAt(content, "content_type");
  const parts = (TABLE.get(type) ?? other)(content, named).filter(
    ({ text = "", data }) => text !== "" || (data !== undefined && Object.keys(data).length > 0),
  );
  return named.recipient !== "" && textAt(message.author, "role") === "assistant" ? asCall(parts, named) : [...parts];
}

/** Some tools save a content as its text alone, or with one text in place of the list. */
function contentOf(message: Record<string, unknown>): JsonObject {
  if (typeof message.content === "string") return { parts: [message.content], content_type: "text" };
  const content = objectAt(message, "content");
  return typeof content.parts === "string" ? { ...content, parts: [content.parts] } : content;
}

/** What the assistant writes to a tool is a call of it. */
function asCall(parts: readonly ForeignPart[], { id, recipient }: Message): ForeignPart[] {
  return parts.map((part): ForeignPart => {
    if (part.type !== "text" || !part.text) return part;
    return { type: "tool_call", text: recipient, data: { ...part.data, id, name: recipient, arguments: part.text } };
  });
}

function result(text: string, callId: string, name: string): ForeignPart {
  return { type: "tool_result", text, data: { ...(callId && { call_id: callId }), ...(name && { name }) } };
}

function listOfParts(content: JsonObject, { onMend }: Message): ForeignPart[] {
  const parts = listAt(content, "parts");
  const more = rest(content, "parts");
  const read = parts.flatMap((part): ForeignPart[] => {
    if (typeof part === "string") return [{ type: "text", text: part }];
    if (isObject(part)) return [pointerOrText(part as JsonObject)];
    onMend(
      part === null ? "parts that are null, which were passed over" : "parts that are not texts, which are texts now",
    );
    return part === null || part === undefined ? [] : [{ type: "text", text: JSON.stringify(part) }];
  });
  const [first, ...others] = read;
  if (Object.keys(more).length === 0) return read;
  return first ? [{ ...first, data: { ...first.data, ...more } }, ...others] : other(content);
}

/** A picture, a sound or another file, or a piece of text such as a transcript. */
function pointerOrText(part: JsonObject): ForeignPart {
  const type = textAt(part, "content_type");
  const text = textAt(part, "text");
  if (text !== "") return { type: "text", text, data: without(part, "text") };
  const inner = ["audio_asset_pointer", "video_container_asset_pointer"].map((key) => objectAt(part, key));
  const pointer = textAt(part, "asset_pointer") || inner.map((one) => textAt(one, "asset_pointer")).find(Boolean);
  if (pointer || type.endsWith("asset_pointer")) {
    return { type: "file", data: { ...without(part), ...(pointer && { asset_pointer: pointer }) } };
  }
  return { type: type || "unknown", data: without(part, "content_type") };
}

function thoughts(content: JsonObject): ForeignPart[] {
  const texts = listAt(content, "thoughts").map((thought) =>
    [textAt(thought, "summary"), textAt(thought, "content")].filter(Boolean).join("\n"),
  );
  const text = texts.filter(Boolean).join("\n\n");
  return text === "" ? [] : [{ type: "reasoning", text, data: rest(content, "thoughts") }];
}

/** The texts of these fields, as one part. */
function joined(content: JsonObject, ...keys: readonly string[]): ForeignPart[] {
  const text = keys.map((key) => textAt(content, key)).filter(Boolean);
  return text.length === 0
    ? other(content)
    : [{ type: "text", text: text.join("\n"), data: without(content, ...keys) }];
}

/** A content of any other type: its text, with the rest as data. */
function other(content: JsonObject): ForeignPart[] {
  const type = textAt(content, "content_type");
  const key = TEXT_FIELDS.find((field) => textAt(content, field) !== "");
  if (key !== undefined) return [{ type: "text", text: textAt(content, key), data: without(content, key) }];
  const data = without(content, "content_type", "parts", ...TEXT_FIELDS.filter((field) => content[field] === ""));
  return [{ type: type || "unknown", data }];
}

/** The other fields of a content. */
function rest(content: JsonObject, ...keys: readonly string[]): JsonObject {
  return without(content, "content_type", ...keys);
}
