import type { Usage } from "../usage.js";
import { costOf, type Fields, isFields, usageOf } from "./counts.js";
import { usageIn } from "./usage-shapes.js";

/** A message as the API's JSON has it. */
export interface ShownMessage {
  readonly info?: { readonly role?: string; readonly metadata?: unknown; readonly usage?: unknown } | undefined;
  readonly parts?: readonly { readonly data?: unknown }[] | undefined;
}

/** A usage, and whether it is the message's own or was recognised in its metadata or its parts. */
export interface ShownUsage {
  readonly usage: Usage;
  readonly isRecognised: boolean;
}

/** RFC 3339, as the API's JSON has it. */
const TIME = /^(.*T\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;
const DURATION = /^(\d+)(?:\.(\d{1,9}))?s$/;

/**
 * What to show of the call that made a message: its own usage or, where it has none, one in a known form in its
 * metadata, else in the data of its first part that has one. Sums count only own usages.
 */
export function shownUsage({ info, parts = [] }: ShownMessage): ShownUsage | undefined {
  const own = isFields(info?.usage) ? usageOfJson(info.usage) : undefined;
  if (own !== undefined) return { usage: own, isRecognised: false };
  // What a user or a tool says, such as the answer of an API, is about other calls.
  if (info?.role === "user" || info?.role === "tool") return undefined;
  for (const value of [info?.metadata, ...parts.map(({ data }) => data)]) {
    const usage = usageIn(value);
    if (usage !== undefined) return { usage, isRecognised: true };
  }
  return undefined;
}

/** A usage of the API's JSON, where numbers of tokens are texts. */
function usageOfJson(json: Fields): Usage | undefined {
  const { model, provider, cost, currency } = json;
  return usageOf({
    model: textOf(model),
    provider: textOf(provider),
    inputTokens: numberOf(json.inputTokens),
    outputTokens: numberOf(json.outputTokens),
    cachedInputTokens: numberOf(json.cachedInputTokens),
    reasoningTokens: numberOf(json.reasoningTokens),
    cost: costOf(cost),
    currency: textOf(currency),
    startTimeMicros: timeMicros(json.startTime),
    firstTokenTimeMicros: timeMicros(json.firstTokenTime),
    durationMicros: durationMicros(json.duration),
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function timeMicros(value: unknown): number | undefined {
  const [, seconds, fraction = ""] = TIME.exec(`${value}`) ?? [];
  const millis = seconds === undefined ? Number.NaN : Date.parse(`${seconds}Z`);
  return Number.isNaN(millis) ? undefined : millis * 1000 + microsOf(fraction);
}

function durationMicros(value: unknown): number | undefined {
  const [, seconds, fraction = ""] = DURATION.exec(`${value}`) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000_000 + microsOf(fraction);
}

function microsOf(fraction: string): number {
  return Number(fraction.padEnd(6, "0").slice(0, 6));
}
