import { expect, it } from "vitest";
import { toUIMessage } from "../../../../../clients/typescript/src/adapters/ui-message.js";
import { newTarget, outline } from "./imported.js";

const MESSAGES = [
  { id: "m1", role: "user", parts: [{ type: "text", text: "Weather?" }], metadata: { createdAt: 1_750_000_000_000 } },
  {
    id: "m2",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "Ask", state: "done", providerMetadata: { openai: { itemId: "rs" } } },
      {
        type: "tool-weather",
        toolCallId: "t",
        state: "output-available",
        input: { city: "Rome" },
        output: { c: 21.5 },
      },
      { type: "text", text: "21.5 °C", state: "done" },
      { type: "data-chart", id: "x", data: [1, null] },
    ],
  },
];

it("a list of messages is one session, which the adapter loads as it was", async () => {
  const target = newTarget();
  for (let i = 0; i < 2; i++) {
    const all = await target.import("7f3a9c1e5b2d4680.json", MESSAGES);
    const { session, messages } = all["7f3a9c1e5b2d4680"]!;
    expect(session.createTimeMicros).toBe(1_750_000_000_000_000);
    const loaded = messages.map(({ id, role, metadata, parts }) =>
      toUIMessage({ info: { id, role, metadata }, parts } as never),
    );
    expect(loaded[0]).toEqual(MESSAGES[0]);
    // Whether a text or a thought is still streaming is not kept.
    const { parts } = MESSAGES[1]!;
    expect(loaded[1]).toEqual({
      ...MESSAGES[1],
      parts: parts.map((part) =>
        part.type === "text" || part.type === "reasoning" ? { ...part, state: undefined } : part,
      ),
    });
  }
});

it("a list that grew adds what is new, though nothing names the chat", async () => {
  const target = newTarget();
  await target.import("messages.json", MESSAGES.slice(0, 1));
  const all = await target.import("messages.json", MESSAGES);
  expect(Object.values(all).map(({ messages }) => messages.length)).toEqual([2]);
});

it("metadata that is no object is what the adapter loads again", async () => {
  const target = newTarget();
  const values = [5, "draft", [1, { a: null }], false];
  const chat = values.map((metadata, i) => ({
    id: `m${i}`,
    role: "user",
    parts: [{ type: "text", text: "a" }],
    metadata,
  }));
  const all = await target.import("7f3a9c1e5b2d4680.json", chat);
  const { messages } = all["7f3a9c1e5b2d4680"]!;
  expect(
    messages.map(({ id, role, metadata, parts }) => toUIMessage({ info: { id, role, metadata }, parts } as never)),
  ).toEqual(chat);
});

it("parts of version 4 keep the fields that later versions do not have", async () => {
  const details = [
    { type: "text", text: "Ask", signature: "S" },
    { type: "redacted", data: "R" },
  ];
  const call = { state: "call", step: 1, toolCallId: "t", toolName: "run", args: { a: 1 } };
  const message = {
    id: "v4",
    role: "assistant",
    content: "",
    parts: [
      { type: "reasoning", reasoning: "Ask", details },
      { type: "tool-invocation", toolInvocation: call },
      { type: "file", mimeType: "text/plain", data: "YQ==", filename: "a.txt" },
    ],
    experimental_attachments: [{ contentType: "text/plain", url: "https://example.com/b.txt", size: 3 }],
  };
  const target = newTarget();
  const all = await target.import("chats.json", [{ id: "chat", messages: [message] }]);
  expect(all.chat!.messages[0]!.parts).toMatchObject([
    { type: "reasoning", text: "Ask", data: { details } },
    { type: "tool-run", data: { toolCallId: "t", state: "input-available", input: { a: 1 }, step: 1 } },
    { type: "file", data: { mediaType: "text/plain", filename: "a.txt" } },
    { type: "file", data: { url: "https://example.com/b.txt", size: 3 } },
  ]);
});

it("chats with their messages, messages of version 4 and bad entries are read", async () => {
  const old = {
    id: "v4",
    createdAt: "2024-10-10T10:00:00.000Z",
    role: "assistant",
    content: "Done",
    toolInvocations: [{ state: "result", toolCallId: "t", toolName: "run", args: { a: 1 }, result: "ok" }],
    experimental_attachments: [{ name: "a.png", contentType: "image/png", url: "https://example.com/a.png" }],
  };
  const chats = [
    { id: "chat-1", title: "One", messages: [...MESSAGES, null], createdAt: "2024-01-02T03:04:05.000Z" },
    { id: "chat-2", messages: [old], visibility: "private" },
  ];
  const target = newTarget();
  const all = await target.import("chats.json", chats);
  expect(all["chat-1"]?.session).toMatchObject({
    title: "One",
    createTimeMicros: Date.parse("2024-01-02T03:04:05Z") * 1000,
  });
  expect(outline(all["chat-2"]!)).toEqual(["assistant: tool-run | Done | file"]);
  expect(all["chat-2"]!.messages[0]).toMatchObject({
    timestampMicros: Date.parse("2024-10-10T10:00:00Z") * 1000,
    parts: [{ data: { toolCallId: "t", state: "output-available", input: { a: 1 }, output: "ok" } }, {}, {}],
  });
  expect(target.last.leftOut).toBeGreaterThan(0);
});
