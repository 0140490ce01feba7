import { NO_USAGE, plusOne, type Usage, type UsageSums } from "../../domain/usage.js";

/**
 * The sums of usage over the entries of one log up to a place. They are part of the entry at that place and never
 * change, because what stands before it in the log never does.
 */
export interface RunningUsage {
  /** Over all entries. */
  readonly all: UsageSums;
  /** Over those that were first written to the session that owns the log, by its client's id. */
  readonly own: UsageSums;
  /** Over the others, by the session that they were first written to; of at most eight sessions. */
  readonly foreign: ReadonlyMap<string, UsageSums>;
  /** Whether there are entries of sessions that `foreign` lacks. */
  readonly more: boolean;
}

/**
 * How many sessions' sums an entry holds apart, and in how many currencies each, so that copies from many sessions
 * cannot make it large.
 */
const MOST_FOREIGN = 8;
const MOST_CURRENCIES = 4;

/** The sums of an empty log. */
export const NOTHING_USED: RunningUsage = Object.freeze({
  all: NO_USAGE,
  own: NO_USAGE,
  foreign: new Map<string, UsageSums>(),
  more: false,
});

/** The sums after one more entry. */
export function plusEntry(
  before: RunningUsage,
  { sessionId, originSessionId }: { readonly sessionId: string; readonly originSessionId: string },
  usage: Usage,
): RunningUsage {
  const all = plusOne(before.all, usage);
  const { foreign: others, more } = before;
  if (originSessionId === sessionId) {
    const own = before.own.calls === before.all.calls ? all : plusOne(before.own, usage);
    return { all, own, foreign: others, more };
  }
  const known = before.foreign.get(originSessionId);
  // Once a session is missing in `foreign`, it must not appear there later, with only a part of its entries.
  if (known === undefined && (before.more || before.foreign.size >= MOST_FOREIGN))
    return { ...before, all, more: true };
  const sums = plusOne(known ?? NO_USAGE, usage);
  const foreign = new Map(before.foreign);
  if (sums.costs.size <= MOST_CURRENCIES) return { ...before, all, foreign: foreign.set(originSessionId, sums) };
  foreign.delete(originSessionId);
  return { ...before, all, foreign, more: true };
}

type SumsValues = readonly [...numbers: readonly number[], costs: { readonly [currency: string]: string }];
/** `own` is null where it equals `all`. */
interface StoredSums {
  readonly all: SumsValues;
  readonly own?: SumsValues;
  readonly foreign?: readonly (readonly [sessionId: string, sums: SumsValues])[];
  readonly more?: true;
}

/** The sums as stores keep them. */
export function runningText({ all, own, foreign, more }: RunningUsage): string {
  // Each append with usage writes it, so what most have is put together as text.
  const ofAll = `{"all":${valuesText(all)}`;
  const ofOwn = own.calls === all.calls ? "" : `,"own":${valuesText(own)}`;
  if (foreign.size === 0) return `${ofAll}${ofOwn}${more ? ',"more":true' : ""}}`;
  const others = [...foreign].map(([sessionId, sums]) => `[${JSON.stringify(sessionId)},${valuesText(sums)}]`);
  return `${ofAll}${ofOwn},"foreign":[${others}]${more ? ',"more":true' : ""}}`;
}

export function runningOfText(text: string): RunningUsage {
  const { all, own, foreign = [], more = false } = JSON.parse(text) as StoredSums;
  const sums = sumsOfValues(all);
  return {
    all: sums,
    own: own === undefined ? sums : sumsOfValues(own),
    foreign: new Map(foreign.map(([sessionId, values]) => [sessionId, sumsOfValues(values)])),
    more,
  };
}

/** Costs are texts, because they have more digits than a number can hold. */
function valuesText(sums: UsageSums): string {
  const { calls, inputTokens, outputTokens, cachedInputTokens, reasoningTokens, durationMicros, costs } = sums;
  const numbers = `${calls},${inputTokens},${outputTokens},${cachedInputTokens},${reasoningTokens},${durationMicros}`;
  if (costs.size === 0) return `[${numbers}]`;
  let amounts = "";
  for (const [currency, units] of costs) {
    amounts += `${amounts === "" ? "" : ","}${JSON.stringify(currency)}:"${units}"`;
  }
  return `[${numbers},{${amounts}}]`;
}

function sumsOfValues(values: SumsValues): UsageSums {
  const [calls = 0, inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0, durationMicros = 0] =
    values as readonly number[];
  const costs = Object.entries(values[6] ?? {}).map(([currency, units]) => [currency, BigInt(units)] as const);
  return {
    calls,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    reasoningTokens,
    durationMicros,
    costs: costs.length === 0 ? NO_USAGE.costs : new Map(costs),
  };
}
