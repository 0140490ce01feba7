import type { Usage } from "../usage.js";
import { costOf, durationOf, type Fields, isFields, nameOf, type OnBad, timeOf, usageOf, valueAt } from "./counts.js";
import { tokensIn } from "./token-shapes.js";

/** Where the numbers of tokens are, in the order in which they are looked for. Totals come before those of a step. */
const COUNTS = [
  ...["totalUsage", "usage", "usage_metadata", "tokens"],
  ...["response_metadata.token_usage", "response_metadata.usage", "token_usage", "tokenUsage"],
];
const MODELS = [
  ...["model", "model.modelId", "model.modelID", "modelId", "modelID", "model_id", "model_name", "response.modelId"],
  ...["response_metadata.model_name", "response_metadata.model", "model_slug"],
];
const PROVIDERS = [
  ...["provider", "model.provider", "model.providerID", "providerId", "providerID", "model_provider"],
  "response_metadata.model_provider",
];
/** Costs in US dollars. A `cost` is one only beside the tokens of OpenCode. */
const DOLLARS = ["costUSD", "total_cost_usd"];
const DURATIONS_MS = ["durationMs", "duration_ms"];
/** What adapters and imports put around the fields of other programs. */
const WRAPPED = ["opencode", "claude_code.message", "claude_code", "openai", "data"];

/**
 * What a model's call took, as an object of another program says it: metadata of a message, or the data of a part, in
 * the forms of OpenAI, Anthropic, the AI SDK, LangChain and OpenCode. Undefined for all others: a model alone is none.
 * A value that no usage can have is left out.
 */
export function usageIn(value: unknown, onBad: OnBad = () => {}): Usage | undefined {
  if (!isFields(value)) return undefined;
  const own = ownUsage(value, onBad);
  if (own !== undefined) return own;
  for (const path of WRAPPED) {
    const inner = valueAt(value, path);
    const found = isFields(inner) ? ownUsage(inner, onBad) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function ownUsage(fields: Fields, onBad: OnBad): Usage | undefined {
  const tokens = countedIn(fields, onBad);
  const cost = costIn(fields, onBad);
  if (tokens === undefined && cost === undefined) return undefined;
  return usageOf({
    model: nameAt(fields, MODELS, onBad),
    provider: nameAt(fields, PROVIDERS, onBad),
    ...tokens,
    ...(cost !== undefined && { cost, currency: "USD" }),
    ...timesOf(fields, onBad),
  });
}

function countedIn(fields: Fields, onBad: OnBad) {
  for (const path of COUNTS) {
    const counts = valueAt(fields, path);
    const tokens = isFields(counts) ? tokensIn(counts, (field) => onBad(`${path}.${field}`)) : undefined;
    if (tokens !== undefined) return tokens;
  }
  return undefined;
}

function costIn(fields: Fields, onBad: OnBad): string | undefined {
  const path = isOpenCode(fields) ? "cost" : DOLLARS.find((one) => valueAt(fields, one) !== undefined);
  return path === undefined ? undefined : checkedAt(fields, path, costOf, onBad);
}

function nameAt(fields: Fields, paths: readonly string[], onBad: OnBad): string | undefined {
  const path = paths.find((one) => typeof valueAt(fields, one) === "string" && valueAt(fields, one) !== "");
  return path === undefined ? undefined : checkedAt(fields, path, nameOf, onBad);
}

function timesOf(fields: Fields, onBad: OnBad): Pick<Usage, "startTimeMicros" | "durationMicros"> {
  if (isOpenCode(fields)) {
    const created = checkedAt(fields, "time.created", microsOf, onBad);
    const completed = checkedAt(fields, "time.completed", microsOf, onBad);
    const took = created === undefined || completed === undefined ? undefined : durationOf(completed - created);
    return { startTimeMicros: created, durationMicros: took };
  }
  const path = DURATIONS_MS.find((one) => valueAt(fields, one) !== undefined);
  if (path === undefined) return {};
  return { durationMicros: checkedAt(fields, path, (value) => durationOf(microsOf(value)), onBad) };
}

function isOpenCode(fields: Fields): boolean {
  return isFields(valueAt(fields, "tokens"));
}

/** Microseconds of a number of milliseconds. */
function microsOf(millis: unknown): number | undefined {
  return typeof millis === "number" ? timeOf(Math.round(millis * 1000)) : undefined;
}

function checkedAt<T>(
  fields: Fields,
  path: string,
  take: (value: unknown) => T | undefined,
  onBad: OnBad,
): T | undefined {
  const value = valueAt(fields, path);
  const taken = value === undefined ? undefined : take(value);
  if (value !== undefined && taken === undefined) onBad(path);
  return taken;
}
