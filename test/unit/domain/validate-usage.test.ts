import { expect, it } from "vitest";
import type { Usage } from "../../../src/domain/usage.js";
import { checkUsage } from "../../../src/domain/validate-usage.js";

const FULL: Required<Usage> = {
  model: "é".repeat(64),
  provider: "x".repeat(128),
  inputTokens: 0,
  outputTokens: 1e9,
  cachedInputTokens: 1e9,
  reasoningTokens: 1,
  cost: `${"9".repeat(12)}.${"9".repeat(18)}`,
  currency: "JPY",
  startTimeMicros: Number.MIN_SAFE_INTEGER,
  firstTokenTimeMicros: Number.MIN_SAFE_INTEGER,
  durationMicros: 30 * 86_400_000_000,
};

it("accepts a usage with everything, up to the limits, and one without anything", () => {
  for (const usage of [FULL, {}, undefined, { model: "", provider: "", cost: "", currency: "" }]) {
    expect(() => checkUsage("usage", usage)).not.toThrow();
  }
  // SDKs disagree whether the cached tokens are among the others.
  expect(() => checkUsage("usage", { inputTokens: 1, cachedInputTokens: 2 })).not.toThrow();
});

const TOKENS = "a whole number from 0 to 1000000000 is allowed";
const COST = "usage.cost is no decimal number";
it.each<[object, string]>([
  [{ model: "é".repeat(65) }, "usage.model is 130 bytes; at most 128 are allowed"],
  [{ model: "a\u0000" }, "usage.model must not contain control characters"],
  [{ model: "\ud800" }, "usage.model is not well-formed Unicode"],
  [{ model: 1 }, "usage.model must be a string"],
  [{ provider: "x".repeat(129) }, "usage.provider is 129 bytes; at most 128 are allowed"],
  [{ inputTokens: -1 }, `usage.input_tokens is -1; ${TOKENS}`],
  [{ outputTokens: 1e9 + 1 }, `usage.output_tokens is 1000000001; ${TOKENS}`],
  [{ cachedInputTokens: 0.5 }, `usage.cached_input_tokens is 0.5; ${TOKENS}`],
  [{ reasoningTokens: Number.NaN }, `usage.reasoning_tokens is NaN; ${TOKENS}`],
  ...["-1", "1e3", ".5", "1.", "1,5", " 1", "1234567890123", `0.${"1".repeat(19)}`, "\u0661"].map(
    (cost): [object, string] => [{ cost, currency: "USD" }, COST],
  ),
  [{ cost: "1" }, "usage.currency is required with a cost"],
  [{ currency: "USD" }, "usage.currency must be empty without a cost"],
  [{ cost: "1", currency: "usd" }, "usage.currency is no code of ISO 4217"],
  [{ cost: "1", currency: "ABC" }, "usage.currency is no code of ISO 4217"],
  [{ startTimeMicros: 2 ** 53 }, "usage.start_time is out of range"],
  [{ firstTokenTimeMicros: 0.5 }, "usage.first_token_time is out of range"],
  [{ startTimeMicros: 2, firstTokenTimeMicros: 1 }, "usage.first_token_time is before start_time"],
  [{ durationMicros: -1 }, "usage.duration is out of range: from 0 to 30 days are allowed"],
  [{ durationMicros: 30 * 86_400_000_000 + 1 }, "usage.duration is out of range"],
  [{ durationMicros: 0.5 }, "usage.duration is out of range"],
])("refuses %o", (usage, text) => {
  expect(() => checkUsage("usage", usage as Usage)).toThrow(text);
});
