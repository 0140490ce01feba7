import { call, target } from "./http.js";
import type { UsageRow } from "./types.js";

export interface UsageQuery {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Of the days. */
  readonly timeZone?: string;
  /** Sessions of this owner; empty for those without one. */
  readonly owner?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly model?: string | undefined;
}

interface UsagePage {
  readonly rows?: readonly UsageRow[];
  readonly nextPageToken?: string;
  /** From 0 to 1. */
  readonly progress?: number;
}

/** A page of sums. One without rows continues the work. */
export function sumUsage(
  groupBy: string,
  query: UsageQuery,
  pageToken: string,
  signal: AbortSignal,
): Promise<UsagePage> {
  const parameters = {
    group_by: groupBy,
    since: query.since,
    until: query.until,
    time_zone: query.timeZone,
    owner: query.owner,
    no_owner: query.owner === "" ? true : undefined,
    label: query.labels,
    model: query.model,
    limit: 1000,
    page_token: pageToken,
  };
  return call(target(["usage"], parameters), { signal });
}
