import { expect, it } from "vitest";
import { viewsOfParts } from "../../../../../src/parts/recognise.js";
import { newTarget, outline } from "./imported.js";

const ROOT = "00000000-0000-4000-8000-000000000000";
const said = (uuid: string, sender: string, content: unknown[], more: object = {}) => ({
  uuid,
  text: content.map((block) => (block as { text?: string }).text ?? "").join(""),
  content,
  sender,
  created_at: "2025-03-04T05:06:07.123456Z",
  updated_at: "2025-03-04T05:06:07.123456Z",
  attachments: [],
  files: [],
  ...more,
});
const text = (value: string) => ({ type: "text", text: value, citations: [], start_timestamp: null });
const conversation = (chat_messages: unknown[], more: object = {}) => ({
  uuid: "c-1",
  name: "Trip",
  summary: "",
  created_at: "2025-03-04T05:06:00.000000Z",
  updated_at: "2025-03-05T05:06:00.000000Z",
  account: { uuid: "me" },
  chat_messages,
  ...more,
});

it("conversations come with times, files and calls that know their results", async () => {
  const messages = [
    said("m1", "human", [], {
      attachments: [{ file_name: "notes.txt", file_size: 3, file_type: "txt", extracted_content: "abc" }],
      files: [{ file_name: "map.png", file_uuid: "f" }],
    }),
    said("m2", "assistant", [
      { type: "thinking", thinking: "Search", summaries: [] },
      { type: "tool_use", name: "web_search", input: { query: "x" } },
      { type: "tool_result", name: "web_search", content: [{ type: "text", text: "found" }], is_error: false },
      text("Go"),
    ]),
    null,
    { ...said("m3", "human", [text("Thanks")]), content: undefined, text: "Thanks" },
  ];
  const target = newTarget();
  for (let i = 0; i < 2; i++) {
    const all = await target.import("conversations.json", [
      conversation(messages),
      { uuid: "bad", chat_messages: 1 },
      5,
    ]);
    const { session, messages: stored } = all["c-1"]!;
    expect(session).toMatchObject({
      title: "Trip",
      createTimeMicros: Date.parse("2025-03-04T05:06:00Z") * 1000,
      updateTimeMicros: Date.parse("2025-03-05T05:06:00Z") * 1000,
    });
    expect(stored.map(({ id, role }) => `${id} ${role}`)).toEqual(["m1 user", "m2 assistant", "m3 user"]);
    expect(stored[0]?.timestampMicros).toBe(Date.parse("2025-03-04T05:06:07Z") * 1000 + 123_456);
    const views = stored.flatMap(({ parts }) => viewsOfParts(parts));
    expect(views).toMatchObject([
      { kind: "file", name: "notes.txt" },
      { kind: "file", name: "map.png" },
      { kind: "reasoning", text: "Search" },
      { kind: "call", callId: "m2-1", name: "web_search", args: { query: "x" } },
      { kind: "result", callId: "m2-1", output: { text: "found" } },
      { kind: "text", text: "Go" },
      { kind: "text", text: "Thanks" },
    ]);
    expect(target.last.leftOut).toBeGreaterThan(0);
  }
});

it("edited questions become forks, and the branch of the current leaf is the session", async () => {
  const at = (parent: string) => ({ parent_message_uuid: parent });
  const messages = [
    said("q", "human", [text("q")], at(ROOT)),
    said("a", "assistant", [text("a")], at("q")),
    said("q2", "human", [text("q2")], at("a")),
    said("a-other", "assistant", [text("other a")], at("q")),
    said("q-other", "human", [text("other q")], at(ROOT)),
  ];
  const all = await newTarget().import("conversations.json", [
    conversation(messages, { current_leaf_message_uuid: "q2" }),
  ]);
  expect(outline(all["c-1"]!)).toEqual(["user: q", "assistant: a", "user: q2"]);
  const forks = Object.values(all).filter(({ session }) => session.sessionId !== "c-1");
  expect(forks.map(outline).sort()).toEqual([["user: other q"], ["user: q", "assistant: other a"]]);
});
