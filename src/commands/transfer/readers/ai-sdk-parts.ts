import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { firstText, listAt, objectAt, rest, textAt } from "./fields.js";
import type { ForeignPart } from "./reader.js";

type Fields = Record<string, unknown>;

/** The parts of a UIMessage of version 5 or later; those of version 4, as version 5 has them. */
export function partsOf(message: Fields): ForeignPart[] {
  const files = listAt(message, "experimental_attachments").filter(isObject).map(attachmentOf);
  if (Array.isArray(message.parts)) return [...message.parts.filter(isObject).map(partOf), ...files];
  const reasoning = textAt(message, "reasoning");
  const content = textAt(message, "content");
  return [
    ...(reasoning === "" ? [] : [{ type: "reasoning", text: reasoning }]),
    ...listAt(message, "toolInvocations").filter(isObject).map(callOf),
    ...(content === "" ? [] : [{ type: "text", text: content }]),
    ...files,
  ];
}

function partOf(part: Fields): ForeignPart {
  const type = textAt(part, "type") || "part";
  if (type === "text") return { type, text: textAt(part, "text"), data: rest(part, "type", "text", "state") };
  if (type === "reasoning") return reasoningOf(part);
  if (type === "tool-invocation") return callOf(objectAt(part, "toolInvocation"));
  if (type === "source") return sourceOf(objectAt(part, "source"));
  if (type === "file" && part.url === undefined && typeof part.data === "string") return fileOf(part);
  const { type: _type, ...data } = part;
  return { type, data: data as JsonObject };
}

/** Version 4 has the text as `reasoning`, and its signatures and what is encrypted as `details`. */
function reasoningOf(part: Fields): ForeignPart {
  const data = rest(part, "type", "text", "state", "reasoning");
  return { type: "reasoning", text: firstText(part, "text", "reasoning"), data };
}

/** A call of version 4: `partial-call`, `call` or, with its result, `result`. */
function callOf(call: Fields): ForeignPart {
  const name = textAt(call, "toolName") || "tool";
  const isDone = call.state === "result" || "result" in call;
  const state = isDone ? "output-available" : call.state === "partial-call" ? "input-streaming" : "input-available";
  const input = call.args ?? {};
  const data = {
    ...rest(call, "toolName", "toolCallId", "state", "args", "result"),
    ...{ toolCallId: textAt(call, "toolCallId"), state, input, ...(isDone && { output: call.result ?? null }) },
  };
  return { type: `tool-${name}`, data: data as unknown as JsonObject };
}

function sourceOf(source: Fields): ForeignPart {
  const { id, sourceType: _sourceType, ...others } = source;
  return { type: "source-url", data: { ...others, sourceId: id ?? "" } as unknown as JsonObject };
}

function fileOf(part: Fields): ForeignPart {
  const mediaType = firstText(part, "mimeType", "mediaType");
  const others = rest(part, "type", "mimeType", "mediaType", "data");
  return { type: "file", data: { ...others, mediaType, url: `data:${mediaType};base64,${textAt(part, "data")}` } };
}

function attachmentOf(attachment: Fields): ForeignPart {
  const data = {
    ...rest(attachment, "contentType", "name", "url"),
    mediaType: textAt(attachment, "contentType"),
    filename: textAt(attachment, "name"),
    url: textAt(attachment, "url"),
  };
  return { type: "file", data };
}
