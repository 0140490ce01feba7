import type {
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  UndeleteSessionRequest,
} from "../../gen/sessionpool/v1/session_service_pb.js";
import { invalidArgument } from "../domain/errors.js";
import { pageLimit } from "../domain/validate-page.js";
import type { ApiContext } from "./api-method.js";
import { callOf, listScope, ownerFilter } from "./call-options.js";
import { fromView, toSession } from "./convert.js";
import { decodeDeletedToken, encodeDeletedToken } from "./page-token.js";

export async function undeleteSession(request: UndeleteSessionRequest, context: ApiContext): Promise<Session> {
  return toSession(await context.rootPool.sessions.undeleteSession(request.sessionId, callOf(context)));
}

/** Answers ListSessions with `deleted`. */
export async function listDeletedSessions(
  request: ListSessionsRequest,
  context: ApiContext,
): Promise<ListSessionsResponse> {
  checkUnfiltered(request);
  const owner = ownerFilter(request);
  const scope = listScope(context, owner);
  const page = await context.rootPool.sessions.listDeletedSessions({
    owner,
    view: fromView("view", request.view),
    limit: pageLimit(request.limit, context.limits),
    cursor: request.pageToken === "" ? undefined : decodeDeletedToken(request.pageToken, owner, scope),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.ListSessionsResponse",
    sessions: page.sessions.map(toSession),
    nextPageToken: page.next === undefined ? "" : encodeDeletedToken(page.next, scope),
    totalIsEstimate: false,
  };
}

/** Throws `invalid_argument` for a filter or an order that the list of deleted sessions does not have. */
function checkUnfiltered(request: ListSessionsRequest): void {
  const given = {
    parent_id: request.parentId !== "",
    label: request.label.length > 0,
    title: request.title !== "",
    order_by: request.orderBy !== "",
    updated_since: request.updatedSince !== undefined,
    updated_until: request.updatedUntil !== undefined,
    with_total: request.withTotal,
  };
  for (const [field, isGiven] of Object.entries(given))
    if (isGiven) throw invalidArgument(`deleted and ${field} exclude each other`);
}
