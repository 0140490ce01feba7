import type { Usage } from "./usage.js";

type Value = string | number | null;

/** The fields of a usage in the order in which they are stored. A new one comes last. */
const FIELDS = [
  "model",
  "provider",
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "reasoningTokens",
  "cost",
  "currency",
  "startTimeMicros",
  "firstTokenTimeMicros",
  "durationMicros",
] as const satisfies readonly (keyof Usage)[];

/** Whether anything is known. Texts that are empty say nothing. */
export function hasUsage(usage: Usage | undefined): usage is Usage {
  return usage !== undefined && FIELDS.some((field) => storedValue(usage, field) !== null);
}

/** The usage with only what is known; undefined if that is nothing. */
export function knownUsage(usage: Usage | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const known: Record<string, Value> = {};
  let isEmpty = true;
  for (const field of FIELDS) {
    const value = storedValue(usage, field);
    if (value === null) continue;
    known[field] = value;
    isEmpty = false;
  }
  return isEmpty ? undefined : (known as Usage);
}

/** Whether both say the same; what is absent and what is empty are equal. */
export function sameUsage(a: Usage | undefined, b: Usage | undefined): boolean {
  if (a === undefined && b === undefined) return true;
  return FIELDS.every((field) => storedValue(a ?? {}, field) === storedValue(b ?? {}, field));
}

/** The usage as stores keep it: a JSON list of its fields, with null for what is not known, and short at the end. */
export function usageText(usage: Usage): string {
  const values = FIELDS.map((field) => storedValue(usage, field));
  return JSON.stringify(values.slice(0, values.findLastIndex((value) => value !== null) + 1));
}

/** The usage of a list that `usageText` has written. */
export function usageOfValues(values: readonly Value[]): Usage {
  return Object.fromEntries(FIELDS.map((field, i) => [field, values[i] ?? undefined]));
}

export function usageOfText(text: string): Usage {
  return usageOfValues(JSON.parse(text));
}

/** The model of an erased usage of which nothing else is left, so that it still counts as one. */
const ERASED_MODEL = "erased";

/** The usage without its free texts, which may say anything. */
export function withoutTexts({ model: _model, provider: _provider, ...numbers }: Usage): Usage {
  return hasUsage(numbers) ? numbers : { model: ERASED_MODEL };
}

/** Whether a usage has a free text that an erasure must remove. */
export function hasTexts({ model, provider }: Usage): boolean {
  return Boolean(provider) || Boolean(model && model !== ERASED_MODEL);
}

function storedValue(usage: Usage, field: (typeof FIELDS)[number]): Value {
  const value = usage[field];
  return value === undefined || value === "" ? null : value;
}
