import type { Usage } from "./usage.js";

type Value = string | number | null;
/** The fields of a usage in the order in which they are stored, as far as the last one that is known. */
export type UsageValues = readonly Value[];

/** Whether anything is known. Texts that are empty say nothing. */
export function hasUsage(usage: Usage | undefined): usage is Usage {
  return usage !== undefined && valuesOf(usage).length > 0;
}

/** A copy of the usage with only what is known; undefined if that is nothing. */
export function knownUsage(usage: Usage | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const values = valuesOf(usage);
  return values.length === 0 ? undefined : usageOfValues(values);
}

/** Whether both say the same; what is absent and what is empty are equal. */
export function sameUsage(a: Usage | undefined, b: Usage | undefined): boolean {
  if (a === undefined && b === undefined) return true;
  const values = valuesOf(a ?? {});
  const others = valuesOf(b ?? {});
  return values.length === others.length && values.every((value, i) => value === others[i]);
}

/** The usage as stores keep it: a JSON list of its fields, with null for what is not known, and short at the end. */
export function usageText(usage: Usage): string {
  return JSON.stringify(valuesOf(usage));
}

/** The usage of a list that `usageText` has written. */
export function usageOfValues(values: UsageValues): Usage {
  // Like `valuesOf` written out field by field, because every append and every sum of usage does this.
  return {
    model: (values[0] ?? undefined) as Usage["model"],
    provider: (values[1] ?? undefined) as Usage["provider"],
    inputTokens: (values[2] ?? undefined) as Usage["inputTokens"],
    outputTokens: (values[3] ?? undefined) as Usage["outputTokens"],
    cachedInputTokens: (values[4] ?? undefined) as Usage["cachedInputTokens"],
    reasoningTokens: (values[5] ?? undefined) as Usage["reasoningTokens"],
    cost: (values[6] ?? undefined) as Usage["cost"],
    currency: (values[7] ?? undefined) as Usage["currency"],
    startTimeMicros: (values[8] ?? undefined) as Usage["startTimeMicros"],
    firstTokenTimeMicros: (values[9] ?? undefined) as Usage["firstTokenTimeMicros"],
    durationMicros: (values[10] ?? undefined) as Usage["durationMicros"],
  };
}

/** What `usageText` writes of a usage of which nothing is known. */
export const NOTHING_KNOWN = usageText({});

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

/** A new field comes last. */
function valuesOf(usage: Usage): Value[] {
  const values: Value[] = [
    usage.model || null,
    usage.provider || null,
    usage.inputTokens ?? null,
    usage.outputTokens ?? null,
    usage.cachedInputTokens ?? null,
    usage.reasoningTokens ?? null,
    usage.cost || null,
    usage.currency || null,
    usage.startTimeMicros ?? null,
    usage.firstTokenTimeMicros ?? null,
    usage.durationMicros ?? null,
  ];
  let length = values.length;
  while (length > 0 && values[length - 1] === null) length--;
  values.length = length;
  return values;
}
