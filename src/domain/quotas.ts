/** Whose use a quota limits: each owner's, each key's, and each namespace's. */
export const QUOTA_HOLDERS = ["owner", "key", "namespace"] as const;
export type QuotaHolder = (typeof QUOTA_HOLDERS)[number];

/** What a holder may have stored. Absent means no limit. */
export interface StoredQuota {
  /** Living sessions. */
  readonly sessions?: number | undefined;
  /** The stored bytes of the entries that were written to these sessions. */
  readonly bytes?: number | undefined;
}

/** What one holder may use. Absent means no limit. */
export interface Quota extends StoredQuota {
  /** Calls and streams that begin within a minute. */
  readonly callsPerMinute?: number | undefined;
}

export type Quotas = { readonly [H in QuotaHolder]?: Quota | undefined };
export type StoredQuotas = { readonly [H in QuotaHolder]?: StoredQuota | undefined };

const NAMES: Record<keyof Quota, string> = {
  sessions: "sessions",
  bytes: "bytes",
  callsPerMinute: "calls-per-minute",
};

export const QUOTA_KINDS = Object.keys(NAMES) as (keyof Quota)[];

/** How flags and metrics name a quota, such as `owner-sessions`. */
export function quotaName(holder: QuotaHolder, kind: keyof Quota): string {
  return `${holder}-${NAMES[kind]}`;
}
