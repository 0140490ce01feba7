import type { JsonObject } from "./json.js";
import type { Labels } from "./labels.js";

/** A session as callers see it. */
export interface Session {
  readonly sessionId: string;
  /** Empty when the session has no parent. */
  readonly parentId: string;
  /** The last message taken from the source of a fork or share; empty otherwise. Never changes. */
  readonly forkPointId: string;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
  /** Absent when there are none. */
  readonly labels?: Labels | undefined;
  /**
   * When the session expires, in microseconds since 1970; from then on it is treated as deleted. Absent when it has no
   * expiry of its own.
   */
  readonly expireTimeMicros?: number | undefined;
  /** Microseconds since 1970. */
  readonly createTimeMicros: number;
  /** Microseconds since 1970; exact from getSession, elsewhere it may lag appends by up to a minute. */
  readonly updateTimeMicros: number;
  /** Number of messages; absent in the basic view of lists of sessions. */
  readonly messageCount?: number | undefined;
  /** The number of messages that a fork or share began with. Never changes. */
  readonly inheritedCount: number;
  /** Increases with every change that a caller makes, except appends. */
  readonly revision: number;
  /** Whether an unrevert would work now. */
  readonly reverted: boolean;
  /** The newest message; only in the full view of lists of sessions, and absent when there is none. */
  readonly lastMessage?: MessagePreview | undefined;
}

/** A message in brief. */
export interface MessagePreview {
  readonly messageId: string;
  readonly role: string;
  readonly timestampMicros: number;
  /** The texts of its `text` parts, joined by line feeds and cut after 200 code points. */
  readonly text: string;
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
  readonly expireTimeMicros?: number | undefined;
}

/** What to change; absent fields stay. */
export interface SessionChange {
  readonly title?: string | undefined;
  /** Replaces all metadata; `{}` removes it. */
  readonly metadata?: JsonObject | undefined;
  /** Replaces all labels; `{}` removes them. */
  readonly labels?: Labels | undefined;
  /** Null removes the session's own expiry. */
  readonly expireTimeMicros?: number | null | undefined;
}
