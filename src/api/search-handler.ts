import type { SearchMessagesRequest, SearchMessagesResponse } from "../../gen/sessionpool/v1/message_service_pb.js";
import { pageLimit } from "../domain/validate-page.js";
import type { ApiContext } from "./api-method.js";
import { callOf, optionalText } from "./call-options.js";
import { toSearchHit } from "./convert.js";
import { decodeSearchToken, encodeSearchToken } from "./page-token.js";

export async function searchMessages(
  request: SearchMessagesRequest,
  context: ApiContext,
): Promise<SearchMessagesResponse> {
  const { q, label: labels, sessionId, pageToken } = request;
  const filter = { namespace: context.namespace, q, labels, sessionId };
  const page = await context.rootPool.sessions.searchMessages({
    q,
    labels,
    sessionId: optionalText(sessionId),
    limit: pageLimit(request.limit, context.limits),
    cursor: pageToken === "" ? undefined : decodeSearchToken(pageToken, filter),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.SearchMessagesResponse",
    hits: page.hits.map(toSearchHit),
    nextPageToken: page.next === undefined ? "" : encodeSearchToken(page.next, filter),
  };
}
