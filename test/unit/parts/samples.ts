/**
 * Parts of known formats, stored as callers store them: `type` and `text` in the fields of that name, everything else
 * in `data`.
 */
import type { Part } from "../../../src/parts/part.js";
import type { PartView } from "../../../src/parts/part-view.js";

export interface Sample {
  readonly from: string;
  readonly part: Part;
  /** The fields of the view that the test checks. */
  readonly view: Partial<PartView> & { readonly kind: PartView["kind"] };
}

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

function sample(from: string, part: Partial<Part> & { type: string }, view: Sample["view"]): Sample {
  return { from, part: { text: "", ...part }, view };
}

const OPENCODE = (part: Partial<Part> & { type: string }, view: Sample["view"]) => sample("OpenCode", part, view);
const OPENAI = (part: Partial<Part> & { type: string }, view: Sample["view"]) => sample("OpenAI", part, view);
const ANTHROPIC = (part: Partial<Part> & { type: string }, view: Sample["view"]) => sample("Anthropic", part, view);
const AI_SDK = (part: Partial<Part> & { type: string }, view: Sample["view"]) => sample("AI SDK", part, view);

export const SAMPLES: readonly Sample[] = [
  OPENCODE({ type: "text", text: "Hello" }, { kind: "text", text: "Hello" }),
  OPENCODE(
    { type: "reasoning", text: "Let me see", data: { time: { start: 1, end: 2 } } },
    { kind: "reasoning", text: "Let me see" },
  ),
  OPENCODE(
    {
      type: "tool",
      data: {
        callID: "toolu_01",
        tool: "bash",
        state: {
          status: "completed",
          input: { command: "ls" },
          output: "README.md\nsrc",
          title: "ls",
          metadata: { exit: 0 },
          time: { start: 1763500000000, end: 1763500000412 },
        },
      },
    },
    {
      kind: "call",
      callId: "toolu_01",
      name: "bash",
      args: { command: "ls" },
      status: "done",
      output: { text: "README.md\nsrc", images: [] },
      durationMs: 412,
    },
  ),
  OPENCODE(
    {
      type: "tool",
      data: { callID: "c2", tool: "edit", state: { status: "error", input: {}, error: "oldString not found" } },
    },
    { kind: "call", name: "edit", status: "failed", output: { text: "oldString not found", images: [] } },
  ),
  OPENCODE(
    { type: "tool", data: { callID: "c3", tool: "read", state: { status: "running", input: {} } } },
    { kind: "call", status: "running" },
  ),
  OPENCODE(
    { type: "file", data: { mime: "image/png", filename: "shot.png", url: `data:image/png;base64,${PNG}` } },
    { kind: "image", name: "shot.png", mediaType: "image/png", source: `data:image/png;base64,${PNG}` },
  ),
  OPENCODE(
    { type: "file", data: { mime: "text/plain", filename: "a.ts", url: "file:///src/a.ts" } },
    { kind: "file", name: "a.ts", mediaType: "text/plain", detail: "file:///src/a.ts" },
  ),
  OPENCODE(
    {
      type: "step-finish",
      data: { reason: "tool-calls", cost: 0.0123, tokens: { input: 1200, output: 80, reasoning: 0 } },
    },
    { kind: "note", text: "1200 tokens in, 80 out · $0.0123 · tool-calls" },
  ),
  OPENCODE({ type: "patch", data: { hash: "9f2c", files: ["a.ts", "b.ts"] } }, { kind: "note", text: "a.ts, b.ts" }),
  OPENCODE({ type: "snapshot", data: { snapshot: "9f2c" } }, { kind: "note", label: "Snapshot", text: "9f2c" }),
  OPENCODE({ type: "agent", data: { name: "plan" } }, { kind: "note", label: "Agent", text: "plan" }),
  OPENCODE(
    { type: "retry", data: { attempt: 2, error: { name: "APIError", data: { message: "Overloaded" } } } },
    { kind: "error", text: "Attempt 2: Overloaded" },
  ),
  OPENCODE({ type: "compaction", data: { auto: true } }, { kind: "note", label: "Compaction" }),

  OPENAI({ type: "input_text", text: "Hi" }, { kind: "text", text: "Hi" }),
  OPENAI({ type: "output_text", data: { text: "Hello", annotations: [] } }, { kind: "text", text: "Hello" }),
  OPENAI(
    { type: "refusal", data: { refusal: "I cannot help with that" } },
    { kind: "error", text: "I cannot help with that" },
  ),
  OPENAI(
    { type: "image_url", data: { image_url: { url: `data:image/png;base64,${PNG}`, detail: "low" } } },
    { kind: "image", mediaType: "image/png", source: `data:image/png;base64,${PNG}` },
  ),
  OPENAI(
    { type: "input_image", data: { image_url: "https://example.com/cat.png" } },
    { kind: "image", address: "https://example.com/cat.png" },
  ),
  OPENAI(
    {
      type: "function_call",
      data: { id: "fc_1", call_id: "call_1", name: "get_weather", arguments: '{"city":"Kyoto"}', status: "completed" },
    },
    { kind: "call", callId: "call_1", name: "get_weather", args: { city: "Kyoto" } },
  ),
  OPENAI(
    { type: "function", data: { id: "call_2", function: { name: "get_weather", arguments: '{"city":"Nara"}' } } },
    { kind: "call", callId: "call_2", name: "get_weather", args: { city: "Nara" } },
  ),
  OPENAI(
    { type: "function_call_output", data: { call_id: "call_1", output: '{"degrees":21}' } },
    { kind: "result", callId: "call_1", isError: false, output: { json: { degrees: 21 }, images: [] } },
  ),
  OPENAI(
    { type: "reasoning", data: { id: "rs_1", summary: [{ type: "summary_text", text: "Weighing both" }] } },
    { kind: "reasoning", text: "Weighing both" },
  ),
  OPENAI(
    {
      type: "mcp_call",
      data: { server_label: "github", name: "search", arguments: '{"q":"x"}', error: "timeout", id: "mcp_1" },
    },
    {
      kind: "call",
      name: "github.search",
      args: { q: "x" },
      status: "failed",
      output: { text: "timeout", images: [] },
    },
  ),
  OPENAI(
    {
      type: "web_search_call",
      data: { id: "ws_1", status: "completed", action: { type: "search", query: "ferries" } },
    },
    { kind: "call", name: "web_search", args: { type: "search", query: "ferries" }, status: "done" },
  ),
  OPENAI(
    { type: "message", data: { role: "assistant", content: [{ type: "output_text", text: "All done" }] } },
    { kind: "text", text: "All done" },
  ),
  OPENAI(
    { type: "image_generation_call", data: { result: PNG } },
    { kind: "image", source: `data:image/png;base64,${PNG}` },
  ),

  ANTHROPIC({ type: "thinking", data: { thinking: "Hm", signature: "Er8B" } }, { kind: "reasoning", text: "Hm" }),
  ANTHROPIC({ type: "redacted_thinking", data: { data: "Emw" } }, { kind: "reasoning", text: "(encrypted)" }),
  ANTHROPIC(
    { type: "tool_use", data: { id: "toolu_1", name: "get_weather", input: { city: "Kyoto" } } },
    { kind: "call", callId: "toolu_1", name: "get_weather", args: { city: "Kyoto" } },
  ),
  ANTHROPIC(
    { type: "tool_result", data: { tool_use_id: "toolu_1", content: "21 degrees" } },
    { kind: "result", callId: "toolu_1", isError: false, output: { text: "21 degrees", images: [] } },
  ),
  ANTHROPIC(
    {
      type: "tool_result",
      data: { tool_use_id: "toolu_1", is_error: true, content: [{ type: "text", text: "ConnectionError: no route" }] },
    },
    { kind: "result", isError: true, output: { text: "ConnectionError: no route", images: [] } },
  ),
  ANTHROPIC(
    { type: "image", data: { source: { type: "base64", media_type: "image/png", data: PNG } } },
    { kind: "image", source: `data:image/png;base64,${PNG}` },
  ),
  ANTHROPIC(
    { type: "document", data: { title: "Report", source: { type: "url", url: "https://example.com/a.pdf" } } },
    { kind: "file", name: "Report", detail: "https://example.com/a.pdf" },
  ),
  ANTHROPIC(
    {
      type: "web_search_tool_result",
      data: {
        tool_use_id: "srvtoolu_1",
        content: { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" },
      },
    },
    { kind: "result", callId: "srvtoolu_1", isError: true },
  ),

  AI_SDK(
    {
      type: "tool-getWeather",
      data: { toolCallId: "t1", state: "output-available", input: { city: "Kyoto" }, output: { degrees: 21 } },
    },
    {
      kind: "call",
      callId: "t1",
      name: "getWeather",
      args: { city: "Kyoto" },
      status: "done",
      output: { json: { degrees: 21 }, images: [] },
    },
  ),
  AI_SDK(
    {
      type: "tool-getWeather",
      data: { toolCallId: "t2", state: "output-error", input: {}, errorText: "No such city" },
    },
    { kind: "call", status: "failed", output: { text: "No such city", images: [] } },
  ),
  AI_SDK(
    {
      type: "dynamic-tool",
      data: { toolName: "mcp_read", toolCallId: "t3", state: "input-available", input: { path: "a" } },
    },
    { kind: "call", name: "mcp_read", status: "running" },
  ),
  AI_SDK(
    {
      type: "tool-invocation",
      data: { toolInvocation: { state: "result", toolCallId: "t4", toolName: "add", args: { a: 1 }, result: 3 } },
    },
    { kind: "call", callId: "t4", name: "add", status: "done", output: { json: 3, images: [] } },
  ),
  AI_SDK(
    { type: "tool-call", data: { toolCallId: "t5", toolName: "add", input: { a: 1, b: 2 } } },
    { kind: "call", callId: "t5", name: "add", args: { a: 1, b: 2 } },
  ),
  AI_SDK(
    {
      type: "tool-result",
      data: { toolCallId: "t5", toolName: "add", output: { type: "error-text", value: "overflow" } },
    },
    { kind: "result", callId: "t5", name: "add", isError: true, output: { text: "overflow", images: [] } },
  ),
  AI_SDK(
    { type: "file", data: { mediaType: "application/pdf", filename: "a.pdf", url: "https://example.com/a.pdf" } },
    { kind: "file", name: "a.pdf", mediaType: "application/pdf" },
  ),
  AI_SDK(
    { type: "source-url", data: { sourceId: "s1", url: "https://example.com", title: "Example" } },
    { kind: "note", label: "Source", text: "Example https://example.com" },
  ),
  AI_SDK(
    { type: "data-progress", data: { data: { percent: 40 } } },
    { kind: "note", label: "progress", data: { percent: 40 } },
  ),

  sample(
    "session-pool's documents",
    { type: "tool_call", text: "read_file", data: { path: "a.log", tail: 40 } },
    { kind: "call", name: "read_file", args: { path: "a.log", tail: 40 } },
  ),
  sample(
    "session-pool's documents",
    { type: "tool_result", text: "3 lines" },
    { kind: "result", output: { text: "3 lines", images: [] } },
  ),
  sample("EraseMessage", { type: "erased" }, { kind: "erased" }),
];
