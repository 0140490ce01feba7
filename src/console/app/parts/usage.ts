import { shownUsage } from "../../../domain/shapes/shown-usage.js";
import type { Message } from "../api/types.js";

/** What the call that made a message took, in numbers to reckon with. */
export interface MessageUsage {
  /** Empty when it is not known, as `provider`. */
  readonly model: string;
  readonly provider: string;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly cost?: { readonly amount: string; readonly currency: string } | undefined;
  readonly startMs?: number | undefined;
  readonly firstTokenMs?: number | undefined;
  readonly durationMs?: number | undefined;
  /** Whether it was found in the metadata, so that no sum counts it. */
  readonly isRecognised: boolean;
}

const known = new WeakMap<Message, MessageUsage | null>();

/** What a message says of its usage, or its metadata in a known form; read once. */
export function usageOf(message: Message): MessageUsage | undefined {
  let found = known.get(message);
  if (found === undefined) {
    found = read(message) ?? null;
    known.set(message, found);
  }
  return found ?? undefined;
}

function read(message: Message): MessageUsage | undefined {
  const shown = shownUsage(message);
  if (shown === undefined) return undefined;
  const { usage, isRecognised } = shown;
  const { model = "", provider = "", cost, currency, startTimeMicros, firstTokenTimeMicros, durationMicros } = usage;
  return {
    model,
    provider,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cachedInputTokens: usage.cachedInputTokens,
    reasoningTokens: usage.reasoningTokens,
    cost: cost && currency ? { amount: cost, currency } : undefined,
    startMs: inMs(startTimeMicros),
    firstTokenMs: inMs(firstTokenTimeMicros),
    durationMs: inMs(durationMicros),
    isRecognised,
  };
}

function inMs(micros: number | undefined): number | undefined {
  return micros === undefined ? undefined : micros / 1000;
}
