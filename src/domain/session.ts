import type { JsonObject } from "./json.js";
import type { Labels } from "./labels.js";
import type { Usage, UsageSums } from "./usage.js";

/** The fields that a session has wherever it is: with callers, in a store and in a backup. */
export interface SessionFields {
  readonly sessionId: string;
  /** Empty when the session has no parent. */
  readonly parentId: string;
  /** The last message taken from the source of a fork or share; empty otherwise. Never changes. */
  readonly forkPointId: string;
  /** The number of messages that a fork or share began with. Never changes. */
  readonly inheritedCount: number;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
  /** Absent when there are none. */
  readonly labels?: Labels | undefined;
  /** Whose session it is: at most 128 bytes. Absent when it is nobody's. */
  readonly owner?: string | undefined;
  /**
   * When the session expires, in microseconds since 1970; from then on it is treated as deleted. Absent when it has no
   * expiry of its own.
   */
  readonly expireTimeMicros?: number | undefined;
  /** Microseconds since 1970. */
  readonly createTimeMicros: number;
  /** Microseconds since 1970. */
  readonly updateTimeMicros: number;
}

/**
 * A session as callers see it. Its update time is exact from getSession; elsewhere it may lag appends by up to a
 * minute.
 */
export interface Session extends SessionFields {
  /** Number of messages; absent in the basic view of lists of sessions. */
  readonly messageCount?: number | undefined;
  /** Increases with every change that a caller makes, except appends. */
  readonly revision: number;
  /** Whether an unrevert would work now. */
  readonly reverted: boolean;
  /** The newest message; only in the full view of lists of sessions, and absent when there is none. */
  readonly lastMessage?: MessagePreview | undefined;
  /**
   * Sums over the messages that it shows and that were first written to it; absent when it shows no message with usage,
   * where a provider does not say, and in the basic view of lists of sessions.
   */
  readonly usage?: UsageSums | undefined;
  /** Sums over all other messages that it shows; present where `usage` is. */
  readonly inheritedUsage?: UsageSums | undefined;
  /** When it was deleted, in microseconds since 1970; only for sessions that can be brought back. */
  readonly deleteTimeMicros?: number | undefined;
  /** When a deleted session can no longer be brought back; present where `deleteTimeMicros` is. */
  readonly purgeTimeMicros?: number | undefined;
}

/** A message in brief. */
export interface MessagePreview {
  readonly messageId: string;
  readonly role: string;
  readonly timestampMicros: number;
  /** The texts of its `text` parts, joined by line feeds and cut after 200 code points. */
  readonly text: string;
  readonly usage?: Usage | undefined;
  /** The beginning of the error of a failed call in it, cut after 200 code points; empty or absent when none failed. */
  readonly error?: string | undefined;
}

/** How much of each session a list holds: `full` adds `messageCount` and `lastMessage`. */
export type SessionView = "basic" | "full";

export interface NewSession {
  /** A ULID is made when absent. */
  readonly sessionId?: string | undefined;
  readonly parentId?: string | undefined;
  readonly title?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly labels?: Labels | undefined;
  /** Empty for none. That of the caller, if the caller is bound to one. */
  readonly owner?: string | undefined;
  readonly expireTimeMicros?: number | undefined;
}

/** What to change; absent fields stay. */
export interface SessionChange {
  readonly title?: string | undefined;
  /** Replaces all metadata; `{}` removes it. */
  readonly metadata?: JsonObject | undefined;
  /** Replaces all labels; `{}` removes them. */
  readonly labels?: Labels | undefined;
  /** Empty for none. Only callers that are not bound to an owner may change it. */
  readonly owner?: string | undefined;
  /** Null removes the session's own expiry. */
  readonly expireTimeMicros?: number | null | undefined;
}

/** Only the fields that every session has. */
export function sessionFields(session: SessionFields): SessionFields {
  return {
    sessionId: session.sessionId,
    parentId: session.parentId,
    forkPointId: session.forkPointId,
    inheritedCount: session.inheritedCount,
    title: session.title,
    metadata: session.metadata,
    labels: session.labels,
    owner: session.owner,
    expireTimeMicros: session.expireTimeMicros,
    createTimeMicros: session.createTimeMicros,
    updateTimeMicros: session.updateTimeMicros,
  };
}
