import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import { SCOPES, type Scope } from "../../api/api-method.js";
import type { ApiMethod } from "../../api/method-table.js";
import { isOfTicket, type Principal } from "../auth/principal.js";

/** Throws unless the scope of the key or ticket covers the method. */
export function checkScope(method: ApiMethod, principal: Principal): void {
  const { name, scope } = principal;
  if (isOfTicket(principal)) {
    checkTicketScope(method, scope);
    return;
  }
  if (SCOPES.indexOf(scope) >= SCOPES.indexOf(method.scope)) return;
  const text = `The key ${JSON.stringify(name)} has the scope ${scope}; ${method.desc.name} needs ${method.scope}`;
  throw new ApiError(Code.PermissionDenied, text);
}

/** A ticket permits fewer methods than a key of the same scope, because it opens only one session. */
function checkTicketScope({ desc, ticket }: ApiMethod, scope: Scope): void {
  if (ticket === "read" || (ticket === "write" && scope === "write")) return;
  const needs = ticket === "none" ? "a key" : "a ticket with the scope write";
  throw new ApiError(Code.PermissionDenied, `The ticket does not permit ${desc.name}, which needs ${needs}`);
}

export function deadlineError(): ApiError {
  return new ApiError(Code.DeadlineExceeded, "The deadline has passed");
}

export function canceledError(): ApiError {
  return new ApiError(Code.Canceled, "The call was canceled");
}

export function stoppingError(): ApiError {
  return new ApiError(Code.Unavailable, "The server is stopping");
}

export function expiredError(principal: Principal): ApiError {
  const what = isOfTicket(principal) ? "ticket" : "key";
  return new ApiError(Code.Unauthenticated, `The ${what} is no longer valid`);
}
