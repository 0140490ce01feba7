import type { Duration } from "@bufbuild/protobuf/wkt";
import type { UsageSums as ProtoSums, Usage as ProtoUsage } from "../../gen/sessionpool/v1/usage_service_pb.js";
import { invalidArgument } from "../domain/errors.js";
import { amountText, type Usage, type UsageSums } from "../domain/usage.js";
import { wrongTokens } from "../domain/validate-usage.js";
import { fromMessageTimestamp, toTimestamp } from "./timestamps.js";

const MICROS_PER_SECOND = 1_000_000;
const NANOS_PER_MICRO = 1000;
/** The range of a Duration: about 10,000 years. */
const MAX_SECONDS = 315_576_000_000n;

export function toUsage(usage: Usage): ProtoUsage {
  const { model, provider, cost, currency, startTimeMicros, firstTokenTimeMicros, durationMicros } = usage;
  return {
    $typeName: "sessionpool.v1.Usage",
    model: model ?? "",
    provider: provider ?? "",
    inputTokens: toCount(usage.inputTokens),
    outputTokens: toCount(usage.outputTokens),
    cachedInputTokens: toCount(usage.cachedInputTokens),
    reasoningTokens: toCount(usage.reasoningTokens),
    cost: cost ?? "",
    currency: currency ?? "",
    startTime: startTimeMicros === undefined ? undefined : toTimestamp(startTimeMicros),
    firstTokenTime: firstTokenTimeMicros === undefined ? undefined : toTimestamp(firstTokenTimeMicros),
    duration: durationMicros === undefined ? undefined : toDuration(durationMicros),
  };
}

/** `field` names the usage in errors. What its limits are is checked later. */
export function fromUsage(field: string, usage: ProtoUsage | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return {
    model: usage.model || undefined,
    provider: usage.provider || undefined,
    inputTokens: fromCount(`${field}.input_tokens`, usage.inputTokens),
    outputTokens: fromCount(`${field}.output_tokens`, usage.outputTokens),
    cachedInputTokens: fromCount(`${field}.cached_input_tokens`, usage.cachedInputTokens),
    reasoningTokens: fromCount(`${field}.reasoning_tokens`, usage.reasoningTokens),
    cost: usage.cost || undefined,
    currency: usage.currency || undefined,
    startTimeMicros: fromMessageTimestamp(`${field}.start_time`, usage.startTime),
    firstTokenTimeMicros: fromMessageTimestamp(`${field}.first_token_time`, usage.firstTokenTime),
    durationMicros: fromDuration(`${field}.duration`, usage.duration),
  };
}

export function toUsageSums(sums: UsageSums): ProtoSums {
  return {
    $typeName: "sessionpool.v1.UsageSums",
    calls: BigInt(sums.calls),
    inputTokens: BigInt(sums.inputTokens),
    outputTokens: BigInt(sums.outputTokens),
    cachedInputTokens: BigInt(sums.cachedInputTokens),
    reasoningTokens: BigInt(sums.reasoningTokens),
    costs: toCosts(sums.costs),
    duration: toDuration(sums.durationMicros),
  };
}

/** Sorted by currency. */
export function toCosts(costs: UsageSums["costs"]): ProtoSums["costs"] {
  return [...costs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, units]) => ({ $typeName: "sessionpool.v1.Cost", currency, amount: amountText(units) }));
}

export function toDuration(micros: number): Duration {
  const seconds = Math.floor(micros / MICROS_PER_SECOND);
  const nanos = (micros - seconds * MICROS_PER_SECOND) * NANOS_PER_MICRO;
  return { $typeName: "google.protobuf.Duration", seconds: BigInt(seconds), nanos };
}

function toCount(count: number | undefined): bigint | undefined {
  return count === undefined ? undefined : BigInt(count);
}

/** Refuses here what a number would hold only roughly, so that the error names what was sent. */
function fromCount(field: string, count: bigint | undefined): number | undefined {
  if (count === undefined) return undefined;
  const number = Number(count);
  if (Number.isSafeInteger(number)) return number;
  throw wrongTokens(field, count);
}

/** A duration in microseconds; fractions of a microsecond are cut off. */
function fromDuration(field: string, duration: Duration | undefined): number | undefined {
  if (duration === undefined) return undefined;
  const { seconds, nanos } = duration;
  const hasTwoSigns = (seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0);
  if (seconds < -MAX_SECONDS || seconds > MAX_SECONDS || Math.abs(nanos) > 999_999_999 || hasTwoSigns) {
    throw invalidArgument(`${field} is not a valid Duration`);
  }
  return Number(seconds) * MICROS_PER_SECOND + Math.floor(nanos / NANOS_PER_MICRO);
}
