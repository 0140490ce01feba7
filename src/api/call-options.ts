import type { Call } from "../domain/call.js";
import type { ApiContext } from "./api-method.js";

/** What of the context goes down to the pool. */
export function callOf(context: ApiContext): Call {
  return { deadlineMs: context.deadlineMs, signal: context.signal };
}

/** Proto3 text without presence: empty means not given. */
export function optionalText(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** An optional int64 that counts something. Past 2^53 it is not exact, and larger than anything it is compared with. */
export function optionalCount(count: bigint | undefined): number | undefined {
  return count === undefined ? undefined : Number(count);
}
