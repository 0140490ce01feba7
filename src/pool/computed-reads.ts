import type { ChatMessage } from "../domain/chat-message.js";
import { DomainError } from "../domain/errors.js";
import type { Limits } from "../domain/limits.js";
import { embeddedSize, messageSize } from "../domain/message-size.js";
import {
  checkCursor,
  cutAtBytes,
  fullQuery,
  type LoadedSession,
  type MessageCursor,
  type MessagePage,
  type MessageQuery,
} from "../domain/page.js";
import type { Session } from "../domain/session.js";
import { sizesOf } from "../domain/shown-message.js";
import type { ListMessagesOptions } from "../storage/storage-provider.js";

/** Cuts a page from all messages, oldest first, for providers that cannot list pages. */
export function computePage(
  sessionId: string,
  messages: readonly ChatMessage[],
  options: ListMessagesOptions,
  limits: Limits,
): MessagePage {
  const query = fullQuery(options);
  if (options.cursor) checkCursor(options.cursor, { sessionId, uid: sessionId }, query);
  const inTime = messages.filter((message) => isInTime(message, query));
  const list = query.newestFirst ? inTime.toReversed() : inTime;
  const start = options.cursor ? placeAfter(options.cursor, list) : (options.offset ?? 0);
  const page = cutAtBytes(list.slice(start, start + options.limit), limits.pageBytes, listedSize);
  const last = page.at(-1);
  if (last === undefined || start + page.length >= list.length) return { messages: page };
  return { messages: page, next: cursorAfter(last, start + page.length, sessionId, query) };
}

/** Makes a session and its last messages, or those before the cursor, for providers that cannot load sessions. */
export function computeLoad(
  session: Session,
  messages: readonly ChatMessage[],
  options: { readonly limit: number; readonly cursor?: MessageCursor | undefined },
  limits: Limits,
): LoadedSession {
  const page = computePage(session.sessionId, messages, { ...options, newestFirst: true }, limits);
  return { session, messages: page.messages.toReversed(), next: page.next };
}

/** Derives a session from its history, for providers that keep no sessions. */
export function computeSession(sessionId: string, messages: readonly ChatMessage[]): Session {
  return {
    sessionId,
    parentId: "",
    forkPointId: "",
    title: "",
    createTimeMicros: messages[0]?.timestampMicros ?? 0,
    updateTimeMicros: messages.at(-1)?.timestampMicros ?? 0,
    messageCount: messages.length,
    inheritedCount: 0,
    revision: 0,
    reverted: false,
  };
}

/** The size that a message has in the answer of a page. */
function listedSize(message: ChatMessage): number {
  return embeddedSize(messageSize(message, message, sizesOf(message)));
}

function isInTime({ timestampMicros }: ChatMessage, { sinceMicros, untilMicros }: MessageQuery): boolean {
  return (
    (sinceMicros === undefined || timestampMicros >= sinceMicros) &&
    (untilMicros === undefined || timestampMicros < untilMicros)
  );
}

/**
 * A provider without pagination has neither uids nor logs. The session's id stands in for its uid, and the id of the
 * session that shows the message for the log.
 */
function cursorAfter(last: ChatMessage, seq: number, sessionId: string, query: MessageQuery): MessageCursor {
  return { sessionUid: sessionId, query, log: last.sessionId, seq, messageId: last.id };
}

function placeAfter(cursor: MessageCursor, list: readonly ChatMessage[]): number {
  const place = list.findIndex(({ id, sessionId: shownBy }) => id === cursor.messageId && shownBy === cursor.log);
  if (place < 0) {
    throw new DomainError("failed_precondition", "The message of the page token is no longer in this list");
  }
  return place + 1;
}
