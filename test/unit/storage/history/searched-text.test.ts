import { describe, expect, it } from "vitest";
import type { Part } from "../../../../src/domain/chat-message.js";
import { parseSearch } from "../../../../src/domain/search.js";
import { holdsTerms } from "../../../../src/domain/search-text.js";
import { searchedPieces, searchedText } from "../../../../src/storage/history/searched-text.js";

function part(type: string, data: object = {}, text = ""): Part {
  return { id: "", type, text, data: data as NonNullable<Part["data"]> };
}

const TEXT: Part = { id: "", type: "text", text: "said" };
const CALL = part("tool_use", { id: "c", name: "read_file", input: { path: "src/a.ts", lines: [1, { to: 20 }] } });
const RESULT = part("tool_result", { tool_use_id: "c", content: [{ type: "text", text: "line one\nline two" }] });

describe("the searched text of a message", () => {
  it("is that of its parts of type text, or also what tools were given and answered", () => {
    const parts = [CALL, TEXT, RESULT, part("reasoning", {}, "thought")];
    expect(searchedText({ parts })).toBe("said");
    expect(searchedPieces({ parts }, "all")).toEqual([
      { field: "text", text: "said", part: { index: 1, type: "text" } },
      { field: "tool_name", text: "read_file", part: { index: 0, type: "tool_use" } },
      { field: "tool_input", text: "path\nsrc/a.ts\nlines\n1\nto\n20", part: { index: 0, type: "tool_use" } },
      { field: "tool_output", text: "line one\nline two", part: { index: 2, type: "tool_result" } },
    ]);
  });

  it.each([
    [
      "OpenAI's Responses",
      part("function_call", { call_id: "c", name: "look", arguments: '{"at":"x\\ny"}' }),
      "look at x y",
    ],
    ["an output beside it", part("function_call_output", { call_id: "c", output: "sunny" }), "sunny"],
    [
      "OpenCode",
      part("tool", { tool: "bash", state: { status: "completed", input: { command: "ls" }, output: "file" } }),
      "bash ls file",
    ],
    [
      "the AI SDK",
      part("tool-weather", {
        toolCallId: "c",
        state: "output-available",
        input: { city: "Oslo" },
        output: { sky: "clear" },
      }),
      "weather Oslo clear",
    ],
  ])("has the calls of %s", (_format, one, q) => {
    expect(holdsTerms(searchedText({ parts: [one] }, "all"), parseSearch(q))).toBe(true);
    expect(searchedText({ parts: [one] })).toBe("");
  });

  it("has calls that only the metadata names, which are in no part", () => {
    const metadata = { tool_calls: [{ id: "c", function: { name: "look", arguments: '{"at":"sky"}' } }] };
    expect(searchedPieces({ parts: [], metadata }, "all")).toEqual([
      { field: "tool_name", text: "look" },
      { field: "tool_input", text: "at\nsky" },
    ]);
  });

  it("has the first 128 Ki code units of arguments and of an output, however deep or many they are", () => {
    const MOST = 128 * 1024;
    let deep: object = { end: "deep" };
    for (let i = 0; i < 5000; i++) deep = { a: [deep] };
    expect(searchedText({ parts: [part("tool_use", { name: "n", input: deep })] }, "all")).toContain("end\ndeep");
    const many = Array.from({ length: 300_000 }, (_, i) => i);
    const [, input] = searchedPieces({ parts: [part("tool_use", { name: "n", input: many })] }, "all");
    expect(input?.text.startsWith("0\n1\n2")).toBe(true);
    expect(input?.text.length).toBeLessThanOrEqual(MOST);
    const [output] = searchedPieces({ parts: [part("tool_result", { content: "x".repeat(MOST * 2) })] }, "all");
    expect(output?.text).toHaveLength(MOST);
  });
});
