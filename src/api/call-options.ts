import { boundOwner } from "../domain/access.js";
import type { Call } from "../domain/call.js";
import { invalidArgument } from "../domain/errors.js";
import type { ApiContext } from "./api-method.js";
import type { ListScope } from "./page-token.js";

/** The part of the context that is passed down to the pool. */
export function callOf(context: ApiContext): Call {
  const { deadlineMs, signal, key, access } = context;
  return { deadlineMs, signal, key, access };
}

/**
 * To which lists the page tokens of a caller belong: those of the namespace, and of the owner that the caller is bound
 * to or filters by.
 */
export function listScope(context: ApiContext, owner: string | undefined): ListScope {
  const { namespace } = context;
  const shown = boundOwner(context) ?? owner;
  return shown === undefined ? { namespace } : { namespace, owner: shown };
}

/** The filter by owner of a list; undefined for none, and empty for sessions without an owner. */
export function ownerFilter({ owner, noOwner }: { owner: string; noOwner: boolean }): string | undefined {
  if (noOwner && owner !== "") throw invalidArgument("owner and no_owner exclude each other");
  return noOwner ? "" : optionalText(owner);
}

/** Reads a proto3 string without presence: empty means not given. */
export function optionalText(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/**
 * Reads an int64 that is compared with a count. Refuses a number that is not exact as a double, and names it as it was
 * sent. Negative numbers are left to the checks of the pool.
 */
export function exactCount<T extends bigint | undefined>(field: string, count: T): number | (T & undefined) {
  if (count === undefined) return count as T & undefined;
  if (count >= Number.MIN_SAFE_INTEGER && count <= Number.MAX_SAFE_INTEGER) return Number(count);
  throw invalidArgument(`${field} is ${count}; it must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`);
}

/** The last message that a truncate or revert keeps; null when it keeps none. */
export function keptOf({ upToMessageId, toStart }: { upToMessageId: string; toStart: boolean }): string | null {
  if (toStart && upToMessageId !== "") throw invalidArgument("up_to_message_id and to_start exclude each other");
  if (!toStart && upToMessageId === "") throw invalidArgument("up_to_message_id or to_start is required");
  return toStart ? null : upToMessageId;
}
