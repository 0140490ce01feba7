/** What the model's call that made a message took. What is not known is absent; texts are never empty. */
export interface Usage {
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  /** A decimal number, as the caller wrote it. */
  readonly cost?: string | undefined;
  /** Present exactly when there is a cost. */
  readonly currency?: string | undefined;
  /** Microseconds since 1970. */
  readonly startTimeMicros?: number | undefined;
  /** Microseconds since 1970. */
  readonly firstTokenTimeMicros?: number | undefined;
  readonly durationMicros?: number | undefined;
}

/** A sum of usages. */
export interface UsageSums {
  /** The number of usages. */
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
  readonly durationMicros: number;
  /** Exact amounts, in units of 10^-18, by currency; only those that are not 0. */
  readonly costs: ReadonlyMap<string, bigint>;
}

/** Digits of a cost after the point. */
const COST_DIGITS = 18;

/** 10^18, and how many units the last of so many digits after the point counts. */
const UNITS_OF_ONE = 10n ** BigInt(COST_DIGITS);
const UNITS = Array.from({ length: COST_DIGITS + 1 }, (_, digits) => 10n ** BigInt(COST_DIGITS - digits));

const COST = /^\d{1,12}(?:\.\d{1,18})?$/;

export const NO_USAGE: UsageSums = Object.freeze({
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  durationMicros: 0,
  costs: new Map(),
});

/** Whether a text is a cost: a decimal number without sign and exponent. */
export function isCost(text: string): boolean {
  return COST.test(text);
}

/** A cost in units of 10^-18. */
export function costUnits(cost: string): bigint {
  const point = cost.indexOf(".");
  if (point < 0) return BigInt(cost) * UNITS_OF_ONE;
  const fraction = cost.slice(point + 1);
  return BigInt(cost.slice(0, point) + fraction) * (UNITS[fraction.length] as bigint);
}

/** An amount as a decimal number without trailing zeros after the point. */
export function amountText(units: bigint): string {
  const digits = units.toString().padStart(COST_DIGITS + 1, "0");
  const fraction = digits.slice(-COST_DIGITS).replace(/0+$/, "");
  const whole = digits.slice(0, -COST_DIGITS);
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/** The sums of a single usage. */
export function sumsOf(usage: Usage): UsageSums {
  const { cost, currency } = usage;
  const units = cost === undefined ? 0n : costUnits(cost);
  return {
    calls: 1,
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    cachedInputTokens: usage.cachedInputTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    durationMicros: usage.durationMicros ?? 0,
    costs: units === 0n || currency === undefined ? NO_USAGE.costs : new Map([[currency, units]]),
  };
}

/** The sums with one more usage; equals `plusUsage(sums, sumsOf(usage))`. */
export function plusOne(sums: UsageSums, usage: Usage): UsageSums {
  const { cost, currency } = usage;
  return {
    calls: sums.calls + 1,
    inputTokens: sums.inputTokens + (usage.inputTokens ?? 0),
    outputTokens: sums.outputTokens + (usage.outputTokens ?? 0),
    cachedInputTokens: sums.cachedInputTokens + (usage.cachedInputTokens ?? 0),
    reasoningTokens: sums.reasoningTokens + (usage.reasoningTokens ?? 0),
    durationMicros: sums.durationMicros + (usage.durationMicros ?? 0),
    costs: cost === undefined || currency === undefined ? sums.costs : plusCost(sums.costs, currency, costUnits(cost)),
  };
}

function plusCost(costs: UsageSums["costs"], currency: string, units: bigint): UsageSums["costs"] {
  if (units === 0n) return costs;
  const sum = costs.get(currency);
  // Most often there is a single currency, and a map is made faster than copied.
  const others = costs.size === (sum === undefined ? 0 : 1) ? new Map<string, bigint>() : new Map(costs);
  return others.set(currency, (sum ?? 0n) + units);
}

export function plusUsage(a: UsageSums, b: UsageSums): UsageSums {
  if (a.calls === 0) return b;
  return combined(a, b, 1);
}

/** `b` is part of `a`. */
export function minusUsage(a: UsageSums, b: UsageSums): UsageSums {
  if (a.calls === b.calls) return NO_USAGE;
  return combined(a, b, -1);
}

function combined(a: UsageSums, b: UsageSums, sign: 1 | -1): UsageSums {
  if (b.calls === 0) return a;
  return {
    calls: a.calls + sign * b.calls,
    inputTokens: a.inputTokens + sign * b.inputTokens,
    outputTokens: a.outputTokens + sign * b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + sign * b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + sign * b.reasoningTokens,
    durationMicros: a.durationMicros + sign * b.durationMicros,
    costs: combinedCosts(a.costs, b.costs, BigInt(sign)),
  };
}

function combinedCosts(a: UsageSums["costs"], b: UsageSums["costs"], sign: bigint): UsageSums["costs"] {
  if (b.size === 0) return a;
  const costs = new Map(a);
  for (const [currency, units] of b) {
    const sum = (costs.get(currency) ?? 0n) + sign * units;
    if (sum === 0n) costs.delete(currency);
    else costs.set(currency, sum);
  }
  return costs;
}
