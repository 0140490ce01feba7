import {
  type Fields,
  imageOf,
  imageOfBlock,
  imageOfBytes,
  objectAt,
  outputOf,
  parsed,
  textAt,
  valueAt,
} from "./fields.js";
import type { PartView } from "./part-view.js";

export type Recognise = (fields: Fields) => PartView | readonly PartView[] | undefined;

/** Types that several formats share, and those that this service's own documents use. */
export const COMMON: Readonly<Record<string, Recognise>> = {
  text: ({ text }) => ({ kind: "text", text }),
  reasoning: ({ text, data }) => ({ kind: "reasoning", text: text || textAt(data, "reasoning") || summaryOf(data) }),
  error: ({ text, data }) => ({
    kind: "error",
    text: text || textAt(data, "message", "error") || JSON.stringify(data),
  }),
  erased: () => ({ kind: "erased" }),
  tool_call: ({ text, data }) => {
    const callId = textAt(data, "call_id", "callId", "tool_call_id", "toolCallId", "id");
    const name =
      text || textAt(data, "name", "tool", "tool_name", "toolName") || textAt(objectAt(data, "function"), "name");
    const given = valueAt(data, "arguments", "args", "input") ?? objectAt(data, "function").arguments;
    return { kind: "call", callId, name: name || "tool", args: parsed(given ?? data) };
  },
  tool_result: ({ text, data }) => {
    const error = valueAt(data, "error");
    const isError = data.is_error === true || data.isError === true || data.ok === false || Boolean(error);
    const rest = valueAt(data, "content", "output", "result") ?? error;
    const exitCode = valueAt(data, "exit_code", "exitCode");
    return {
      kind: "result",
      callId: textAt(data, "tool_use_id", "call_id", "callId", "tool_call_id", "toolCallId", "id"),
      name: textAt(data, "name", "tool", "tool_name", "toolName"),
      isError: isError || (typeof exitCode === "number" && exitCode !== 0),
      output: text ? outputOf(text) : outputOf(rest ?? data),
    };
  },
  image: ({ type, text, data }) =>
    imageOfBlock({ ...data, type }) ?? imageOf(text || textAt(data, "url"), textAt(data, "mime", "media_type")),
  file: ({ text, data }) => {
    const inner = { ...objectAt(data, "file"), ...data };
    const mediaType = textAt(inner, "mime", "mimeType", "mediaType", "media_type");
    const name = textAt(inner, "filename", "name", "title");
    const address = textAt(inner, "url", "file_url", "file_data");
    const bytes = textAt(inner, "data");
    if (mediaType.startsWith("image/") && (address || bytes)) {
      return address ? imageOf(address, mediaType, name) : imageOfBytes(bytes, mediaType, name);
    }
    const place = address.startsWith("data:") ? sizeOf(address) : address;
    return { kind: "file", name: name || "file", mediaType, detail: place || sizeOf(bytes) || text };
  },
};

function summaryOf(data: Fields["data"]): string {
  const blocks = valueAt(data, "summary", "content");
  return Array.isArray(blocks) ? (outputOf(blocks).text ?? "") : "";
}

/** Base64 writes three bytes as four characters. */
function sizeOf(base64: string): string {
  return base64 === "" ? "" : `${Math.max(1, Math.round((base64.length * 0.75) / 1024))} KB`;
}
