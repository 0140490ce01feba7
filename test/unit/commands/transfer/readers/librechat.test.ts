import { expect, it } from "vitest";
import { viewsOfParts } from "../../../../../src/parts/recognise.js";
import { newTarget, outline } from "./imported.js";

const ROOT = "00000000-0000-0000-0000-000000000000";
let clock = 0;
const said = (messageId: string, parentMessageId: string, isUser: boolean, text: string, more: object = {}) => {
  clock += 1;
  return {
    messageId,
    parentMessageId,
    conversationId: "conv",
    sender: isUser ? "User" : "GPT",
    text,
    isCreatedByUser: isUser,
    createdAt: `2025-05-06T07:08:${String(clock).padStart(2, "0")}.500Z`,
    ...more,
  };
};
const exported = (more: object) => ({
  conversationId: "conv",
  endpoint: "openAI",
  title: "Plans",
  exportAt: "07:08:09 GMT+0000",
  branches: true,
  recursive: false,
  options: { model: "gpt-4o" },
  ...more,
});

const q = said("q", ROOT, true, "Where to?");
const a = said("a", "q", false, "", {
  model: "gpt-4o",
  content: [
    { type: "think", think: "Hm" },
    { type: "tool_call", tool_call: { id: "t", name: "maps", args: '{"to":"Lisbon"}', output: "far", progress: 1 } },
    { type: "text", text: { value: "Lisbon" } },
  ],
});
const other = said("b", "q", false, "Rome");
const last = said("q2", "a", true, "", {
  files: [{ file_id: "f", filename: "map.png", type: "image/png", filepath: "/i" }],
});

it.each([
  ["a list", exported({ messages: [q, a, other, last] })],
  [
    "a tree",
    exported({
      recursive: true,
      messagesTree: [
        {
          ...q,
          children: [
            { ...a, children: [{ ...last, children: [] }] },
            { ...other, children: [] },
          ],
        },
      ],
    }),
  ],
])("an export with branches as %s is a session and its forks", async (_form, content) => {
  const target = newTarget();
  for (let i = 0; i < 2; i++) {
    const all = await target.import("export.json", content);
    const { session, messages } = all.conv!;
    expect(Object.keys(all).sort()).toEqual(["conv", "conv~b"]);
    expect(session).toMatchObject({
      title: "Plans",
      createTimeMicros: Date.parse(q.createdAt) * 1000,
      updateTimeMicros: Date.parse(last.createdAt) * 1000,
      metadata: { librechat: { endpoint: "openAI", options: { model: "gpt-4o" } } },
    });
    expect(messages.map(({ id, role }) => `${id} ${role}`)).toEqual(["q user", "a assistant", "q2 user"]);
    const views = messages.flatMap(({ parts }) => viewsOfParts(parts));
    expect(views).toMatchObject([
      { kind: "text", text: "Where to?" },
      { kind: "reasoning", text: "Hm" },
      { kind: "call", callId: "t", name: "maps", args: { to: "Lisbon" } },
      { kind: "result", callId: "t", output: { text: "far" } },
      { kind: "text", text: "Lisbon" },
      { kind: "image", name: "map.png" },
    ]);
    expect(outline(all["conv~b"]!)).toEqual(["user: Where to?", "assistant: Rome"]);
  }
});

it("messages that are no objects, without ids or links do not cost the others", async () => {
  const bare = [null, { text: "One", isCreatedByUser: true }, { text: "Two", error: true }, 3];
  const target = newTarget();
  const all = await target.import("bare.json", exported({ messages: bare }));
  expect(outline(all.conv!)).toEqual(["user: One", "assistant: Two"]);
  expect(target.last.leftOut).toBeGreaterThan(0);
});

it("messages without times, which LibreChat has not saved yet, are part of the branch", async () => {
  const unsaved = [said("b2", "b", true, "Why?"), said("b3", "b2", false, "So")].map((one) => ({
    ...one,
    createdAt: undefined,
  }));
  const all = await newTarget().import("unsaved.json", exported({ messages: [q, a, other, ...unsaved] }));
  expect(outline(all.conv!)).toEqual(["user: Where to?", "assistant: Rome", "user: Why?", "assistant: So"]);
});
