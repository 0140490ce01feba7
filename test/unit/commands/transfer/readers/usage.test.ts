import { expect, it } from "vitest";
import { ImportNotes } from "../../../../../src/commands/transfer/foreign/import-notes.js";
import { aiSdk } from "../../../../../src/commands/transfer/readers/ai-sdk.js";
import { chatgpt } from "../../../../../src/commands/transfer/readers/chatgpt.js";
import { claudeCode } from "../../../../../src/commands/transfer/readers/claude-code.js";
import { codex } from "../../../../../src/commands/transfer/readers/codex.js";
import { librechat } from "../../../../../src/commands/transfer/readers/librechat.js";
import { opencode } from "../../../../../src/commands/transfer/readers/opencode.js";
import type { Entry, ForeignMessage, JsonReader } from "../../../../../src/commands/transfer/readers/reader.js";
import { newTarget } from "./imported.js";

/** Reads documents one after the other. Resolves to the usages by the ids of messages, for those that have one. */
async function usagesOf(reader: JsonReader, ...documents: readonly (readonly unknown[])[]) {
  const shared = { notes: new ImportNotes(), nowMicros: 0, files: new Map(), calls: new Set<string>() };
  const usages: [string, ForeignMessage["usage"]][] = [];
  for (const [i, values] of documents.entries()) {
    const entries = ReadableStream.from(
      values.map((value, place): Entry => ({ place: `entry ${place + 1}`, value })),
    ) as unknown as AsyncIterable<Entry>;
    for await (const { messages, forks = [] } of reader.read(entries, { ...shared, document: `${i + 1}.jsonl` })) {
      for (const { id, usage } of [...messages, ...forks.flatMap((fork) => fork.messages)])
        if (usage !== undefined) usages.push([id, usage]);
    }
  }
  return { usages, notes: shared.notes.lines().join("\n") };
}

const claudeLine = (uuid: string, parentUuid: string | null, id: string, output: number, more: object = {}) => ({
  ...{ type: "assistant", uuid, parentUuid, sessionId: "s", timestamp: "2026-05-01T10:00:00.000Z" },
  message: {
    ...{ id, role: "assistant", model: "claude-opus-4", content: [{ type: "text", text: uuid }] },
    usage: { input_tokens: 3, cache_read_input_tokens: 90, cache_creation_input_tokens: 7, output_tokens: output },
  },
  ...more,
});
const claudeUser = (uuid: string, parentUuid: string | null) => ({
  ...{ type: "user", uuid, parentUuid, sessionId: "s", timestamp: "2026-05-01T10:00:00.000Z" },
  message: { role: "user", content: "go on" },
});
const ofClaude = (outputTokens: number) => ({
  ...{ model: "claude-opus-4", inputTokens: 100, outputTokens, cachedInputTokens: 90 },
});

it("a response of Claude Code counts once, with the numbers of its last line, however often it was written", async () => {
  const file = [
    claudeUser("u1", null),
    claudeLine("a1", "u1", "msg_1", 1),
    claudeLine("a2", "a1", "msg_1", 1),
    claudeLine("a3", "a2", "msg_1", 25),
    claudeLine("a4", "a3", "msg_2", 8, { costUSD: 0.0123, durationMs: 1500 }),
    {
      ...claudeLine("a5", "a4", "msg_3", 0),
      message: { id: "msg_3", model: "<synthetic>", content: "Error", usage: {} },
    },
  ];
  const expected = [
    ["a1", ofClaude(25)],
    ["a4", { ...ofClaude(8), cost: "0.0123", currency: "USD", durationMicros: 1_500_000 }],
  ];
  expect((await usagesOf(claudeCode, file)).usages).toEqual(expected);
  const continued = [...file.map((line) => ({ ...line, sessionId: "s2" })), claudeLine("b1", "a5", "msg_4", 2)];
  const both = await usagesOf(claudeCode, file, continued);
  expect(both.usages).toEqual([...expected, ["b1", ofClaude(2)]]);
});

const opencodeMessage = (id: string, info: object) => ({
  info: { id, role: "assistant", modelID: "gpt-5", providerID: "openai", ...info },
  parts: [{ id: `${id}-p`, type: "text", text: "x" }],
});
const SPENT = {
  ...{ cost: 0.05, tokens: { input: 10, output: 5, reasoning: 2, cache: { read: 30, write: 4 } } },
  time: { created: 1_700_000_000_000, completed: 1_700_000_004_000 },
};

it("sessions of OpenCode have tokens, cost and times, and copies in forks count nothing", async () => {
  const session = (id: string, messages: readonly unknown[]) => ({ info: { id, title: id }, messages });
  const { usages } = await usagesOf(opencode, [
    session("s", [opencodeMessage("u", { ...SPENT, role: "user" }), opencodeMessage("a", SPENT)]),
    session("fork", [opencodeMessage("copy", SPENT), opencodeMessage("b", { ...SPENT, cost: 0 })]),
  ]);
  const expected = {
    ...{ model: "gpt-5", provider: "openai", inputTokens: 44, outputTokens: 5, cachedInputTokens: 30 },
    ...{ reasoningTokens: 2, cost: "0.05", currency: "USD" },
    ...{ startTimeMicros: 1_700_000_000_000_000, durationMicros: 4_000_000 },
  };
  expect(usages).toEqual([
    ["a", expected],
    ["b", { ...expected, cost: "0" }],
  ]);
});

it("values that are not possible cost only themselves, and are noted", async () => {
  const bad = { ...SPENT, cost: -1, tokens: { input: -5, output: 2.5, reasoning: 2, cache: { read: 1e12 } } };
  const { usages, notes } = await usagesOf(opencode, [{ info: { id: "s" }, messages: [opencodeMessage("a", bad)] }]);
  expect(usages).toEqual([
    [
      "a",
      {
        ...{ model: "gpt-5", provider: "openai", reasoningTokens: 2 },
        ...{ startTimeMicros: 1_700_000_000_000_000, durationMicros: 4_000_000 },
      },
    ],
  ]);
  expect(notes).toContain("values of a usage that are not possible, which were left out");
  expect(notes).toMatch(/"a", cost$/m);
  expect(notes).toMatch(/"a", tokens\.output$/m);
});

it("answers of ChatGPT and LibreChat have their models, and those of the AI SDK what their metadata says", async () => {
  const node = (id: string, role: string) => ({
    ...{ id, parent: null, children: [] },
    message: {
      ...{ id, author: { role }, content: { content_type: "text", parts: ["x"] } },
      metadata: { model_slug: "gpt-4o" },
    },
  });
  const mapping = { u: node("u", "user"), a: { ...node("a", "assistant"), parent: "u" } };
  expect((await usagesOf(chatgpt, [{ id: "c", mapping, current_node: "a" }])).usages).toEqual([
    ["a", { model: "gpt-4o" }],
  ]);
  const said = { text: "x", model: "gpt-4o", endpoint: "openAI" };
  const messages = [
    { messageId: "u", isCreatedByUser: true, ...said },
    { messageId: "a", parentMessageId: "u", isCreatedByUser: false, ...said },
  ];
  expect((await usagesOf(librechat, [{ conversationId: "c", messages }])).usages).toEqual([
    ["a", { model: "gpt-4o", provider: "openAI" }],
  ]);
  const usage = { inputTokens: 7, outputTokens: 2 };
  const ui = (id: string, role: string) => ({ id, role, parts: [{ type: "text", text: "x" }], metadata: { usage } });
  expect((await usagesOf(aiSdk, [{ id: "c", messages: [ui("u", "user"), ui("a", "assistant")] }])).usages).toEqual([
    ["a", usage],
  ]);
});

it("each call of Codex is told of its last message, once", async () => {
  const line = (type: string, payload: object, timestamp = "2026-05-01T10:00:00Z") => ({ type, timestamp, payload });
  const said = (role: string, type: string, text: string) =>
    line("response_item", { type: "message", role, content: [{ type, text }] });
  const count = (total: number, output: number) => {
    const last = { input_tokens: 10, cached_input_tokens: 4, output_tokens: output, reasoning_output_tokens: 1 };
    return line("event_msg", {
      type: "token_count",
      info: { total_token_usage: { total_tokens: total }, last_token_usage: last },
    });
  };
  const head = (id: string) => line("session_meta", { id, model_provider: "openai" });
  const rollout = [
    line("turn_context", { model: "gpt-5-codex" }),
    said("user", "input_text", "Hi"),
    line("event_msg", { type: "token_count", info: null }),
    line("response_item", { type: "function_call", name: "ls", call_id: "c", arguments: "{}" }),
    count(15, 5),
    count(15, 5),
    line("response_item", { type: "function_call_output", call_id: "c", output: "a" }),
    said("assistant", "output_text", "Done"),
    count(32, 7),
  ];
  const shared = {
    model: "gpt-5-codex",
    provider: "openai",
    inputTokens: 10,
    cachedInputTokens: 4,
    reasoningTokens: 1,
  };
  const expected = [
    ["item-2", { ...shared, outputTokens: 5 }],
    ["item-4", { ...shared, outputTokens: 7 }],
  ];
  const forked = [line("session_meta", { id: "2", forked_from_id: "1" }), head("1"), ...rollout];
  expect((await usagesOf(codex, [head("1"), ...rollout], forked)).usages).toEqual(expected);
});

it("usages are stored with the messages, and of a message that was split, with its first piece only", async () => {
  const parts = Array.from({ length: 10_001 }, (_, i) => ({ id: `p${i}`, type: "text", text: "x" }));
  const target = newTarget();
  const long = { ...opencodeMessage("a", SPENT), parts };
  const all = await target.import("s.json", JSON.stringify({ info: { id: "s", title: "s" }, messages: [long] }));
  expect(all.s?.messages.map(({ usage }) => usage?.inputTokens)).toEqual([44, undefined]);
});
