import { amountText, costUnits, type Usage } from "../usage.js";
import { costOf, durationOf, nameOf, timeOf, tokensOf, usageOf } from "./counts.js";

/**
 * What several calls took together: of the steps of a run, or of the runs that wrote one message. The model is that of
 * the last one, and the times begin with the first. A number that any of them lacks counts as 0 there. Costs in several
 * currencies cannot be told in one usage and are left out.
 */
export function plusUsages(usages: readonly Usage[]): Usage | undefined {
  const sum = (name: "inputTokens" | "outputTokens" | "cachedInputTokens" | "reasoningTokens" | "durationMicros") => {
    const known = usages.map((usage) => usage[name]).filter((value) => value !== undefined);
    return known.length === 0 ? undefined : known.reduce((a, b) => a + b);
  };
  const first = usages.find(({ startTimeMicros }) => startTimeMicros !== undefined);
  return usageOf({
    model: usages.findLast(({ model }) => model)?.model,
    provider: usages.findLast(({ provider }) => provider)?.provider,
    inputTokens: tokensOf(sum("inputTokens")),
    outputTokens: tokensOf(sum("outputTokens")),
    cachedInputTokens: tokensOf(sum("cachedInputTokens")),
    reasoningTokens: tokensOf(sum("reasoningTokens")),
    ...costSum(usages),
    startTimeMicros: first?.startTimeMicros,
    firstTokenTimeMicros: first?.firstTokenTimeMicros,
    durationMicros: durationOf(sum("durationMicros")),
  });
}

/** The usage without what the service would refuse, which must not cost the message. */
export function checkedUsage(usage: Usage): Usage | undefined {
  const cost = costOf(usage.cost);
  const isPriced = cost !== undefined && usage.currency !== undefined;
  const startTimeMicros = timeOf(usage.startTimeMicros);
  const firstTokenTimeMicros = timeOf(usage.firstTokenTimeMicros);
  const isInOrder = (firstTokenTimeMicros ?? Number.POSITIVE_INFINITY) >= (startTimeMicros ?? 0);
  return usageOf({
    model: nameOf(usage.model),
    provider: nameOf(usage.provider),
    inputTokens: tokensOf(usage.inputTokens),
    outputTokens: tokensOf(usage.outputTokens),
    cachedInputTokens: tokensOf(usage.cachedInputTokens),
    reasoningTokens: tokensOf(usage.reasoningTokens),
    ...(isPriced && { cost, currency: usage.currency }),
    startTimeMicros,
    firstTokenTimeMicros: isInOrder ? firstTokenTimeMicros : undefined,
    durationMicros: durationOf(usage.durationMicros),
  });
}

function costSum(usages: readonly Usage[]): Pick<Usage, "cost" | "currency"> {
  const priced = usages.filter(({ cost }) => cost !== undefined);
  const [{ currency } = {}] = priced;
  if (currency === undefined || priced.some((usage) => usage.currency !== currency)) return {};
  const units = priced.map(({ cost = "0" }) => costUnits(cost)).reduce((a, b) => a + b);
  const cost = costOf(amountText(units));
  return cost === undefined ? {} : { cost, currency };
}
