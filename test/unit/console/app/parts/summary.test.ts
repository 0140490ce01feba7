import { expect, it } from "vitest";
import { SAMPLES } from "../../../parts/samples.js";

// The compiler checks the page with the types of browsers, so that it does not follow this name.
const path = "../../../../../src/console/app/parts/summary.js";
const { summaryOf, toolNames } = (await import(path)) as {
  summaryOf(message: object, toolOf?: (callId: string) => string | undefined): { speaker: string; text: string };
  toolNames(messages: readonly object[]): ReadonlyMap<string, string>;
};

const message = (role: string, ...parts: readonly object[]) => ({ info: { role }, parts });
const text = (words: string) => ({ type: "text", text: words });
const call = (id: string, name: string) => ({ type: "tool_use", text: "", data: { id, name, input: {} } });
const result = (id: string, more = {}) => ({ type: "tool_result", text: "", data: { tool_use_id: id, ...more } });
const file = (mediaType: string, name: string) => ({
  ...{ type: "file", text: "" },
  attachment: { attachmentId: "a", mediaType, name, size: 3, sha256: "" },
});

it.each([
  ["assistant", [text("# Found **it**\n\nIt was the map.")], "assistant", "Found it"],
  ["user", [text(" \n"), text("And now?")], "user", "And now?"],
  ["user", [text("👍")], "user", "👍"],
  ["user", [text("")], "user", ""],
  ["assistant", [], "assistant", ""],
  ["assistant", [call("c1", "bash")], "assistant", "calls bash"],
  ["assistant", [call("c1", "bash"), call("c2", "grep"), call("c3", "bash")], "assistant", "calls bash and grep"],
  ["user", [result("c1", { content: "done" })], "tool", "result of bash"],
  ["user", [result("c1", { content: "no", is_error: true })], "tool", "failed result of bash"],
  ["user", [result("gone", { content: "done" })], "tool", "result of a tool"],
  ["user", [result("c1"), file("text/csv", "orders.csv")], "user", "result of bash, file orders.csv"],
  ["user", [file("image/png", "map.png")], "user", "picture map.png"],
])("a message of the role %s with %j", (role, parts, speaker, said) => {
  const tools = toolNames([message("assistant", call("c1", "bash"))]);
  expect(summaryOf(message(role, ...parts), (callId) => tools.get(callId))).toEqual({ speaker, text: said });
});

it("names no more than three of a kind", () => {
  const calls = ["a", "b", "c", "d", "e"].map((name) => call(name, name));
  expect(summaryOf(message("assistant", ...calls)).text).toBe("calls a, b, c and 2 more");
});

it("says something of every part that the page knows", () => {
  for (const { part } of SAMPLES) expect([part.type, summaryOf(message("assistant", part)).text]).not.toContain("");
});
