import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import type {
  MessageWithParts,
  MessageWithPartsSchema,
  Part,
  PartSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { asList, asObject, badParameter } from "./read.js";

/** The roles that OpenAI's messages can have; any other is returned as `unknown`. */
const ROLES = ["user", "assistant", "system", "developer", "tool", "critic", "discriminator", "unknown"];
/** Kinds of content whose text is kept as the text of a part, where every client of the session can read it. */
const TEXTS = ["input_text", "output_text", "text"];
/** The metadata key under which fields are kept that only OpenAI's clients ask for. */
const KEPT = "openai";

/**
 * The message that stores an item. A message item becomes parts of type `text`, which every client of the session can
 * read. Other content, and any other item such as a function call, becomes a part that holds its JSON unchanged.
 */
export function toMessage(value: unknown, param: string): MessageInitShape<typeof MessageWithPartsSchema> {
  const { id, type = "message", ...rest } = asObject(value, param);
  if (typeof type !== "string" || type === "") throw badParameter(`${param}.type`, "expected a text");
  if (type === "item_reference")
    throw badParameter(`${param}.type`, "this server cannot refer to items; send the item");
  if (id !== undefined && id !== null && typeof id !== "string") throw badParameter(`${param}.id`, "expected a text");
  const info = { id: id ?? "" };
  if (type === "message") return toMessageOfText(rest, info.id, param);
  const role = type.endsWith("_output") ? "tool" : "assistant";
  return { info: { ...info, role, metadata: { [KEPT]: { type } } }, parts: [{ type, data: rest }] };
}

function toMessageOfText(item: JsonObject, id: string, param: string): MessageInitShape<typeof MessageWithPartsSchema> {
  const { role, content, status = "completed", ...rest } = item;
  if (typeof role !== "string" || !ROLES.includes(role))
    throw badParameter(`${param}.role`, `expected one of ${ROLES.join(", ")}`);
  const pieces = typeof content === "string" ? [content] : asList(content, `${param}.content`);
  const kept = { ...(status === "completed" ? {} : { status }), ...rest };
  return {
    info: { id, role, ...(Object.keys(kept).length > 0 && { metadata: { [KEPT]: kept } }) },
    parts: pieces.map((piece, i) => toPart(piece, role, `${param}.content[${i}]`)),
  };
}

function toPart(piece: JsonValue, role: string, param: string): MessageInitShape<typeof PartSchema> {
  if (typeof piece === "string") return { type: "text", text: piece };
  const members = asObject(piece, param);
  const { type } = members;
  if (typeof type !== "string" || type === "") throw badParameter(`${param}.type`, "expected a text");
  if (typeof members.text !== "string" || !TEXTS.includes(type)) return { type, data: members };
  const { text, ...rest } = members;
  const isUsual = JSON.stringify(rest) === JSON.stringify({ type: textType(role) }) || isPlainOutput(rest, role);
  return { type: "text", text, ...(!isUsual && { data: rest }) };
}

/**
 * Whether the other fields of an output text only have the values that OpenAI's models send when there is nothing to
 * say.
 */
function isPlainOutput({ type, annotations, logprobs, ...rest }: JsonObject, role: string): boolean {
  const areEmpty = [annotations, logprobs].every(
    (list) => list === undefined || (Array.isArray(list) && list.length === 0),
  );
  return type === "output_text" && role === "assistant" && areEmpty && Object.keys(rest).length === 0;
}

/** The item for a message, even if another API has written the message. */
export function toItem({ info, parts }: MessageWithParts): JsonObject {
  const { id = "", role = "", metadata } = info ?? {};
  const kept = metadata?.[KEPT];
  const { type, ...rest } = typeof kept === "object" && kept !== null && !Array.isArray(kept) ? kept : {};
  if (typeof type === "string" && type !== "message") return { ...parts[0]?.data, type, id };
  const shownRole = ROLES.includes(role) ? role : "unknown";
  const content = parts.map((part) => toPiece(part, role));
  return { status: "completed", ...rest, id, type: "message", role: shownRole, content };
}

function toPiece({ type, text, data }: Part, role: string): JsonObject {
  if (type === "text") return { ...plainText(role), ...data, text };
  // A part that no client of OpenAI has written, for example a tool call of another API.
  if (data?.type !== type) return { type: "text", text: text || JSON.stringify({ type, ...data }) };
  return data;
}

function plainText(role: string): JsonObject {
  return role === "assistant" ? { type: "output_text", annotations: [], logprobs: [] } : { type: textType(role) };
}

function textType(role: string): string {
  return role === "assistant" ? "output_text" : "input_text";
}
