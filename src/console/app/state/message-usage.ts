import type { Message, Usage } from "../api/types.js";
import { count, duration } from "../text/format.js";
import { compact, milliseconds, money } from "./usage-sums.js";

/** What the call that made a message took, in numbers to reckon with. */
export interface MessageUsage {
  readonly model: string;
  readonly provider: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
  readonly cost?: { readonly amount: string; readonly currency: string };
  readonly startMs?: number;
  readonly firstTokenMs?: number;
  readonly durationMs?: number;
  /** Whether it was found in the metadata, so that no sum counts it. */
  readonly isRecognised: boolean;
}

export function usageOf({ info }: Message): MessageUsage | undefined {
  return info.usage && ofJson(info.usage);
}

function ofJson(usage: Usage): MessageUsage {
  const { model = "", provider = "", cost, currency, startTime, firstTokenTime } = usage;
  return defined({
    model,
    provider,
    inputTokens: numberOf(usage.inputTokens),
    outputTokens: numberOf(usage.outputTokens),
    cachedInputTokens: numberOf(usage.cachedInputTokens),
    reasoningTokens: numberOf(usage.reasoningTokens),
    cost: cost && currency ? { amount: cost, currency } : undefined,
    startMs: startTime ? Date.parse(startTime) : undefined,
    firstTokenMs: firstTokenTime ? Date.parse(firstTokenTime) : undefined,
    durationMs: milliseconds(usage.duration),
    isRecognised: false,
  });
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** Leaves out what is undefined. */
function defined(usage: { [Name in keyof MessageUsage]: MessageUsage[Name] | undefined }): MessageUsage {
  return Object.fromEntries(
    Object.entries(usage).filter(([, value]) => value !== undefined),
  ) as unknown as MessageUsage;
}

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
