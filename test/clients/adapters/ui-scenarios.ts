import type { UIMessageChunk } from "ai";

type Chunk = { readonly type: string; readonly [field: string]: unknown };

export interface Scenario {
  readonly what: string;
  /** The first major version of the AI SDK that has all its chunks. */
  readonly since: 6 | 7;
  readonly chunks: readonly UIMessageChunk[];
}

const maker = (field: string) => ({ providerMetadata: { maker: { field } } });
const text = (id: string, ...deltas: readonly string[]): Chunk[] => [
  { type: "text-start", id },
  ...deltas.map((delta) => ({ type: "text-delta", id, delta })),
  { type: "text-end", id },
];
const reasoning = (id: string, ...deltas: readonly string[]): Chunk[] => [
  { type: "reasoning-start", id, ...maker("begun") },
  ...deltas.map((delta) => ({ type: "reasoning-delta", id, delta })),
  { type: "reasoning-end", id, ...maker("ended") },
];
const input = (toolCallId: string, more = {}): Chunk[] => [
  { type: "tool-input-start", toolCallId, toolName: "pay", ...more },
  { type: "tool-input-delta", toolCallId, inputTextDelta: '{"to":"a' },
  { type: "tool-input-delta", toolCallId, inputTextDelta: 'da"}' },
];
const call = (toolCallId: string, more = {}): Chunk => {
  return { type: "tool-input-available", toolCallId, toolName: "pay", input: { to: "ada" }, ...more };
};
const output = (toolCallId: string, more = {}): Chunk => {
  return { type: "tool-output-available", toolCallId, output: { paid: [1, null] }, ...more };
};
const failure = (toolCallId: string) => ({ type: "tool-output-error", toolCallId, errorText: "No money" });
const approval = (toolCallId: string, more = {}): Chunk => {
  return { type: "tool-approval-request", toolCallId, approvalId: `of-${toolCallId}`, ...more };
};
const data = (id: string, value: unknown): Chunk => ({ type: "data-chart", id, data: value });
const STEP: Chunk = { type: "start-step" };
const END: Chunk = { type: "finish-step" };
const RESET: Chunk = { type: "reset-step" };

const scenario = (what: string, since: 6 | 7, chunks: readonly Chunk[]): Scenario => {
  const all = [{ type: "start", messageId: "answer" }, STEP, ...chunks, END, { type: "finish" }];
  return { what, since, chunks: all as UIMessageChunk[] };
};

/** Answers that together have every kind of chunk. */
export const SCENARIOS: readonly Scenario[] = [
  scenario("texts and reasoning, one after the other and at once", 6, [
    ...reasoning("rs_1", "Look", " it up"),
    ...text("1", "Late", " 4月 ", "👩‍🌾"),
    { type: "text-start", id: "2", ...maker("begun") },
    { type: "reasoning-start", id: "rs_2" },
    { type: "text-delta", id: "2", delta: "to", ...maker("later") },
    { type: "reasoning-delta", id: "rs_2", delta: "Hm" },
    { type: "text-delta", id: "2", delta: " May" },
    { type: "reasoning-end", id: "rs_2" },
    { type: "text-end", id: "2" },
  ]),
  scenario("ids that are used again in the next step", 6, [
    ...reasoning("0", "One"),
    ...text("0", "a"),
    call("c"),
    output("c"),
    END,
    STEP,
    ...reasoning("0", "Two"),
    ...text("0", "b", "c"),
  ]),
  scenario("calls with every end", 6, [
    ...input("a", { title: "Pay", providerExecuted: true }),
    call("a", { ...maker("call"), title: "Pay", providerExecuted: true }),
    output("a", { preliminary: true }),
    output("a", maker("result")),
    call("b"),
    failure("b"),
    call("c", { dynamic: true }),
    output("c"),
    ...input("d", { dynamic: true }),
    call("d", { dynamic: true }),
    failure("d"),
    call("e"),
  ]),
  scenario("inputs that cannot be parsed", 6, [
    { type: "tool-input-start", toolCallId: "a", toolName: "pay" },
    { type: "tool-input-error", toolCallId: "a", toolName: "pay", input: '{"to', errorText: "Bad input" },
    { type: "tool-input-error", toolCallId: "b", toolName: "pay", input: '{"to', errorText: "Bad", dynamic: true },
  ]),
  scenario("an input that never ends", 6, input("a")),
  scenario("files, sources, data and metadata", 6, [
    { type: "message-metadata", messageMetadata: { model: "m" } },
    { type: "file", url: "data:text/plain,x", mediaType: "text/plain" },
    { type: "source-url", sourceId: "s", url: "https://example.com/", title: "Azaleas" },
    { type: "source-document", sourceId: "d", mediaType: "text/plain", title: "Notes", filename: "n.txt" },
    data("1", [1]),
    data("2", { at: { $number: "1" } }),
    data("1", [1, 2]),
    { type: "data-passing", data: 1, transient: true },
    { type: "data-log", data: "one" },
    { type: "data-log", data: "two" },
    { type: "message-metadata", messageMetadata: { tokens: 7 } },
  ]),
  scenario("an approval that is asked for", 6, [call("c"), approval("c")]),
  scenario("approvals that are given, and one that is denied", 7, [
    call("a"),
    approval("a", { isAutomatic: true, signature: "sig", reason: "large", approvalDescriptor: { sum: 9 } }),
    { type: "tool-approval-response", approvalId: "of-a", approved: true, reason: "known" },
    output("a"),
    call("b", { dynamic: true }),
    approval("b", { inputSchemaInput: { to: "ada" } }),
    { type: "tool-approval-response", approvalId: "of-b", approved: false, reason: "unknown" },
    { type: "tool-output-denied", toolCallId: "b" },
    call("c"),
    approval("c"),
    { type: "tool-approval-response", approvalId: "of-c", approved: true },
  ]),
  scenario("parts that only ai 7 has", 7, [
    { type: "custom", kind: "openai.compaction", ...maker("custom") },
    { type: "reasoning-file", url: "data:text/plain,x", mediaType: "text/plain" },
    { type: "steering-message", id: "s", parts: [{ type: "text", text: "Turn left" }] },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Left" },
    { type: "text-end", id: "1", citations: [{ type: "url", url: "https://example.com/" }] },
    ...input("t", { inputEncoding: "text" }),
  ]),
  scenario("a step that is retried, with more than before", 7, [
    ...text("1", "wrong"),
    call("c"),
    RESET,
    ...text("1", "right"),
    ...reasoning("r", "so"),
    data("1", 1),
  ]),
  scenario("a step that is retried, with less than before", 7, [
    ...text("1", "kept"),
    END,
    STEP,
    ...reasoning("r", "wrong"),
    call("c"),
    output("c"),
    data("1", 1),
    RESET,
    ...text("2", "right"),
    END,
    STEP,
    ...text("3", "wrong", " again"),
    RESET,
    RESET,
  ]),
  scenario("a step that is retried with other calls of the same ids", 7, [
    call("c", { input: { to: "eve" } }),
    { type: "source-url", sourceId: "s", url: "https://example.com/1" },
    RESET,
    call("c", { dynamic: true }),
    output("c"),
    { type: "source-url", sourceId: "s", url: "https://example.com/2" },
  ]),
];
