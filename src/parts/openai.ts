import type { Recognise } from "./common.js";
import { imageOfBlock, imageOfBytes, isObject, objectAt, outputOf, parsed, textAt, valueAt } from "./fields.js";
import type { Json, JsonObject } from "./part.js";
import type { CallStatus, CallView, PartView } from "./part-view.js";

const STATUS: ReadonlyMap<string, CallStatus> = new Map(
  Object.entries<CallStatus>({ in_progress: "running", incomplete: "failed", failed: "failed" }),
);

/** Content parts of Chat Completions, and items of the Responses API. */
export const OPENAI: Readonly<Record<string, Recognise>> = {
  input_text: ({ text }) => ({ kind: "text", text }),
  output_text: ({ text }) => ({ kind: "text", text }),
  refusal: ({ text, data }) => ({ kind: "error", text: textAt(data, "refusal") || text }),
  image_url: ({ type, data }) => imageOfBlock({ ...data, type }),
  input_image: ({ type, data }) => imageOfBlock({ ...data, type }),
  input_file: ({ data }) => fileOf(data),
  input_audio: ({ data }) => ({
    kind: "file",
    name: "audio",
    mediaType: `audio/${textAt(objectAt(data, "input_audio"), "format") || "wav"}`,
    detail: "",
  }),
  message: ({ data }) => contentOf(data),
  function: ({ data }) => callOf({ ...objectAt(data, "function"), call_id: textAt(data, "id") }),
  function_call: ({ data }) => callOf(data),
  custom_tool_call: ({ data }) => callOf(data),
  local_shell_call: ({ data }) => ({ ...callOf(data), name: "local_shell", args: valueAt(data, "action") }),
  shell_call: ({ data }) => ({ ...callOf(data), name: "shell", args: valueAt(data, "action") }),
  apply_patch_call: ({ data }) => ({ ...callOf(data), name: "apply_patch", args: valueAt(data, "operation") }),
  computer_call: ({ data }) => ({ ...callOf(data), name: "computer", args: valueAt(data, "action") }),
  web_search_call: ({ data }) => ({ ...callOf(data), name: "web_search", args: valueAt(data, "action"), ...own(data) }),
  file_search_call: ({ data }) => ({
    ...callOf(data),
    name: "file_search",
    args: valueAt(data, "queries"),
    ...own(data),
  }),
  code_interpreter_call: ({ data }) => ({
    ...callOf(data),
    name: "code_interpreter",
    args: textAt(data, "code"),
    output: outputOf(valueAt(data, "outputs")),
    ...own(data),
  }),
  mcp_call: ({ data }) => {
    const error = valueAt(data, "error");
    const call = {
      ...callOf(data),
      name: [textAt(data, "server_label"), textAt(data, "name")].filter(Boolean).join("."),
    };
    return { ...call, status: error ? "failed" : "done", output: outputOf(error ?? valueAt(data, "output")) };
  },
  image_generation_call: ({ data }) => imageOfBytes(textAt(data, "result"), "image/png", "generated image"),
  hosted_tool_call: ({ data }) => {
    const output = valueAt(data, "output");
    return { ...callOf(data), ...own(data), ...(output !== undefined && { output: outputOf(output) }) };
  },
  function_call_result: ({ text, data }) => resultOf(text, data),
  computer_call_result: ({ text, data }) => resultOf(text, data),
  function_call_output: ({ text, data }) => resultOf(text, data),
  custom_tool_call_output: ({ text, data }) => resultOf(text, data),
  local_shell_call_output: ({ text, data }) => resultOf(text, data),
  shell_call_output: ({ text, data }) => resultOf(text, data),
  apply_patch_call_output: ({ text, data }) => resultOf(text, data),
  computer_call_output: ({ text, data }) => resultOf(text, data),
};

/** `tool_calls` of an assistant's message of Chat Completions, wherever the caller keeps them. */
export function callsOfChat(toolCalls: unknown): readonly CallView[] {
  if (!Array.isArray(toolCalls)) return [];
  return toolCalls
    .filter(isObject)
    .map((call) => callOf({ ...objectAt(call, "function"), ...objectAt(call, "custom"), call_id: textAt(call, "id") }));
}

function callOf(data: JsonObject): CallView {
  const status = STATUS.get(textAt(data, "status"));
  return {
    kind: "call",
    callId: textAt(data, "call_id", "callId", "id"),
    name: textAt(data, "name") || "function",
    args: parsed(valueAt(data, "arguments", "input")),
    ...(status && { status }),
  };
}

/** A tool that OpenAI runs itself has no item with its result. */
function own(data: JsonObject): { status: CallStatus } {
  return { status: STATUS.get(textAt(data, "status")) ?? "done" };
}

function resultOf(text: string, data: JsonObject): PartView {
  const output = valueAt(data, "output");
  return {
    kind: "result",
    callId: textAt(data, "call_id", "callId"),
    name: textAt(data, "name"),
    isError: textAt(data, "status") === "failed" || data.is_error === true || hasFailed(output),
    output: outputOf(isObject(output) && "type" in output ? [output] : (output ?? text)),
  };
}

/** A shell reports an outcome for each of its commands. */
function hasFailed(output: Json | undefined): boolean {
  if (!Array.isArray(output)) return false;
  return output.filter(isObject).some((one) => {
    const outcome = objectAt(one, "outcome");
    return outcome.type === "timeout" || Boolean(valueAt(outcome, "exitCode", "exit_code"));
  });
}

function contentOf(data: JsonObject): readonly PartView[] {
  const { content } = data;
  if (typeof content === "string") return [{ kind: "text", text: content }];
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  return blocks.flatMap((block): readonly PartView[] => {
    const image = imageOfBlock(block);
    if (image) return [image];
    const text = textAt(block, "text");
    return text ? [{ kind: "text", text }] : [{ kind: "error", text: textAt(block, "refusal") }];
  });
}

function fileOf(data: JsonObject): PartView {
  return {
    kind: "file",
    name: textAt(data, "filename", "file_id") || "file",
    mediaType: "",
    detail: textAt(data, "file_url"),
  };
}
