import { describe, expect, it } from "vitest";
import { shownUsage } from "../../../../src/domain/shapes/shown-usage.js";
import { usageIn } from "../../../../src/domain/shapes/usage-shapes.js";

const TOKENS = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, reasoningTokens: 5 };
const NO_REASONING = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60 };

const LANGCHAIN = {
  input_tokens: 100,
  output_tokens: 20,
  total_tokens: 120,
  input_token_details: { cache_read: 60, cache_creation: 10 },
  output_token_details: { reasoning: 5 },
};
const CHAT = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const RESPONSES = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
};
const ANTHROPIC = {
  input_tokens: 30,
  cache_creation_input_tokens: 10,
  cache_read_input_tokens: 60,
  output_tokens: 20,
  service_tier: "standard",
};
const AI_SDK = {
  inputTokens: 100,
  inputTokenDetails: { noCacheTokens: 30, cacheReadTokens: 60, cacheWriteTokens: 10 },
  outputTokens: 20,
  outputTokenDetails: { textTokens: 15, reasoningTokens: 5 },
  totalTokens: 120,
};
const OPENCODE = {
  modelID: "claude-sonnet-4",
  providerID: "anthropic",
  cost: 0.0123,
  tokens: { total: 125, input: 30, output: 20, reasoning: 5, cache: { read: 60, write: 10 } },
  time: { created: 1_700_000_000_000, completed: 1_700_000_002_500 },
};

describe("usageIn", () => {
  it.each([
    ["OpenAI's chat completions", { usage: CHAT, model: "gpt-5" }, { model: "gpt-5", ...TOKENS }],
    ["OpenAI's responses", { usage: RESPONSES, model: "gpt-5" }, { model: "gpt-5", ...TOKENS }],
    ["Anthropic, whose input is without the cache", { usage: ANTHROPIC, model: "c" }, { model: "c", ...NO_REASONING }],
    [
      "Anthropic without a cache",
      { usage: { input_tokens: 3, output_tokens: 4 } },
      { inputTokens: 3, outputTokens: 4 },
    ],
    [
      "the AI SDK 6 and 7",
      { usage: AI_SDK, model: { provider: "p", modelId: "m" } },
      { model: "m", provider: "p", ...TOKENS },
    ],
    [
      "the AI SDK's totals before its last step",
      { totalUsage: AI_SDK, usage: { inputTokens: 1, outputTokens: 1 } },
      TOKENS,
    ],
    [
      "the AI SDK 5",
      { usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120, reasoningTokens: 5, cachedInputTokens: 60 } },
      TOKENS,
    ],
    [
      "models of the AI SDK",
      { usage: { inputTokens: { total: 100, cacheRead: 60 }, outputTokens: { total: 20, reasoning: 5 } } },
      TOKENS,
    ],
    ["the AI SDK 4", { usage: { promptTokens: 100, completionTokens: 20 } }, { inputTokens: 100, outputTokens: 20 }],
    [
      "LangChain",
      { usage_metadata: LANGCHAIN, response_metadata: { model_name: "gpt-5" } },
      { model: "gpt-5", ...TOKENS },
    ],
    [
      "LangChain's raw answers",
      { response_metadata: { token_usage: CHAT, model_name: "gpt-5", model_provider: "openai" } },
      { model: "gpt-5", provider: "openai", ...TOKENS },
    ],
    [
      "OpenCode, whose reasoning is apart from the output",
      OPENCODE,
      {
        ...{ model: "claude-sonnet-4", provider: "anthropic", ...TOKENS, outputTokens: 25 },
        ...{ cost: "0.0123", currency: "USD", startTimeMicros: 1_700_000_000_000_000, durationMicros: 2_500_000 },
      },
    ],
    [
      "earlier versions of OpenCode, whose output has the reasoning",
      { tokens: { input: 30, output: 20, reasoning: 5, cache: { read: 60, write: 10 } } },
      TOKENS,
    ],
    [
      "what an import has kept",
      { claude_code: { message: { usage: ANTHROPIC, model: "c" } } },
      { model: "c", ...NO_REASONING },
    ],
    [
      "results of Claude's SDK",
      { usage: ANTHROPIC, total_cost_usd: 1.5e-7, duration_ms: 1500 },
      { ...NO_REASONING, cost: "0.00000015", currency: "USD", durationMicros: 1_500_000 },
    ],
  ])("reads %s", (_what, metadata, expected) => {
    expect(usageIn(metadata)).toEqual(expected);
  });

  it.each([
    undefined,
    null,
    5,
    "usage",
    [],
    {},
    { model: "gpt-5" },
    { usage: 7 },
    { usage: { total: 1 } },
    { cost: 5 },
  ])("finds nothing in %j", (value) => {
    expect(usageIn(value)).toBeUndefined();
  });

  it("leaves out what no usage can have, and says which field it was", () => {
    const bad: string[] = [];
    const usage = { input_tokens: -1, output_tokens: 1.5, input_tokens_details: { cached_tokens: 1e10 }, total: "x" };
    const found = usageIn({ usage, model: "m".repeat(129), provider: "p", costUSD: -1 }, (field) => bad.push(field));
    expect(found).toEqual({ provider: "p" });
    expect(bad.toSorted()).toEqual([
      ...["costUSD", "model", "usage.input_tokens", "usage.input_tokens_details.cached_tokens", "usage.output_tokens"],
    ]);
    for (const one of [Number.NaN, Number.POSITIVE_INFINITY, "5", {}, true, 2 ** 53])
      expect(usageIn({ usage: { inputTokens: one, outputTokens: 2 } })).toEqual({ outputTokens: 2 });
    expect(usageIn({ usage: { inputTokens: null, outputTokens: 2 } }, () => expect.fail())).toEqual({
      outputTokens: 2,
    });
  });

  it("writes costs as decimal numbers that the service takes", () => {
    const costs = [0, 12, 0.1, 0.000123, 1.5e-7, 1.234567890123456e-7, 5e-324, 999_999_999_999.5].map(
      (cost) => usageIn({ tokens: { input: 1 }, cost })?.cost,
    );
    expect(costs).toEqual([
      ...["0", "12", "0.1", "0.000123", "0.00000015", "0.000000123456789012", "0.000000000000000000", "999999999999.5"],
    ]);
    // Of 19 to 22 digits after the point, the last ones are dropped.
    const long = [0.0012345678901234567, 0.0000012345678901234567, 123_456.123456789];
    expect(long.map((cost) => usageIn({ tokens: { input: 1 }, cost })?.cost)).toEqual([
      ...["0.001234567890123456", "0.000001234567890123", "123456.123456789"],
    ]);
    for (const cost of [1e12, 1e30, -1, Number.NaN, "1e5"])
      expect(usageIn({ tokens: { input: 1 }, cost })).toEqual({ inputTokens: 1 });
  });
});

describe("shownUsage", () => {
  it("is the message's own usage before what its metadata says", () => {
    const usage = {
      ...{ model: "gpt-5", provider: "", inputTokens: "100", cost: "0.50", currency: "USD" },
      ...{ startTime: "2026-11-28T10:00:00.000001Z", duration: "1.5s" },
    };
    expect(shownUsage({ info: { role: "assistant", usage, metadata: { usage: CHAT } } })).toEqual({
      isRecognised: false,
      usage: {
        ...{ model: "gpt-5", inputTokens: 100, cost: "0.50", currency: "USD" },
        ...{ startTimeMicros: Date.UTC(2026, 10, 28, 10) * 1000 + 1, durationMicros: 1_500_000 },
      },
    });
  });

  it("is otherwise recognised in metadata or parts of what a model has said", () => {
    const parts = [{}, { data: { usage_metadata: LANGCHAIN } }];
    const recognised = { isRecognised: true, usage: TOKENS };
    expect(shownUsage({ info: { role: "assistant", metadata: { usage: CHAT } }, parts: [] })).toEqual(recognised);
    expect(shownUsage({ info: { role: "assistant" }, parts })).toEqual(recognised);
    expect(shownUsage({ info: { role: "tool", metadata: { usage: CHAT } }, parts })).toBeUndefined();
    expect(shownUsage({ info: { role: "assistant", usage: {} }, parts: [] })).toBeUndefined();
  });
});
