import { describe, expect, it } from "vitest";
import type { JsonObject, Part } from "../../../src/parts/part.js";
import { outputText, toolErrorOf, toolsOf } from "../../../src/parts/tools.js";

const part = (type: string, data: JsonObject, text = ""): Part => ({ type, text, data });

const call = part("tool_use", { id: "c1", name: "bash", input: { command: "ls" } });
const failed = part("tool_result", { tool_use_id: "c1", is_error: true }, "reading\nError: no such file");

describe("toolsOf", () => {
  it("finds the calls and results of a message, in order", () => {
    const texts = part("text", {}, "Looking");
    const read = part("tool", {
      callID: "c2",
      tool: "read",
      state: { status: "error", input: { path: "a" }, error: "gone" },
    });
    const { calls, results } = toolsOf([texts, call, read, failed]);
    expect(calls).toEqual([
      { callId: "c1", name: "bash", input: { command: "ls" }, status: undefined, output: undefined, error: "" },
      {
        callId: "c2",
        name: "read",
        input: { path: "a" },
        status: "failed",
        output: { text: "gone", images: [] },
        error: "gone",
      },
    ]);
    expect(results).toEqual([
      {
        callId: "c1",
        name: "",
        output: { text: "reading\nError: no such file", images: [] },
        hasFailed: true,
        error: "Error: no such file",
      },
    ]);
  });

  it("reads what Chat Completions keep in the metadata", () => {
    const toolCalls = [{ id: "c3", type: "function", function: { name: "add", arguments: '{"a":1}' } }];
    expect(toolsOf([], { tool_calls: toolCalls }).calls).toMatchObject([
      { callId: "c3", name: "add", input: { a: 1 } },
    ]);
    expect(toolsOf([part("text", {}, "3")], { tool_call_id: "c3" }).results).toMatchObject([
      { callId: "c3", output: { text: "3" } },
    ]);
  });

  it("finds nothing in texts", () => {
    expect(toolsOf([part("text", {}, "Error: only a text")])).toEqual({ calls: [], results: [] });
    expect(toolsOf([])).toEqual({ calls: [], results: [] });
  });
});

describe("toolErrorOf", () => {
  it("is the reason of the first failure", () => {
    const second = part("tool_result", { is_error: true }, "second");
    expect(toolErrorOf([call, failed, second])).toBe("Error: no such file");
    expect(toolErrorOf([part("tool_result", { is_error: true, content: [] })])).toBe("failed");
  });

  it("is empty where nothing failed", () => {
    expect(toolErrorOf([call, part("tool_result", { tool_use_id: "c1" }, "ok")])).toBe("");
    expect(toolErrorOf([part("text", {}, "Error: only a text")])).toBe("");
  });
});

describe("outputText", () => {
  it.each([
    [{ text: "a", images: [] }, "a"],
    [{ json: { a: [1] }, images: [] }, '{"a":[1]}'],
    [{ images: [] }, ""],
  ])("of %j is %j", (output, text) => {
    expect(outputText(output)).toBe(text);
  });
});
