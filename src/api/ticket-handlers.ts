import type {
  CreateTicketRequest,
  CreateTicketResponse,
  RevokeTicketsRequest,
  RevokeTicketsResponse,
} from "../../gen/sessionpool/v1/session_service_pb.js";
import { boundOwner } from "../domain/access.js";
import { DomainError, invalidArgument } from "../domain/errors.js";
import { type ApiContext, isTicketScope, type TicketScope } from "./api-method.js";
import { callOf } from "./call-options.js";
import { fromExpireTime, toTimestamp } from "./timestamps.js";

/** How long a ticket is valid when nothing else is asked for, and at most. */
const TICKET_MS = 3_600_000;
const MOST_TICKET_MS = 30 * 24 * 3_600_000;

export async function createTicket(request: CreateTicketRequest, context: ApiContext): Promise<CreateTicketResponse> {
  const { sessionId } = request;
  const scope = toTicketScope(request.scope);
  const expiresMs = ticketEnd(fromExpireTime("expire_time", request.expireTime));
  if (context.signTicket === undefined) {
    throw new DomainError("failed_precondition", "The server has no secret for tickets: --ticket-secret-file");
  }
  const mark = await context.rootPool.sessions.getTicketMark(sessionId, callOf(context));
  const claims = { namespace: context.namespace, sessionId, ...mark, scope, owner: boundOwner(context), expiresMs };
  return {
    $typeName: "sessionpool.v1.CreateTicketResponse",
    ticket: await context.signTicket(claims),
    expireTime: toTimestamp(expiresMs * 1000),
  };
}

function toTicketScope(scope: string): TicketScope {
  if (isTicketScope(scope)) return scope;
  throw invalidArgument(`scope is ${JSON.stringify(scope)}; it must be "read" or "write"`);
}

/** When a ticket ends, in whole seconds given as milliseconds since 1970. */
function ticketEnd(expireTimeMicros: number | undefined): number {
  const nowMs = Date.now();
  if (expireTimeMicros === undefined) return Math.floor((nowMs + TICKET_MS) / 1000) * 1000;
  const expiresMs = Math.floor(expireTimeMicros / 1_000_000) * 1000;
  if (expiresMs > nowMs && expiresMs <= nowMs + MOST_TICKET_MS) return expiresMs;
  throw invalidArgument("expire_time must be in the future, and at most 30 days ahead");
}

export async function revokeTickets(
  request: RevokeTicketsRequest,
  context: ApiContext,
): Promise<RevokeTicketsResponse> {
  await context.rootPool.sessions.revokeTickets(request.sessionId, callOf(context));
  return { $typeName: "sessionpool.v1.RevokeTicketsResponse" };
}
