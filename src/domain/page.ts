import type { ChatMessage } from "./chat-message.js";
import type { Draft, DraftDelta } from "./draft.js";
import { invalidArgument } from "./errors.js";
import type { Session } from "./session.js";
import type { OrderKey, SessionOrder } from "./session-order.js";

/** Selects the messages of a list and their order. A cursor belongs to one such list of one session. */
export interface MessageQuery {
  readonly newestFirst?: boolean | undefined;
  /** Puts the messages of the chain of parents, as they were when the session was made, before its own. */
  readonly includeAncestors?: boolean | undefined;
  /** Only messages at or after this time. */
  readonly sinceMicros?: number | undefined;
  /** Only messages before this time. */
  readonly untilMicros?: number | undefined;
}

/**
 * The place after a message that was returned. Continuing there neither repeats nor skips a message. Opaque above the
 * provider.
 */
export interface MessageCursor {
  /** The session's uid, because a session made again under the same id is a different one. */
  readonly sessionUid: string;
  readonly query: MessageQuery;
  /** Where the message was stored when it was returned; a hint. */
  readonly log: string;
  readonly seq: number;
  readonly messageId: string;
  /** The ancestor that showed it, counted from the oldest; absent for the session's own messages. */
  readonly ancestor?: number | undefined;
}

export interface MessagePage {
  readonly messages: readonly ChatMessage[];
  /** Absent when nothing follows at present. */
  readonly next?: MessageCursor | undefined;
}

/** Which sessions a list has; all conditions must hold. */
export interface SessionFilter {
  /** Only children of this session; all sessions when empty. */
  readonly parentId: string;
  /** Only sessions with all of these labels, each written `key=value`, in any order. */
  readonly labels?: readonly string[] | undefined;
  /** Only sessions of this owner, or, if empty, those without one. */
  readonly owner?: string | undefined;
  /** Only sessions that were updated at or after this time. */
  readonly updatedSinceMicros?: number | undefined;
  /** Only sessions that were updated before this time. */
  readonly updatedUntilMicros?: number | undefined;
  /** Only sessions whose titles have all of these words, as `titleWords` makes them, in any order. */
  readonly titleWords?: readonly string[] | undefined;
}

/** A place in a list of sessions, which belongs to this filter and order. */
export interface SessionCursor extends SessionFilter {
  /** The most recently updated first when absent. */
  readonly order?: SessionOrder | undefined;
  /** Where the session is in the order, and its id, which orders ties. */
  readonly key: OrderKey;
  readonly sessionId: string;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  /** Absent when nothing follows. A page may hold fewer sessions than asked for, or none, although more follow. */
  readonly next?: SessionCursor | undefined;
  /** The number of sessions on all pages; only where it was asked for. */
  readonly total?: SessionTotal | undefined;
}

export interface SessionTotal {
  readonly size: number;
  readonly isEstimate: boolean;
}

/** A place in the order of deleted sessions (time of the delete, then id, both descending). */
export interface DeletedSessionCursor {
  /** The owner of the list's filter, empty for sessions without one; absent when the list has sessions of all. */
  readonly owner?: string | undefined;
  readonly deleteTimeMicros: number;
  readonly sessionId: string;
}

/** Deleted sessions that can be brought back. */
export interface DeletedSessionPage {
  readonly sessions: readonly Session[];
  readonly next?: DeletedSessionCursor | undefined;
}

/** A session and its last messages, oldest first, read together. */
export interface LoadedSession {
  readonly session: Session;
  readonly messages: readonly ChatMessage[];
  /** Continues with older messages; absent when there are none. */
  readonly next?: MessageCursor | undefined;
  /** Its open drafts; absent when a cursor was given or the provider has no drafts. */
  readonly drafts?: readonly Draft[] | undefined;
}

/** Where a follower stands: after `position` messages of the history at `revision`. */
export interface FollowPosition {
  readonly sessionUid: string;
  readonly revision: number;
  readonly position: number;
}

/** An event for a follower. `at` is where the follower stands afterwards, and where resuming continues. */
export type FollowEvent =
  | {
      readonly kind: "appended";
      readonly message: ChatMessage;
      readonly at: FollowPosition;
    }
  /** One message before the follower's position has new content. Nothing else there has changed. */
  | {
      readonly kind: "updated";
      readonly message: ChatMessage;
      readonly at: FollowPosition;
    }
  /** The message at this position is gone. Nothing else before the follower's position has changed. */
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
      /** The draft was started, or was open when the following began. */
      readonly kind: "draft";
      readonly draft: Draft;
      readonly at: FollowPosition;
    }
  | {
      readonly kind: "draft_extended";
      readonly messageId: string;
      /** The draft's version after these deltas. */
      readonly version: number;
      readonly deltas: readonly DraftDelta[];
      readonly at: FollowPosition;
    }
  | {
      readonly kind: "draft_ended";
      readonly messageId: string;
      /** If true, `appended` with the message came right before, unless an edit has removed the message since. */
      readonly finished: boolean;
      readonly at: FollowPosition;
    };

/** A query with every member set, so that two queries that mean the same are equal member by member. */
export function fullQuery({ newestFirst, includeAncestors, sinceMicros, untilMicros }: MessageQuery): MessageQuery {
  return { newestFirst: newestFirst ?? false, includeAncestors: includeAncestors ?? false, sinceMicros, untilMicros };
}

/**
 * Throws `invalid_argument` unless the cursor belongs to this list of this session. A session made again under the same
 * id has another `uid`. `query` is a full one.
 */
export function checkCursor(
  cursor: MessageCursor,
  { sessionId, uid }: { readonly sessionId: string; readonly uid: string },
  query: MessageQuery,
): void {
  if (cursor.sessionUid !== uid) {
    throw invalidArgument(`page_token belongs to another session than ${JSON.stringify(sessionId)}`);
  }
  const given = fullQuery(cursor.query);
  const isSame = (Object.keys(given) as (keyof MessageQuery)[]).every((key) => given[key] === query[key]);
  if (!isSame) throw invalidArgument("page_token belongs to a list in another order or with other filters");
}

/** As many of the first items as fit into the limit of bytes, but at least one. */
export function cutAtBytes<Item>(
  items: readonly Item[],
  limitBytes: number,
  sizeOf: (item: Item) => number,
): readonly Item[] {
  let bytes = 0;
  const end = items.findIndex((item, i) => {
    bytes += sizeOf(item);
    return i > 0 && bytes > limitBytes;
  });
  return end < 0 ? items : items.slice(0, end);
}
