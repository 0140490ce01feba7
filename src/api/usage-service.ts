import type {
  UsageRow as ProtoRow,
  SumUsageRequest,
  SumUsageResponse,
  UsageService,
} from "../../gen/sessionpool/v1/usage_service_pb.js";
import { labelValues, parseGroupBy, type UsageGroup, type UsageRow, valueBy } from "../domain/usage-groups.js";
import { pageLimit } from "../domain/validate-page.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf, listScope, optionalText, ownerFilter } from "./call-options.js";
import { decodeUsageToken, encodeUsageToken } from "./page-token.js";
import { checkBoundsOrder, fromBoundTimestamp } from "./timestamps.js";
import { toCosts, toDuration } from "./usage-convert.js";

export const usageMethods: ServiceMethods<typeof UsageService> = {
  sumUsage: { scope: "read", ticket: "none", handle: sumUsage },
};

async function sumUsage(request: SumUsageRequest, context: ApiContext): Promise<SumUsageResponse> {
  const { groupBy, timeZone, label: labels, sessionId, model, pageToken } = request;
  const owner = ownerFilter(request);
  const groups = parseGroupBy(groupBy);
  const sinceMicros = fromBoundTimestamp("since", request.since);
  const untilMicros = fromBoundTimestamp("until", request.until);
  checkBoundsOrder(request.since, request.until);
  const fields = [sinceMicros ?? null, untilMicros ?? null, groupBy, timeZone, sessionId, model];
  const filter = { ...listScope(context, owner), fields, labels };
  const page = await context.rootPool.sessions.sumUsage({
    ...{ sinceMicros, untilMicros, groupBy, timeZone, labels, owner },
    sessionId: optionalText(sessionId),
    model: optionalText(model),
    limit: pageLimit(request.limit, context.limits),
    cursor: pageToken === "" ? undefined : decodeUsageToken(pageToken, filter, groups.length),
    ...callOf(context),
  });
  return {
    $typeName: "sessionpool.v1.SumUsageResponse",
    rows: page.rows.map((row) => toRow(groups, row)),
    nextPageToken: page.next === undefined ? "" : encodeUsageToken(page.next, filter),
    progress: page.progress,
  };
}

function toRow(groups: readonly UsageGroup[], row: UsageRow): ProtoRow {
  const { values, durationP50Micros: p50, durationP95Micros: p95 } = row;
  return {
    $typeName: "sessionpool.v1.UsageRow",
    day: valueBy("day", groups, values),
    model: valueBy("model", groups, values),
    provider: valueBy("provider", groups, values),
    owner: valueBy("owner", groups, values),
    sessionId: valueBy("session", groups, values),
    labels: labelValues(groups, values),
    tool: valueBy("tool", groups, values),
    calls: BigInt(row.calls),
    inputTokens: BigInt(row.inputTokens),
    outputTokens: BigInt(row.outputTokens),
    cachedInputTokens: BigInt(row.cachedInputTokens),
    reasoningTokens: BigInt(row.reasoningTokens),
    costs: toCosts(row.costs),
    duration: toDuration(row.durationMicros),
    durationP50: p50 === undefined ? undefined : toDuration(p50),
    durationP95: p95 === undefined ? undefined : toDuration(p95),
    failedCalls: BigInt(row.failedCalls),
  };
}
