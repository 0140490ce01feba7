/** Which sessions a watch is about. */
export interface FeedFilter {
  /** Only sessions with all of these labels, each `key=value`. */
  readonly labels?: readonly string[] | undefined;
  /** Only sessions of this owner, or, if empty, those without one; all when absent. */
  readonly owner?: string | undefined;
}

/** What the feed tells of a session: its state when it was told, or a later one than that of the change. */
export interface ChangedSession {
  readonly sessionId: string;
  /** The session's revision as callers see it. */
  readonly revision: number;
  readonly messageCount: number;
  readonly updateTimeMicros: number;
}

/** An event of the feed. `at` resumes after it, and is opaque above the provider. */
export type FeedEvent =
  | { readonly kind: "created" | "changed"; readonly session: ChangedSession; readonly at: string }
  | { readonly kind: "deleted"; readonly sessionId: string; readonly at: string }
  | { readonly kind: "heartbeat"; readonly at: string };
