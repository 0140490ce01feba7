import type { ChatMessage } from "./chat-message.js";
import type { Draft, DraftDelta } from "./draft.js";
import type { Session } from "./session.js";

/** Which messages a list is made of, and in which order. A cursor belongs to one such list of one session. */
export interface MessageQuery {
  readonly newestFirst?: boolean | undefined;
  /** Puts the messages of the parent chain, as they were when the session was made, in front. */
  readonly includeAncestors?: boolean | undefined;
  /** Only messages at or after this time. */
  readonly sinceMicros?: number | undefined;
  /** Only messages before this time. */
  readonly untilMicros?: number | undefined;
}

/**
 * The place after a message that was given out. Continuing there repeats and skips nothing. Opaque above the provider.
 */
export interface MessageCursor {
  /** The session's uid: a session re-created under the same id is another one. */
  readonly sessionUid: string;
  readonly query: MessageQuery;
  /** Where the message was stored when it was given out; a hint. */
  readonly log: string;
  readonly seq: number;
  readonly messageId: string;
  /** Which ancestor showed it, counted from the oldest; absent for the session's own messages. */
  readonly ancestor?: number | undefined;
}

export interface MessagePage {
  readonly messages: readonly ChatMessage[];
  /** Absent when nothing follows now. */
  readonly next?: MessageCursor | undefined;
}

/** A place in the order of sessions (update time, then id, both descending). */
export interface SessionCursor {
  readonly parentId: string;
  /** Of the list's filter, in any order. */
  readonly labels?: readonly string[] | undefined;
  readonly updateTimeMicros: number;
  readonly sessionId: string;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  readonly next?: SessionCursor | undefined;
}

/** A session and its last messages, oldest first, read together. */
export interface LoadedSession {
  readonly session: Session;
  readonly messages: readonly ChatMessage[];
  /** Goes on to older messages; absent when there are none. */
  readonly next?: MessageCursor | undefined;
  /** Its open drafts; absent where a cursor was given, or the provider has none. */
  readonly drafts?: readonly Draft[] | undefined;
}

/** Where a follower stands: after `position` messages of the history as it was at `revision`. */
export interface FollowPosition {
  readonly sessionUid: string;
  readonly revision: number;
  readonly position: number;
}

/** What a follower is told; `at` is where it stands afterwards, and where a resume goes on. */
export type FollowEvent =
  | {
      readonly kind: "appended";
      readonly message: ChatMessage;
      readonly at: FollowPosition;
    }
  /** One message in front has new content. Nothing else there has changed. */
  | {
      readonly kind: "updated";
      readonly message: ChatMessage;
      readonly at: FollowPosition;
    }
  /** The message that was at this position is gone. Nothing else in front has changed. */
  | {
      readonly kind: "deleted";
      readonly messageId: string;
      readonly position: number;
      readonly at: FollowPosition;
    }
  | {
      readonly kind: "truncated";
      readonly messageCount: number;
      readonly at: FollowPosition;
    }
  | { readonly kind: "heartbeat"; readonly at: FollowPosition }
  | {
      /** It was started, or the following began. */
      readonly kind: "draft";
      readonly draft: Draft;
      readonly at: FollowPosition;
    }
  | {
      readonly kind: "draft_extended";
      readonly messageId: string;
      /** The draft's version with these deltas. */
      readonly version: number;
      readonly deltas: readonly DraftDelta[];
      readonly at: FollowPosition;
    }
  | {
      readonly kind: "draft_ended";
      readonly messageId: string;
      /** Then `appended` with the message came right before, unless an edit has removed it since. */
      readonly finished: boolean;
      readonly at: FollowPosition;
    };
