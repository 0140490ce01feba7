import type { Call } from "../domain/call.js";
import type { SessionCursor } from "../domain/page.js";
import type { Session, SessionView } from "../domain/session.js";
import type { LogOptions, RevisionOptions, StartDraftOptions, TurnAppend } from "../storage/storage-provider.js";

export interface AppendOptions extends LogOptions {
  /** Make the session first if it is missing. It stays, empty, when the append is then refused. */
  readonly createSession?: boolean | undefined;
}

export interface StartOptions extends StartDraftOptions {
  /** Make the session first if it is missing. It stays, empty, when the draft is then refused. */
  readonly createSession?: boolean | undefined;
}

/** An append that waits for its session's turn. */
export interface QueuedAppend extends TurnAppend {
  readonly options?: AppendOptions | undefined;
}

export interface CopyOptions extends Call {
  /** Last message to copy; all when absent. */
  readonly upToMessageId?: string | undefined;
  /** Copy only if the target's revision is this. */
  readonly expectedRevision?: number | undefined;
}

/** Of edits: those of the provider. */
export type EditOptions = RevisionOptions;

export interface CopiedMessages {
  /** Last message really copied; null when none was. */
  readonly forkPointId: string | null;
  readonly copiedCount: number;
}

export interface ShareSessionOptions extends Call {
  /** A ULID is made when absent. */
  readonly newSessionId?: string | undefined;
}

export interface ForkSessionOptions extends ShareSessionOptions {
  /** Last message to take; all when absent. */
  readonly upToMessageId?: string | undefined;
  /** The source's when absent. */
  readonly title?: string | undefined;
}

export interface ForkedSession extends CopiedMessages {
  readonly session: Session;
}

export interface ListSessionsOptions extends Call {
  /** Only children of this session; all when empty or absent. */
  readonly parentId?: string | undefined;
  /** Only sessions with all of these labels, each written `key=value`; the rarest first, as the list goes along its sessions. */
  readonly labels?: readonly string[] | undefined;
  /** How much of each session to answer: `basic` when absent. */
  readonly view?: SessionView | undefined;
  readonly limit: number;
  readonly cursor?: SessionCursor | undefined;
}

export interface RevertedSession {
  readonly session: Session;
  readonly removedCount: number;
}

export interface RestoredSession {
  readonly session: Session;
  readonly restoredCount: number;
}
