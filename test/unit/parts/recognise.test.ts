import { describe, expect, it } from "vitest";
import type { JsonObject, Message, Part } from "../../../src/parts/part.js";
import { KNOWN_TYPES, recognise, viewsOf } from "../../../src/parts/recognise.js";
import { SAMPLES } from "./samples.js";

const part = (type: string, data?: JsonObject, text = ""): Part => ({ type, text, ...(data && { data }) });

const message = (parts: Part[], metadata?: JsonObject): Message => ({
  info: { ...(metadata && { metadata }) },
  parts,
});

describe("parts of messages", () => {
  it.each(SAMPLES.map((sample) => [`${sample.from}: ${sample.part.type}`, sample] as const))(
    "%s",
    (_, { part, view }) => {
      expect(recognise(part)).toMatchObject([view]);
    },
  );

  it("are not shown for steps without content", () => {
    expect(recognise(part("step-start"))).toEqual([]);
  });

  it("show a text once when another part holds the whole message, and always when none does", () => {
    const entry = JSON.stringify({ type: "user", message: { content: "Hello" } });
    const item = { type: "message", role: "user", content: "Hello" };
    const hello = { kind: "text", text: "Hello" };
    for (const whole of [part("claude_agent", undefined, entry), part("message", item)])
      expect(viewsOf(message([part("text", undefined, "Hello"), whole]))).toEqual([hello]);
    for (const other of [part("message", { subject: "x" }), part("claude_agent", undefined, "{")])
      expect(viewsOf(message([part("text", undefined, "Hello"), other]))[0]).toEqual(hello);
  });

  it("with an attachment are shown as that, beside what the attachment does not show", () => {
    const attachment = { attachmentId: "a", mediaType: "image/png", name: "n", size: "3", sha256: "00" };
    const part = (fields: object) => ({ type: "file", text: "", attachment, ...fields });
    expect(recognise(part({}))).toEqual([{ kind: "attachment", attachment }]);
    expect(recognise(part({ type: "attachment", data: { $attachments: [] } }))).toEqual([
      { kind: "attachment", attachment },
    ]);
    expect(recognise(part({ type: "text", text: "The first lines" }))).toEqual([
      { kind: "text", text: "The first lines" },
      { kind: "attachment", attachment },
    ]);
  });

  it("keep their text and data when their type is unknown", () => {
    expect(recognise(part("telemetry", { a: 1 }, "hello"))).toEqual([
      { kind: "data", type: "telemetry", text: "hello", data: { a: 1 } },
    ]);
  });

  it.each([...KNOWN_TYPES, "tool-x", "data-x", "constructor", "__proto__"])("of type %s may hold any data", (type) => {
    const unprintable = { toString: 1, valueOf: 1 };
    const values = [
      null,
      1,
      "x",
      [],
      [null],
      [unprintable],
      {},
      unprintable,
      { type: "text" },
      { type: "image", source: 1 },
    ];
    const names = [
      "content",
      "output",
      "input",
      "state",
      "function",
      "source",
      "image_url",
      "toolInvocation",
      "file",
      "files",
      "attempt",
      "error",
      "text",
    ];
    for (const name of names) {
      for (const value of values) expect(recognise(part(type, { [name]: value, state: value }))).toBeInstanceOf(Array);
    }
    expect(recognise(part(type))).toBeInstanceOf(Array);
  });

  it.each(["constructor", "toString", "hasOwnProperty", "__proto__"])(
    "may say %s where they say what they are",
    (word) => {
      const data = { name: word, status: word, state: word, input: {} };
      const line = { type: "user", message: { content: [{ type: word }] } };
      expect(recognise(part("function_call", data))[0]).not.toHaveProperty("status");
      expect(recognise(part("tool-x", data))[0]).not.toHaveProperty("status");
      expect(recognise(part("tool", { state: data }))[0]).not.toHaveProperty("status");
      expect(recognise(part("claude_agent", undefined, JSON.stringify(line)))).toEqual([
        { kind: "data", type: word, text: "", data: { type: word } },
      ]);
    },
  );

  it("read JSON in a text, unless it is very deep", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const outputOf = (text: string) => recognise(part("tool_result", { content: text }));
    expect(outputOf(nested(24))).toMatchObject([{ output: { json: JSON.parse(nested(24)) } }]);
    expect(outputOf(nested(25))).toMatchObject([{ output: { text: nested(25) } }]);
    expect(outputOf(nested(100_000))).toMatchObject([{ output: { text: nested(100_000) } }]);
  });

  it.each([
    "data:image/svg+xml;base64,PHN2Zz4=",
    "data:text/html;base64,PHA+",
    "data:image/png,notbase64",
    'data:image/png;base64,AA"onerror=',
    "javascript:alert(1)",
    "https://example.com/a.png",
  ])("show no picture with the URL %s", (url) => {
    for (const view of recognise(part("image_url", { image_url: { url } }))) expect(view).not.toHaveProperty("source");
  });

  it("show no picture larger than 6 MB", () => {
    const [view] = recognise(part("image", { source: { media_type: "image/png", data: "A".repeat(9 * 1024 * 1024) } }));
    expect(view).not.toHaveProperty("source");
  });
});

describe("messages of Chat Completions", () => {
  it("show the calls that callers keep in metadata", () => {
    const toolCalls = [{ id: "call_1", type: "function", function: { name: "add", arguments: '{"a":1}' } }];
    expect(viewsOf(message([part("text", undefined, "Adding")], { tool_calls: toolCalls }))).toMatchObject([
      { kind: "text" },
      { kind: "call", callId: "call_1", name: "add", args: { a: 1 } },
    ]);
  });

  it("with a tool_call_id show their text as the result of that call", () => {
    expect(viewsOf(message([part("text", undefined, "3")], { tool_call_id: "call_1" }))).toMatchObject([
      { kind: "result", callId: "call_1", output: { text: "3" } },
    ]);
  });
});

describe("outputs of terminals", () => {
  it("are read without their colours", () => {
    const [view] = recognise(
      part("tool_result", undefined, "\u001b[32mok\u001b[0m 7 ms \u001b]0;title\u0007\u001b[2Kdone"),
    );
    expect(view).toMatchObject({ output: { text: "ok 7 ms done" } });
  });
});
