import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImportNotes } from "../../../../../src/commands/transfer/foreign/import-notes.js";
import type { ForeignSession, JsonReader } from "../../../../../src/commands/transfer/readers/reader.js";
import { READERS } from "../../../../../src/commands/transfer/readers/table.js";

/** For each program, documents of several entries, with all kinds of fields that its reader looks at. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  "Claude Code": [
    {
      type: "user",
      uuid: "a",
      parentUuid: null,
      sessionId: "s",
      message: { content: "Hi" },
      timestamp: "2025-01-01T00:00:00Z",
    },
    {
      type: "assistant",
      uuid: "b",
      parentUuid: "a",
      sessionId: "s",
      message: { content: [{ type: "tool_use", id: "t", name: "n", input: {} }] },
    },
    {
      type: "user",
      uuid: "c",
      parentUuid: "b",
      sessionId: "s",
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "x" }] }] },
    },
    {
      type: "attachment",
      uuid: "d",
      parentUuid: "c",
      sessionId: "s",
      attachment: { type: "queued_command", prompt: "p" },
    },
    { type: "system", uuid: "e", parentUuid: "d", sessionId: "s", content: "note" },
    {
      type: "user",
      uuid: "f",
      parentUuid: null,
      sessionId: "s",
      isSidechain: true,
      agentId: "g",
      message: { content: "Sub" },
    },
    { type: "summary", summary: "Title", leafUuid: "e" },
  ],
  "Codex CLI": [
    {
      timestamp: "2025-01-01T00:00:00Z",
      type: "session_meta",
      payload: { id: "s", source: { subagent: { thread_spawn: { parent_thread_id: "p" } } } },
    },
    { type: "turn_context", payload: { model: "m" } },
    {
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
    },
    { type: "event_msg", payload: { type: "user_message", message: "Hi" } },
    { type: "response_item", payload: { type: "reasoning", summary: [{ type: "summary_text", text: "t" }] } },
    {
      type: "response_item",
      payload: { type: "function_call_output", call_id: "c", output: '{"output":"x","metadata":{"exit_code":1}}' },
    },
    { type: "event_msg", payload: { type: "thread_rolled_back", num_turns: 1 } },
    { type: "compacted", payload: { message: "m", replacement_history: [] } },
  ],
  "Claude.ai": ["a", "b"].map((uuid) => ({
    uuid,
    name: "n",
    created_at: "2025-01-01T00:00:00Z",
    chat_messages: [
      {
        uuid: "1",
        sender: "human",
        content: [{ type: "text", text: "q" }],
        attachments: [{ file_name: "f" }],
        parent_message_uuid: "0",
      },
      {
        uuid: "2",
        sender: "assistant",
        content: [
          { type: "tool_use", name: "t", input: {} },
          { type: "tool_result", name: "t", content: [] },
        ],
        parent_message_uuid: "1",
      },
    ],
  })),
  LibreChat: ["a", "b"].map((conversationId) => ({
    conversationId,
    title: "t",
    messages: [
      { messageId: "1", parentMessageId: "0", text: "q", isCreatedByUser: true, files: [{ filename: "f" }] },
      {
        messageId: "2",
        parentMessageId: "1",
        content: [{ type: "tool_call", tool_call: { id: "c", function: { name: "n" } } }],
        children: [],
      },
    ],
  })),
  "the AI SDK": [
    { id: "1", role: "user", parts: [{ type: "text", text: "q" }], metadata: { createdAt: 1 } },
    { id: "2", role: "assistant", content: "x", toolInvocations: [{ state: "result", toolName: "t", result: 1 }] },
    {
      id: "3",
      messages: [{ id: "4", role: "user", parts: [{ type: "tool-invocation", toolInvocation: { toolName: "n" } }] }],
    },
  ],
};

const readers = READERS.filter((reader): reader is JsonReader => "isEntry" in reader && reader.name in SAMPLES);

async function read(reader: JsonReader, entries: readonly unknown[]): Promise<ForeignSession[]> {
  const document = entries.map((value, i) => ({ place: `entry ${i + 1}`, value }));
  const context = {
    notes: new ImportNotes(),
    document: "document.json",
    nowMicros: 0,
    files: new Map(),
    calls: new Set<string>(),
  };
  const sessions: ForeignSession[] = [];
  for await (const session of reader.read(toAsync(document), context)) sessions.push(session);
  return sessions;
}

async function* toAsync<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** The value with another one in place of one of its leaves or branches. */
function damaged(value: unknown, at: number, other: unknown): unknown {
  let left = at;
  const walk = (one: unknown): unknown => {
    left -= 1;
    if (left < 0) return left === -1 ? other : one;
    if (Array.isArray(one)) return one.map(walk);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([key, field]) => [key, walk(field)]));
  };
  return walk(value);
}

const messagesOf = ({ messages, forks = [] }: ForeignSession) => [
  ...messages,
  ...forks.flatMap((fork) => fork.messages),
];

describe.each(readers.map((reader) => [reader.name, reader] as const))("%s", (name, reader) => {
  const entries = SAMPLES[name] as readonly unknown[];

  it("knows its entries", () => {
    expect(entries.some((entry) => reader.isEntry(entry))).toBe(true);
  });

  it("reads a document of which anything was replaced by anything, and yields fields of the right types", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(entries.length - 1),
        fc.nat(40),
        fc.jsonValue({ maxDepth: 3 }),
        async (entry, at, other) => {
          const sessions = await read(
            reader,
            entries.map((value, i) => (i === entry ? damaged(value, at, other) : value)),
          );
          for (const { sessionId, title = "", parentId = "" } of sessions) {
            expect([sessionId, title, parentId].map((one) => typeof one)).toEqual(["string", "string", "string"]);
          }
          for (const { id, role, parts, timestampMicros = 0 } of sessions.flatMap(messagesOf)) {
            expect([typeof id, typeof role, typeof timestampMicros]).toEqual(["string", "string", "number"]);
            for (const { type, text = "", data = {} } of parts) {
              expect([typeof type, typeof text, Array.isArray(data)]).toEqual(["string", "string", false]);
            }
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it("loses nothing but an entry that is replaced", async () => {
    const whole = (await read(reader, entries)).flatMap(messagesOf).length;
    for (const [i] of entries.entries()) {
      const some = await read(reader, entries.with(i, null));
      expect(some.flatMap(messagesOf).length).toBeGreaterThanOrEqual(whole - 2);
    }
  });
});
