import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { invalidArgument } from "../domain/errors.js";
import { exactMicros } from "../domain/validate-page.js";

const MICROS_PER_SECOND = 1_000_000;
const NANOS_PER_MICRO = 1000;
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range of a Timestamp. */
export const MIN_SECONDS = -62_135_596_800n;
export const MAX_SECONDS = 253_402_300_799n;

export function toTimestamp(micros: number): Timestamp {
  const seconds = Math.floor(micros / MICROS_PER_SECOND);
  const nanos = (micros - seconds * MICROS_PER_SECOND) * NANOS_PER_MICRO;
  return { $typeName: "google.protobuf.Timestamp", seconds: BigInt(seconds), nanos };
}

/** The timestamp of a message in microseconds; fractions of a microsecond are cut off. */
export function fromMessageTimestamp(field: string, timestamp: Timestamp | undefined): number | undefined {
  const micros = fromTimestamp(field, timestamp, Math.floor);
  if (micros === undefined || Number.isSafeInteger(micros)) return micros;
  throw invalidArgument(`${field} is out of range: messages are kept from July 1684 to June 2255`);
}

/** The time at which a session expires, rounded up to whole microseconds. */
export function fromExpireTime(field: string, timestamp: Timestamp | undefined): number | undefined {
  const micros = fromTimestamp(field, timestamp, Math.ceil);
  if (micros === undefined || Number.isSafeInteger(micros)) return micros;
  throw invalidArgument(`${field} is out of range: it may be from July 1684 to June 2255`);
}

/**
 * A bound in microseconds, rounded up because messages have whole microseconds. A bound outside their range is clamped.
 */
export function fromBoundTimestamp(field: string, timestamp: Timestamp | undefined): number | undefined {
  const micros = fromTimestamp(field, timestamp, Math.ceil);
  return micros === undefined ? undefined : exactMicros(micros);
}

/**
 * Compares the bounds of a list as they were given, because rounding and clamping may make them equal. Their fields are
 * `since` and `until` after the prefix.
 */
export function checkBoundsOrder(since: Timestamp | undefined, until: Timestamp | undefined, prefix = ""): void {
  if (since === undefined || until === undefined || since.seconds < until.seconds) return;
  if (since.seconds > until.seconds || since.nanos > until.nanos) {
    throw invalidArgument(`${prefix}since is after ${prefix}until`);
  }
}

function fromTimestamp(
  field: string,
  timestamp: Timestamp | undefined,
  round: (micros: number) => number,
): number | undefined {
  if (timestamp === undefined) return undefined;
  const { seconds, nanos } = timestamp;
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS || nanos < 0 || nanos > 999_999_999) {
    throw invalidArgument(`${field} is not a valid Timestamp`);
  }
  return Number(seconds) * MICROS_PER_SECOND + round(nanos / NANOS_PER_MICRO);
}
