import type { JsonObject, JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import type {
  MessageWithParts,
  MessageWithPartsSchema,
  Part,
  PartSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import type { ExactObject, ExactValue } from "../../codec/exact-json.js";
import { withoutList } from "./attached.js";
import { asList, asObject, badParameter } from "./read.js";
import { fromStored, toStored } from "./stored-values.js";

/** The roles that OpenAI's messages can have; any other is returned as `unknown`. */
const ROLES = ["user", "assistant", "system", "developer", "tool", "critic", "discriminator", "unknown"];
/** Kinds of content whose text is kept as the text of a part, where every client of the session can read it. */
const TEXTS = ["input_text", "output_text", "text"];
/** The metadata key under which fields are kept that only OpenAI's clients ask for. */
const KEPT = "openai";
/** The metadata key of a message that holds an item as a whole, as the adapter for Python keeps unusual ones. */
const WHOLE = "openai_item";
/** Stands for the content of an erased message. */
const ERASED = "[erased]";

/**
 * The message that stores an item. A message item becomes parts of type `text`, which every client of the session can
 * read. Other content, and any other item such as a function call, becomes a part that holds its JSON unchanged.
 */
export function toMessage(value: ExactValue, param: string): MessageInitShape<typeof MessageWithPartsSchema> {
  const { id, type = "message", ...rest } = asObject(value, param);
  if (typeof type !== "string" || type === "") throw badParameter(`${param}.type`, "expected a text");
  if (type === "item_reference")
    throw badParameter(`${param}.type`, "this server cannot refer to items; send the item");
  if (id !== undefined && id !== null && typeof id !== "string") throw badParameter(`${param}.id`, "expected a text");
  const info = { id: id ?? "" };
  if (type === "message") return toMessageOfText(rest, info.id, param);
  const role = type.endsWith("_output") ? "tool" : "assistant";
  return {
    info: { ...info, role, metadata: { [KEPT]: { type } } },
    parts: [{ type, data: withoutList(toStored(rest)) }],
  };
}

function toMessageOfText(
  item: ExactObject,
  id: string,
  param: string,
): MessageInitShape<typeof MessageWithPartsSchema> {
  const { role, content, status = "completed", ...rest } = item;
  if (typeof role !== "string" || !ROLES.includes(role))
    throw badParameter(`${param}.role`, `expected one of ${ROLES.join(", ")}`);
  const pieces = typeof content === "string" ? [content] : asList(content, `${param}.content`);
  const kept = { ...(status === "completed" ? {} : { status }), ...rest };
  return {
    info: { id, role, ...(Object.keys(kept).length > 0 && { metadata: { [KEPT]: toStored(kept, 1) } }) },
    parts: pieces.map((piece, i) => toPart(piece, role, `${param}.content[${i}]`)),
  };
}

function toPart(piece: ExactValue, role: string, param: string): MessageInitShape<typeof PartSchema> {
  if (typeof piece === "string") return { type: "text", text: piece };
  const members = asObject(piece, param);
  const { type } = members;
  if (typeof type !== "string" || type === "") throw badParameter(`${param}.type`, "expected a text");
  if (typeof members.text !== "string" || !TEXTS.includes(type)) return { type, data: withoutList(toStored(members)) };
  const { text, ...rest } = members;
  const isUsual = JSON.stringify(rest) === JSON.stringify({ type: textType(role) }) || isPlainOutput(rest, role);
  return { type: "text", text, ...(!isUsual && { data: withoutList(toStored(rest)) }) };
}

/**
 * Whether the other fields of an output text only have the values that OpenAI's models send when there is nothing to
 * say.
 */
function isPlainOutput({ type, annotations, logprobs, ...rest }: ExactObject, role: string): boolean {
  const areEmpty = [annotations, logprobs].every(
    (list) => list === undefined || (Array.isArray(list) && list.length === 0),
  );
  return type === "output_text" && role === "assistant" && areEmpty && Object.keys(rest).length === 0;
}

/**
 * The item for a message, even if another API has written the message. An erased message is a message of its role that
 * says so.
 */
export function toItem({ info, parts }: MessageWithParts): ExactObject {
  const { id = "", role = "", metadata } = info ?? {};
  if (parts.some(({ type, data }) => type === "erased" && data === undefined)) return erasedItem(id, role);
  const kept = metadata?.[KEPT];
  const { type, ...rest } = isObject(kept) ? fromStored(kept) : {};
  // Until the mark had a key of its own, it was the form.
  const isWhole = metadata?.[WHOLE] === true || rest.form === "json";
  const whole = isWhole ? parts.find((part) => part.type === "item") : undefined;
  if (whole !== undefined) return { ...fromStored(whole.data), id };
  if (typeof type === "string" && type !== "message") {
    const part = parts.find((one) => one.type === type) ?? parts[0];
    return { ...fromStored(part?.data), type, id };
  }
  const shownRole = ROLES.includes(role) ? role : "unknown";
  const content = parts.map((part) => toPiece(part, role));
  return { status: "completed", ...rest, id, type: "message", role: shownRole, content };
}

function erasedItem(id: string, role: string): ExactObject {
  const shownRole = ["user", "system", "developer"].includes(role) ? role : "assistant";
  const content = [{ ...plainText(shownRole), text: ERASED }];
  return { id, type: "message", role: shownRole, status: "completed", content };
}

function toPiece({ type, text, data, attachment }: Part, role: string): ExactObject {
  const fields = fromStored(data);
  if (type === "text") return { ...plainText(role), ...fields, text };
  if (fields.type === type) return fields;
  // A part that no client of OpenAI has written, for example a tool call of another API.
  if (attachment !== undefined && text === "") return toFile(attachment);
  return { type: "text", text: text || JSON.stringify({ type, ...data }) };
}

/** The id is that of the attachment in its session, as file ids are those of OpenAI's files. */
function toFile({ attachmentId, mediaType, name }: NonNullable<Part["attachment"]>): ExactObject {
  if (mediaType.startsWith("image/")) return { type: "input_image", detail: "auto", file_id: attachmentId };
  return { type: "input_file", file_id: attachmentId, ...(name !== "" && { filename: name }) };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function plainText(role: string): ExactObject {
  return role === "assistant" ? { type: "output_text", annotations: [], logprobs: [] } : { type: textType(role) };
}

function textType(role: string): string {
  return role === "assistant" ? "output_text" : "input_text";
}
