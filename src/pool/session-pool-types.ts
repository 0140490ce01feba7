import type { Call } from "../domain/call.js";
import type { DeletedSessionCursor, SessionCursor } from "../domain/page.js";
import type { SearchCursor } from "../domain/search.js";
import type { Session, SessionView } from "../domain/session.js";
import type { SessionOrder } from "../domain/session-order.js";
import type { UsageCursor } from "../domain/usage-groups.js";
import type { LogOptions, RevisionOptions, StartDraftOptions, TurnAppend } from "../storage/storage-provider.js";

export interface AppendOptions extends LogOptions {
  /** Makes the session first if it is missing. It stays, empty, if the append is then refused. */
  readonly createSession?: boolean | undefined;
}

export interface StartOptions extends StartDraftOptions {
  /** Makes the session first if it is missing. It stays, empty, if the draft is then refused. */
  readonly createSession?: boolean | undefined;
}

/** An append that waits for its session's turn. */
export interface QueuedAppend extends TurnAppend {
  readonly options?: AppendOptions | undefined;
}

export interface CopyOptions extends Call {
  /** The last message to copy; all messages when absent. */
  readonly upToMessageId?: string | undefined;
  /** Copies only if the target has this revision. */
  readonly expectedRevision?: number | undefined;
}

/** Options of edits, the same as the provider's. */
export type EditOptions = RevisionOptions;

export interface RevertOptions extends EditOptions {
  /** Reverts only if it removes exactly this number of messages. */
  readonly expectedRemovedCount?: number | undefined;
}

export interface CopiedMessages {
  /** The last message that was copied; null when none was. */
  readonly forkPointId: string | null;
  readonly copiedCount: number;
}

export interface ShareSessionOptions extends Call {
  /** A ULID is made when absent. */
  readonly newSessionId?: string | undefined;
}

export interface ForkSessionOptions extends ShareSessionOptions {
  /** The last message to take; all messages when absent. */
  readonly upToMessageId?: string | undefined;
  /** The source's title when absent. */
  readonly title?: string | undefined;
}

export interface ForkedSession extends CopiedMessages {
  readonly session: Session;
}

export interface ListSessionsOptions extends Call {
  /** Lists only children of this session; all sessions when empty or absent. */
  readonly parentId?: string | undefined;
  /**
   * Lists only sessions that have all of these labels, each written `key=value`, in any order.
   */
  readonly labels?: readonly string[] | undefined;
  /** Lists only sessions of this owner; if empty, those without one. */
  readonly owner?: string | undefined;
  /** Lists only sessions that were updated at or after this time. */
  readonly updatedSinceMicros?: number | undefined;
  /** Lists only sessions that were updated before this time. */
  readonly updatedUntilMicros?: number | undefined;
  /** Lists only sessions whose titles have all of these words, as `parseTitleFilter` makes them. */
  readonly titleWords?: readonly string[] | undefined;
  /** The most recently updated first when absent. */
  readonly order?: SessionOrder | undefined;
  /** Whether to count the sessions of all pages, too. */
  readonly withTotal?: boolean | undefined;
  /** How much of each session is returned; `basic` when absent. */
  readonly view?: SessionView | undefined;
  readonly limit: number;
  readonly cursor?: SessionCursor | undefined;
}

export interface ListDeletedSessionsOptions extends Call {
  /** Lists only sessions of this owner; if empty, those without one. */
  readonly owner?: string | undefined;
  /** How much of each session is returned; `basic` when absent. */
  readonly view?: SessionView | undefined;
  readonly limit: number;
  readonly cursor?: DeletedSessionCursor | undefined;
}

export interface SearchMessagesOptions extends Call {
  /** Words, `"phrases"` and `prefixes*`: 1-256 bytes. */
  readonly q: string;
  /** Only messages of sessions with all of these labels, each written `key=value`. */
  readonly labels?: readonly string[] | undefined;
  /** Only messages of sessions of this owner; if empty, of those without one. */
  readonly owner?: string | undefined;
  /** Only messages of this session; of all when empty or absent. */
  readonly sessionId?: string | undefined;
  /** Only messages with this role. */
  readonly role?: string | undefined;
  /** Only messages with a timestamp at or after this one. */
  readonly sinceMicros?: number | undefined;
  /** Only messages with an earlier timestamp. */
  readonly untilMicros?: number | undefined;
  readonly limit: number;
  readonly cursor?: SearchCursor | undefined;
}

export interface SumUsageOptions extends Call {
  /** Only messages at or after this time, in microseconds since 1970. */
  readonly sinceMicros?: number | undefined;
  /** Only messages before this time. */
  readonly untilMicros?: number | undefined;
  /** Names as `parseGroupBy` reads them: `day,label:team`. One row when empty or absent. */
  readonly groupBy?: string | undefined;
  /** IANA time zone of the days; UTC when empty or absent. */
  readonly timeZone?: string | undefined;
  /** Only messages of sessions with all of these labels, each written `key=value`. */
  readonly labels?: readonly string[] | undefined;
  /** Only messages of sessions of this owner; if empty, of those without one. */
  readonly owner?: string | undefined;
  /** Only messages of this session; of all when empty or absent. */
  readonly sessionId?: string | undefined;
  /** Only messages of this model; of all when empty or absent. */
  readonly model?: string | undefined;
  readonly limit: number;
  readonly cursor?: UsageCursor | undefined;
}

export interface RevertedSession {
  readonly session: Session;
  readonly removedCount: number;
}

export interface RestoredSession {
  readonly session: Session;
  readonly restoredCount: number;
}
