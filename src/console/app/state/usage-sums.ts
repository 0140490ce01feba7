import type { Cost, UsageSums } from "../api/types.js";
import { count, duration, plural } from "../text/format.js";

/** What the time is called that calls of models took, added up. */
export const MODEL_TIME = "Time of models";
export const MODEL_TIME_MEANS = "How long the calls of models took, added up; tools and waiting are not in it";

const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** A number of tokens, as short as a list needs it. */
export function compact(number: number | string | undefined): string {
  const value = Number(number ?? 0);
  return value < 1000 ? count(value) : COMPACT.format(value);
}

/** Milliseconds of a duration as REST writes it; undefined when there is none. */
export function milliseconds(duration: string | undefined): number | undefined {
  return duration ? Number.parseFloat(duration) * 1000 : undefined;
}

/**
 * An amount with its currency: two digits after the point, or as many as it takes to show the first three that count.
 */
export function money({ amount, currency }: Cost): string {
  const value = Number(amount);
  const digits = value >= 1 || value === 0 ? 2 : Math.min(18, Math.ceil(-Math.log10(value)) + 2);
  const format = { minimumFractionDigits: 2, maximumFractionDigits: Math.max(2, digits) };
  try {
    return new Intl.NumberFormat(undefined, { style: "currency", currency, ...format }).format(value);
  } catch {
    // A currency that this browser does not take.
    return `${new Intl.NumberFormat(undefined, format).format(value)} ${currency}`;
  }
}

/** Amounts of several currencies, which are never added up. */
export function costs(all: readonly Cost[] | undefined): string {
  return (all ?? []).map(money).join(" + ");
}

/** Tokens that were read and written. */
export function tokensOf({ inputTokens = "0", outputTokens = "0" }: UsageSums): number {
  return Number(inputTokens) + Number(outputTokens);
}

export function hasCalls(sums: UsageSums | undefined): sums is UsageSums {
  return Number(sums?.calls ?? 0) > 0;
}

/** Sums in a line: calls, tokens, cost. */
export function sumsLine(sums: UsageSums): string {
  const tokens = tokensOf(sums);
  return [`${compact(tokens)} ${tokens === 1 ? "token" : "tokens"}`, costs(sums.costs)].filter(Boolean).join(" · ");
}

/** All that is known of sums, by name, with the exact numbers. */
export function sumsFacts(sums: UsageSums): readonly (readonly [name: string, value: string])[] {
  const took = milliseconds(sums.duration) ?? 0;
  return [
    ["Calls of models", count(sums.calls)],
    ["Tokens read", withPart(sums.inputTokens, sums.cachedInputTokens, "from a cache")],
    ["Tokens written", withPart(sums.outputTokens, sums.reasoningTokens, "for reasoning")],
    ["Cost", costs(sums.costs) || "not reported"],
    [MODEL_TIME, took > 0 ? duration(took) : "not reported"],
  ];
}

function withPart(all: string | undefined, part: string | undefined, of: string): string {
  return Number(part ?? 0) > 0 ? `${count(all)}, ${count(part)} of them ${of}` : count(all);
}

/** Adds two sums exactly; amounts of different currencies stay apart. */
export function added(one: UsageSums = {}, other: UsageSums = {}): UsageSums {
  return combined(one, other, 1n);
}

/** Takes what is in both sums away from the first. */
export function without(one: UsageSums = {}, other: UsageSums = {}): UsageSums {
  return combined(one, other, -1n);
}

function combined(one: UsageSums, other: UsageSums, sign: 1n | -1n): UsageSums {
  const sum = (name: "calls" | "inputTokens" | "outputTokens" | "cachedInputTokens" | "reasoningTokens") =>
    String(BigInt(one[name] ?? 0) + sign * BigInt(other[name] ?? 0));
  const amounts = new Map<string, bigint>();
  for (const { currency, amount } of one.costs ?? []) amounts.set(currency, scaled(amount));
  for (const { currency, amount } of other.costs ?? [])
    amounts.set(currency, (amounts.get(currency) ?? 0n) + sign * scaled(amount));
  const took = (milliseconds(one.duration) ?? 0) + Number(sign) * (milliseconds(other.duration) ?? 0);
  return {
    calls: sum("calls"),
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    cachedInputTokens: sum("cachedInputTokens"),
    reasoningTokens: sum("reasoningTokens"),
    costs: [...amounts].filter(([, amount]) => amount !== 0n).map(([currency, amount]) => unscaled(currency, amount)),
    duration: `${took / 1000}s`,
  };
}

/** Digits after the point that amounts have at most. */
const DIGITS = 18;

function scaled(amount: string): bigint {
  const [whole = "0", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(DIGITS, "0").slice(0, DIGITS));
}

function unscaled(currency: string, amount: bigint): Cost {
  const sign = amount < 0n ? "-" : "";
  const digits = String(amount < 0n ? -amount : amount).padStart(DIGITS + 1, "0");
  const fraction = digits.slice(-DIGITS).replace(/0+$/, "");
  return { currency, amount: `${sign}${digits.slice(0, -DIGITS)}${fraction && `.${fraction}`}` };
}

/** The amount of a currency, to compare; 0 when there is none. */
export function amountOf(sums: UsageSums, currency: string): number {
  return Number(sums.costs?.find((cost) => cost.currency === currency)?.amount ?? 0);
}

export function callsLine({ calls }: UsageSums): string {
  return plural(Number(calls ?? 0), "call");
}
