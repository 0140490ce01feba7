import type { JsonObject } from "./json.js";
import type { Labels } from "./labels.js";

/** A session as callers see it. */
export interface Session {
  readonly sessionId: string;
  /** Empty when it has none. */
  readonly parentId: string;
  /** Last message taken from the source of a fork or share; empty otherwise. Never changes. */
  readonly forkPointId: string;
  readonly title: string;
  readonly metadata?: JsonObject | undefined;
  /** Absent: none. */
  readonly labels?: Labels | undefined;
  /** When it expires, microseconds since 1970: from then on it is as if it had been deleted. Absent: never by itself. */
  readonly expireTimeMicros?: number | undefined;
  /** Microseconds since 1970. */
  readonly createTimeMicros: number;
  /** Microseconds since 1970; exact from getSession, elsewhere it may lag appends by up to a minute. */
  readonly updateTimeMicros: number;
  /** Number of messages; absent in the basic view of lists of sessions. */
  readonly messageCount?: number | undefined;
  /** Messages a fork or share began with. Never changes. */
  readonly inheritedCount: number;
  /** Goes up with every change that a caller makes and that is not an append. */
  readonly revision: number;
  /** Whether an unrevert would work now. */
  readonly reverted: boolean;
  /** The newest message; only in the full view of lists of sessions, and absent when there is none. */
  readonly lastMessage?: MessagePreview | undefined;
}

/** A message in short. */
export interface MessagePreview {
  readonly messageId: string;
  readonly role: string;
  readonly timestampMicros: number;
  /** The texts of its parts of the type `text`, a line feed between two: the first 200 code points. */
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
  /** Replaced whole; `{}` empties it. */
  readonly metadata?: JsonObject | undefined;
  /** Replaced whole; `{}` removes all. */
  readonly labels?: Labels | undefined;
  /** Null: it never expires by itself. */
  readonly expireTimeMicros?: number | null | undefined;
}
