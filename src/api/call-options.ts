import type { Call } from "../domain/call.js";
import { invalidArgument } from "../domain/errors.js";
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

/** The last message that a truncate or revert keeps; null: none is kept. */
export function keptOf({ upToMessageId, toStart }: { upToMessageId: string; toStart: boolean }): string | null {
  if (toStart && upToMessageId !== "") throw invalidArgument("up_to_message_id and to_start exclude each other");
  if (!toStart && upToMessageId === "") throw invalidArgument("up_to_message_id or to_start is required");
  return toStart ? null : upToMessageId;
}
