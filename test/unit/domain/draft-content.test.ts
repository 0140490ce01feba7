import { describe, expect, it } from "vitest";
import type { DraftDelta } from "../../../src/domain/draft.js";
import { DraftContent } from "../../../src/domain/draft-content.js";
import { messageSize } from "../../../src/domain/message-size.js";

const append = (partId: string, text: string): DraftDelta => ({ kind: "append_text", partId, text });
const put = (id: string, text: string, data = {}): DraftDelta => ({
  kind: "put_part",
  part: { id, type: "tool_call", text, data },
});

describe("DraftContent", () => {
  it("appends text to the last part with the id, and makes a text part when there is none", () => {
    const content = new DraftContent([
      { id: "", type: "a", text: "1" },
      { id: "", type: "b", text: "2" },
    ]);
    content.apply([append("", "3"), append("new", "4"), append("new", "5")]);
    expect(content.parts).toEqual([
      { id: "", type: "a", text: "1" },
      { id: "", type: "b", text: "23" },
      { id: "new", type: "text", text: "45" },
    ]);
  });

  it("replaces the part with the same id, or adds it at the end", () => {
    const content = new DraftContent([{ id: "x", type: "text", text: "long" }]);
    content.apply([put("y", ""), put("x", "s"), append("x", "!")]);
    expect(content.parts.map(({ id, text }) => [id, text])).toEqual([
      ["x", "s!"],
      ["y", ""],
    ]);
    expect(content.deltas).toBe(3);
  });

  it("does not change parts that it has already returned", () => {
    const content = new DraftContent([{ id: "x", type: "text", text: "a" }]);
    const before = content.parts;
    content.apply([append("x", "b"), append("y", "c")]);
    expect(before).toEqual([{ id: "x", type: "text", text: "a" }]);
  });

  it("counts the bytes of the parts, and predicts them before deltas are applied", () => {
    const content = new DraftContent([]);
    const deltas = [
      append("p", "x".repeat(100)),
      append("p", "é京👋".repeat(20)),
      append("p", ""),
      put("q", "text", { a: [1, null, "b"] }),
      append("q", "!"),
      put("q", ""),
      append("", "y".repeat(20_000)),
    ];
    const bytes = content.bytesWith(deltas);
    for (const delta of deltas) {
      const before = content.bytesWith([delta]);
      content.apply([delta]);
      expect(content.bytes).toBe(before);
      const whole = messageSize({ id: "m", role: "r", parts: content.parts });
      expect(content.bytes).toBe(whole - messageSize({ id: "m", role: "r", parts: [] }));
    }
    expect(content.bytes).toBe(bytes);
  });
});
