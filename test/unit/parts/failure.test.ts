import { describe, expect, it } from "vitest";
import { failureIn } from "../../../src/parts/failure.js";
import type { Message, Part } from "../../../src/parts/part.js";

function message(...parts: readonly Partial<Part>[]): Message {
  return {
    info: {},
    parts: parts.map((part) => ({ type: "text", text: "", ...part })),
  };
}

const call = message({ type: "tool_use", data: { id: "c1", name: "bash", input: {} } });
const failed = message({ type: "tool_result", text: "Error: no", data: { tool_use_id: "c1", is_error: true } });
const passed = message({ type: "tool_result", text: "ok", data: { tool_use_id: "c2" } });

describe("failureIn", () => {
  it("finds nothing where nothing failed", () => {
    expect(failureIn([])).toBeUndefined();
    expect(failureIn([passed, call, message({ text: "Error: only a text" })])).toBeUndefined();
  });

  it("names the tool of a failed result, if its call is there", () => {
    expect(failureIn([passed, failed, call])).toEqual({ name: "bash", reason: "Error: no" });
    expect(failureIn([failed])).toEqual({ name: "tool", reason: "Error: no" });
  });

  it("takes the newest failure of any kind", () => {
    const own = { tool: "read", callID: "c3", state: { status: "error", error: "No such file" } };
    const ofCall = message({ type: "tool", data: own });
    expect(failureIn([ofCall, failed, call])).toEqual({ name: "read", reason: "No such file" });
    const overloaded = message({ type: "error", text: "Overloaded" });
    expect(failureIn([overloaded, ofCall])).toEqual({ name: "", reason: "Overloaded" });
    expect(failureIn([message({ type: "error", text: "first" }, { type: "error", text: "second" })])?.reason).toBe(
      "second",
    );
  });
});
