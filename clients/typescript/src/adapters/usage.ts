import type { MessageInitShape } from "@bufbuild/protobuf";
import { type DurationSchema, type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Usage, usageOf } from "../../../../src/domain/shapes/counts.js";
import type { NewMessage, StoredMessage } from "../index.js";

type Info = NonNullable<NewMessage["info"]>;
type NewUsage = NonNullable<Info["usage"]>;
type StoredUsage = NonNullable<NonNullable<StoredMessage["info"]>["usage"]>;

const MICROS = 1_000_000;

/** The field of a message; none for no usage. */
export function usageField(usage: Usage | undefined): { readonly usage?: NewUsage } {
  return usage === undefined ? {} : { usage: toNewUsage(usage) };
}

/** The message with a usage, or as it is. */
export function withUsage(message: NewMessage, usage: Usage | undefined): NewMessage {
  return usage === undefined
    ? message
    : ({ ...message, info: { ...message.info, ...usageField(usage) } } as NewMessage);
}

/** A usage as requests have it. */
export function toNewUsage(usage: Usage): NewUsage {
  const { startTimeMicros, firstTokenTimeMicros, durationMicros, ...others } = usage;
  const numbers = Object.entries(others).map(([name, value]) => [
    name,
    typeof value === "number" ? BigInt(value) : value,
  ]);
  return {
    ...Object.fromEntries(numbers),
    ...(startTimeMicros !== undefined && { startTime: timestampOfMicros(startTimeMicros) }),
    ...(firstTokenTimeMicros !== undefined && { firstTokenTime: timestampOfMicros(firstTokenTimeMicros) }),
    ...(durationMicros !== undefined && { duration: durationOfMicros(durationMicros) }),
  } as NewUsage;
}

/** A usage as answers have it; undefined when it says nothing. */
export function fromStoredUsage(usage: StoredUsage | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const { model, provider, inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cost, currency } = usage;
  return usageOf({
    ...{ model, provider, inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cost, currency },
    startTimeMicros: microsOf(usage.startTime),
    firstTokenTimeMicros: microsOf(usage.firstTokenTime),
    durationMicros: microsOf(usage.duration),
  });
}

function timestampOfMicros(micros: number): Timestamp {
  const timestamp = timestampFromMs(Math.floor(micros / 1000));
  return { ...timestamp, nanos: (micros % MICROS) * 1000 };
}

function durationOfMicros(micros: number): MessageInitShape<typeof DurationSchema> {
  return { seconds: BigInt(Math.floor(micros / MICROS)), nanos: (micros % MICROS) * 1000 };
}

function microsOf(time: { readonly seconds: bigint | number; readonly nanos: number } | undefined): number | undefined {
  return time && Number(time.seconds) * MICROS + Math.floor(time.nanos / 1000);
}
