import { type Fields, type OnBad, tokensOf, valueAt } from "./counts.js";

export interface Tokens {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
}

/** Finds a number of tokens; undefined where there is none. */
type Find = (fields: Fields, onBad: OnBad) => number | undefined;

/** A form in which tokens are counted. Any of the fields in `has` tells it from the forms below it. */
interface TokenShape {
  readonly has: readonly string[];
  readonly input: Find;
  readonly output: Find;
  readonly cached: Find;
  readonly reasoning: Find;
}

/**
 * The forms of numbers of tokens, of which the first that fits is taken. Each says whether its input includes what was
 * read from a cache or written to one, and its output the reasoning: ours include both.
 */
const SHAPES: readonly TokenShape[] = [
  // LangChain's `usage_metadata`, where input and output are whole.
  {
    has: ["input_token_details", "output_token_details"],
    input: first("input_tokens"),
    output: first("output_tokens"),
    cached: first("input_token_details.cache_read"),
    reasoning: first("output_token_details.reasoning"),
  },
  // Anthropic, whose input is what was neither read from the cache nor written to it.
  {
    has: ["cache_read_input_tokens", "cache_creation_input_tokens"],
    input: sum("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    output: first("output_tokens"),
    cached: first("cache_read_input_tokens"),
    reasoning: none,
  },
  // OpenAI's responses, and what Codex tells of them.
  {
    has: ["input_tokens", "output_tokens"],
    input: first("input_tokens"),
    output: first("output_tokens"),
    cached: first("input_tokens_details.cached_tokens", "cached_input_tokens"),
    reasoning: first("output_tokens_details.reasoning_tokens", "reasoning_output_tokens"),
  },
  // OpenAI's chat completions, and LangChain's `token_usage`.
  {
    has: ["prompt_tokens", "completion_tokens"],
    input: first("prompt_tokens"),
    output: first("completion_tokens"),
    cached: first("prompt_tokens_details.cached_tokens"),
    reasoning: first("completion_tokens_details.reasoning_tokens"),
  },
  // The AI SDK: `LanguageModelUsage` of 5 to 7, what its models report since 6, and OpenAI's Agents SDK in TypeScript.
  {
    has: ["inputTokens", "outputTokens"],
    input: first("inputTokens.total", "inputTokens"),
    output: first("outputTokens.total", "outputTokens"),
    cached: first("inputTokens.cacheRead", "inputTokenDetails.cacheReadTokens", "cachedInputTokens"),
    reasoning: first("outputTokens.reasoning", "outputTokenDetails.reasoningTokens", "reasoningTokens"),
  },
  // The AI SDK 4.
  {
    has: ["promptTokens", "completionTokens"],
    input: first("promptTokens"),
    output: first("completionTokens"),
    cached: none,
    reasoning: none,
  },
  // OpenCode's `tokens`.
  {
    has: ["input", "output"],
    input: sum("input", "cache.read", "cache.write"),
    output: outputOfOpenCode,
    cached: first("cache.read"),
    reasoning: first("reasoning"),
  },
];

/** The tokens of a usage in one of the known forms; undefined for any other object. */
export function tokensIn(fields: Fields, onBad: OnBad): Tokens | undefined {
  const shape = SHAPES.find(({ has }) => has.some((path) => valueAt(fields, path) !== undefined));
  if (shape === undefined) return undefined;
  return {
    inputTokens: shape.input(fields, onBad),
    outputTokens: shape.output(fields, onBad),
    cachedInputTokens: shape.cached(fields, onBad),
    reasoningTokens: shape.reasoning(fields, onBad),
  };
}

function none(): undefined {}

/** The number at the first of the paths that leads anywhere. */
function first(...paths: readonly string[]): Find {
  return (fields, onBad) => {
    const path = paths.find((one) => valueAt(fields, one) !== undefined);
    return path === undefined ? undefined : checked(fields, path, onBad);
  };
}

/** The number at the first path, and what the others add to it. */
function sum(path: string, ...others: readonly string[]): Find {
  return (fields, onBad) => {
    if (valueAt(fields, path) === undefined) return undefined;
    const found = [path, ...others.filter((one) => valueAt(fields, one) !== undefined)];
    const numbers = found.map((one) => checked(fields, one, onBad));
    if (numbers.includes(undefined)) return undefined;
    const total = numbers.reduce<number>((all, number) => all + (number ?? 0), 0);
    return tokensOf(total);
  };
}

function checked(fields: Fields, path: string, onBad: OnBad): number | undefined {
  const tokens = tokensOf(valueAt(fields, path));
  if (tokens === undefined) onBad(path);
  return tokens;
}

/** Recent versions of OpenCode count reasoning apart from the output, as their `total` shows; earlier ones did not. */
function outputOfOpenCode(fields: Fields, onBad: OnBad): number | undefined {
  const output = first("output")(fields, onBad);
  const reasoning = tokensOf(valueAt(fields, "reasoning")) ?? 0;
  if (output === undefined || reasoning === 0) return output;
  const input = sum("input", "cache.read", "cache.write")(fields, () => {}) ?? 0;
  const isApart = reasoning > output || valueAt(fields, "total") === input + output + reasoning;
  return isApart ? tokensOf(output + reasoning) : output;
}
