import type { Recognise } from "./common.js";
import { objectAt, outputOf, textAt, valueAt } from "./fields.js";
import type { JsonObject } from "./part.js";
import type { PartView } from "./part-view.js";

/** Content blocks of Anthropic's Messages API. `tool_result` and `image` are among the common ones. */
export const ANTHROPIC: Readonly<Record<string, Recognise>> = {
  tool_use: ({ data }) => useOf(data),
  server_tool_use: ({ data }) => useOf(data),
  mcp_tool_use: ({ data }) => useOf(data),
  mcp_tool_result: ({ text, data }) => resultOf(text, data),
  web_search_tool_result: ({ text, data }) => resultOf(text, data),
  web_fetch_tool_result: ({ text, data }) => resultOf(text, data),
  code_execution_tool_result: ({ text, data }) => resultOf(text, data),
  bash_code_execution_tool_result: ({ text, data }) => resultOf(text, data),
  text_editor_code_execution_tool_result: ({ text, data }) => resultOf(text, data),
  thinking: ({ text, data }) => ({ kind: "reasoning", text: textAt(data, "thinking") || text }),
  redacted_thinking: () => ({ kind: "reasoning", text: "(encrypted)" }),
  document: ({ data }) => ({
    kind: "file",
    name: textAt(data, "title") || "document",
    mediaType: textAt(objectAt(data, "source"), "media_type"),
    detail: textAt(objectAt(data, "source"), "url"),
  }),
};

function useOf(data: JsonObject): PartView {
  const name = [textAt(data, "server_name"), textAt(data, "name")].filter(Boolean).join(".");
  return { kind: "call", callId: textAt(data, "id"), name: name || "tool", args: valueAt(data, "input") };
}

function resultOf(text: string, data: JsonObject): PartView {
  const content = valueAt(data, "content");
  const failed = textAt(objectAt(data, "content"), "type").endsWith("_error");
  return {
    kind: "result",
    callId: textAt(data, "tool_use_id"),
    name: "",
    isError: data.is_error === true || failed,
    output: outputOf(text || content),
  };
}
