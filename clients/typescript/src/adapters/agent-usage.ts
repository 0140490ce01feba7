import { type Fields, isFields, type Usage, usageOf, valueAt } from "../../../../src/domain/shapes/counts.js";
import { tokensIn } from "../../../../src/domain/shapes/token-shapes.js";
import { checkedUsage } from "../../../../src/domain/shapes/usages.js";

/** A run of the Agents SDK, as far as it tells what its responses took. */
export interface AgentRun {
  readonly rawResponses: readonly { readonly usage: object; readonly output: readonly object[] }[];
  readonly lastAgent?: { readonly model?: unknown } | undefined;
}

/** A response of a run: what it took, and by what the items that it made are recognised, the last one first. */
export interface SpentResponse {
  readonly usage: Usage;
  readonly keys: readonly string[];
}

/** The responses of a run that say what they took, the last one first. */
export function spentResponses({ rawResponses, lastAgent }: AgentRun): SpentResponse[] {
  const named = lastAgent?.model;
  const model = typeof named === "string" ? named : valueAt(named, "model");
  return rawResponses.toReversed().flatMap(({ usage, output }) => {
    const tokens = isFields(usage) ? tokensIn(withDetails(usage), () => {}) : undefined;
    // A model that reports nothing has zeros.
    const isReported = Object.values(tokens ?? {}).some((count) => count !== undefined && count > 0);
    const spent = isReported
      ? checkedUsage({ ...tokens, ...usageOf({ model: typeof model === "string" ? model : undefined }) })
      : undefined;
    const keys = output.toReversed().flatMap((item) => keyOf(item) ?? []);
    return spent === undefined ? [] : [{ usage: spent, keys }];
  });
}

/** What an item is recognised by: the id of a call, or what a message says. */
export function keyOf(item: unknown): string | undefined {
  if (!isFields(item)) return undefined;
  const { type = "message", callId, role, content } = item;
  if (typeof callId === "string" && !/_(?:result|output)$/.test(`${type}`)) return JSON.stringify([type, callId]);
  return type === "message" && role === "assistant" ? JSON.stringify([type, content]) : undefined;
}

/** The details are lists, with an entry for each request. */
function withDetails(usage: Fields): Fields {
  return {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cachedInputTokens: detail(usage.inputTokensDetails, "cached_tokens"),
    reasoningTokens: detail(usage.outputTokensDetails, "reasoning_tokens"),
  };
}

function detail(details: unknown, name: string): unknown {
  const list = Array.isArray(details) ? details : [details];
  const counts = list.map((one) => valueAt(one, name)).filter((count) => typeof count === "number");
  return counts.length === 0 ? undefined : counts.reduce((a, b) => a + b);
}
