import type { MessageUsage } from "../parts/usage.js";
import { count, duration } from "../text/format.js";
import { compact, money } from "./usage-sums.js";

/** A usage in a line: model, tokens, cost, time. */
export function usageLine({ model, inputTokens, outputTokens, cost, durationMs }: MessageUsage): string {
  return [
    model,
    inputTokens !== undefined && `${compact(inputTokens)} in`,
    outputTokens !== undefined && `${compact(outputTokens)} out`,
    cost && money(cost),
    durationMs !== undefined && duration(durationMs),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The exact numbers of a usage, and where they come from. */
export function usageDetails(usage: MessageUsage): string {
  const { provider, inputTokens, cachedInputTokens, outputTokens, reasoningTokens, cost, startMs, firstTokenMs } =
    usage;
  const first = startMs !== undefined && firstTokenMs !== undefined ? firstTokenMs - startMs : undefined;
  const facts = [
    provider && `Provider ${provider}`,
    inputTokens !== undefined && `${count(inputTokens)} tokens read`,
    cachedInputTokens && `${count(cachedInputTokens)} of them from a cache`,
    outputTokens !== undefined && `${count(outputTokens)} tokens written`,
    reasoningTokens && `${count(reasoningTokens)} of them for reasoning`,
    cost && `cost ${cost.amount} ${cost.currency}`,
    first !== undefined && first >= 0 && `first token after ${duration(first)}`,
    usage.isRecognised && "found in the metadata, so in no sum",
  ];
  return facts.filter(Boolean).join(", ");
}
