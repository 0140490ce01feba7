import { isCost, type Usage } from "../usage.js";

export type { Usage };

/** An object of another program. */
export type Fields = Readonly<Record<string, unknown>>;

/** Hears of a field whose value cannot be taken; the others are taken all the same. */
export type OnBad = (field: string) => void;

/** Above these, the service refuses a usage. */
const MOST_TOKENS = 1_000_000_000;
const MOST_NAME_BYTES = 128;
const MOST_DURATION_MICROS = 30 * 86_400_000_000;
const DIGITS_AFTER_POINT = 18;
const CONTROL = /\p{Cc}/u;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path such as `usage.input_tokens`; undefined where there is none, or null. */
export function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split(".")) found = isFields(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found ?? undefined;
}

/** A number of tokens. */
export function tokensOf(value: unknown): number | undefined {
  return isWhole(value) && value <= MOST_TOKENS ? value : undefined;
}

/** The name of a model or a provider. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "" || CONTROL.test(value) || !value.isWellFormed()) return undefined;
  return new TextEncoder().encode(value).length <= MOST_NAME_BYTES ? value : undefined;
}

/** A cost without an exponent. Of a number, digits that are more than 18 after the point are dropped. */
export function costOf(value: unknown): string | undefined {
  const text = typeof value === "number" ? decimalOf(value) : value;
  return typeof text === "string" && isCost(text) ? text : undefined;
}

export function durationOf(micros: unknown): number | undefined {
  return isWhole(micros) && micros <= MOST_DURATION_MICROS ? micros : undefined;
}

export function timeOf(micros: unknown): number | undefined {
  return isWhole(micros) ? micros : undefined;
}

/** The usage without fields that are absent; undefined when nothing is left. */
export function usageOf(fields: Usage): Usage | undefined {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return known.length === 0 ? undefined : (Object.fromEntries(known) as Usage);
}

function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function decimalOf(value: number): string {
  const [digits = "", exponent] = `${value}`.split("e");
  if (exponent === undefined) return shortened(digits);
  // A number with another exponent is far too large.
  if (!exponent.startsWith("-")) return `${value}`;
  const [whole = "", fraction = ""] = digits.split(".");
  return shortened(`0.${"0".repeat(Number(exponent.slice(1)) - whole.length)}${whole}${fraction}`);
}

function shortened(decimal: string): string {
  const point = decimal.indexOf(".");
  return point < 0 ? decimal : decimal.slice(0, point + 1 + DIGITS_AFTER_POINT);
}
