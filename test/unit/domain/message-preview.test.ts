import { expect, it } from "vitest";
import { previewOf } from "../../../src/domain/message-preview.js";

const MESSAGE = { id: "m", role: "user", timestampMicros: 5 };
const text = (...texts: string[]) =>
  previewOf({ ...MESSAGE, parts: texts.map((one) => ({ id: "", type: "text", text: one })) }).text;

it("a preview has the message's id, role and time", () => {
  expect(previewOf({ ...MESSAGE, parts: [] })).toEqual({ messageId: "m", role: "user", timestampMicros: 5, text: "" });
});

it("a preview joins the texts of parts of the type text, and leaves out others", () => {
  const parts = [
    { id: "", type: "reasoning", text: "hm" },
    { id: "", type: "text", text: "a" },
    { id: "", type: "text", text: "b" },
  ];
  expect(previewOf({ ...MESSAGE, parts }).text).toBe("a\nb");
});

it("a preview is cut after 200 code points, never inside one", () => {
  expect(text("x".repeat(200))).toBe("x".repeat(200));
  expect(text("x".repeat(201))).toBe("x".repeat(200));
  expect(text("\u{1F600}".repeat(300))).toBe("\u{1F600}".repeat(200));
  expect(text(`x${"\u{1F600}".repeat(300)}`)).toBe(`x${"\u{1F600}".repeat(199)}`);
  expect(text("x".repeat(150), "y".repeat(150))).toBe(`${"x".repeat(150)}\n${"y".repeat(49)}`);
});
