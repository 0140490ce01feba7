import { call, follow, target } from "./http.js";
import type { TicketScope } from "./ticket.js";
import type { Message, Part, Session, Todo, WatchEvent } from "./types.js";

type Signal = AbortSignal | undefined;

export interface SessionPage {
  readonly sessions: readonly Session[];
  readonly nextPageToken: string;
  /** Number of sessions on all pages, if it was asked for. */
  readonly totalSize?: string;
  readonly totalIsEstimate?: boolean;
}

export interface SessionFilter {
  /** Lists only sessions that have all of these labels, each written `key=value`. */
  readonly labels?: readonly string[];
  /** Lists only sessions of this owner; empty for those without one. */
  readonly owner?: string | undefined;
}

export interface SessionQuery extends SessionFilter {
  readonly limit?: number;
  readonly pageToken?: string;
  readonly parentId?: string;
  /** Whether to include message counts, last messages and usage. */
  readonly isFull?: boolean;
  /** Such as `update_time desc`, which is the default. */
  readonly orderBy?: string | undefined;
  readonly updatedSince?: string | undefined;
  readonly updatedUntil?: string | undefined;
  /** Lists only sessions whose title has all of these words. */
  readonly title?: string | undefined;
  readonly withTotal?: boolean;
  /** Lists deleted sessions that can be brought back. */
  readonly isDeleted?: boolean;
}

export function listSessions(query: SessionQuery, signal?: Signal): Promise<SessionPage> {
  const { limit, pageToken, parentId, labels, owner, isFull } = query;
  const parameters = {
    order_by: query.orderBy,
    updated_since: query.updatedSince,
    updated_until: query.updatedUntil,
    title: query.title,
    with_total: query.withTotal,
    deleted: query.isDeleted,
    limit,
    page_token: pageToken,
    parent_id: parentId,
    label: labels,
    owner,
    no_owner: owner === "" ? true : undefined,
    view: isFull ? "SESSION_VIEW_FULL" : undefined,
  };
  return call(target(["session"], parameters), { signal });
}

/** What happened to a session. The page reads the session itself from the list. */
export interface SessionEvent {
  readonly created?: { readonly sessionId: string };
  readonly changed?: { readonly sessionId: string };
  readonly deleted?: { readonly sessionId: string };
  readonly resumeToken: string;
}

/** Follows all sessions that match a filter. */
export function watchSessions(
  { labels, owner }: SessionFilter,
  resumeToken: string,
  on: { signal: AbortSignal; onOpen: () => Promise<void>; onEvent: (event: SessionEvent) => void },
): Promise<void> {
  const parameters = { label: labels, owner, no_owner: owner === "" ? true : undefined, resume_token: resumeToken };
  return follow(target(["session"], parameters, "watch"), on);
}

export function getSession(id: string, signal?: Signal): Promise<Session> {
  return call(target(["session", id]), { signal });
}

export interface Loaded {
  readonly session: Session;
  readonly messages: readonly Message[];
}

export function loadSession(id: string, limit: number, signal?: Signal): Promise<Loaded> {
  return call(target(["session", id, "load"], { limit }), { signal });
}

export interface MessagePage {
  readonly messages: readonly Message[];
  readonly nextPageToken: string;
}

export interface MessageQuery {
  readonly limit?: number;
  readonly offset?: number;
  readonly pageToken?: string;
  readonly newestFirst?: boolean;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export function listMessages(id: string, query: MessageQuery, signal?: Signal): Promise<MessagePage> {
  const { limit, offset, pageToken, newestFirst, since, until } = query;
  const parameters = { limit, offset, page_token: pageToken, newest_first: newestFirst, since, until };
  return call(target(["session", id, "message"], parameters), { signal });
}

export function getMessage(id: string, messageId: string, signal?: Signal): Promise<Message> {
  return call(target(["session", id, "message", messageId]), { signal });
}

/** Numbers that are 0 and lists that are empty are absent. */
export interface SearchHit {
  readonly sessionId: string;
  readonly sessionTitle: string;
  /** Empty if the title was found. */
  readonly messageId: string;
  readonly role: string;
  readonly timestamp: string;
  readonly position?: string;
  readonly snippet: string;
  /** What the snippet is from. */
  readonly field?: string;
  /** Offsets in code points. */
  readonly highlights?: readonly { readonly start?: number; readonly end?: number }[];
}

export interface SearchQuery {
  readonly q: string;
  readonly role: string;
  /** Only in sessions of this owner; empty for those without one. */
  readonly owner?: string;
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly limit: number;
  readonly pageToken: string;
}

export function searchMessages(
  query: SearchQuery,
  signal?: Signal,
): Promise<{ readonly hits: readonly SearchHit[]; readonly nextPageToken: string }> {
  const { pageToken, owner, ...others } = query;
  const parameters = { ...others, owner, no_owner: owner === "" ? true : undefined, page_token: pageToken };
  return call(target(["search"], parameters), { signal });
}

export type WatchFrom = { readonly from_position: number } | { readonly resume_token: string };

export function watchMessages(
  id: string,
  from: WatchFrom,
  on: { signal: AbortSignal; onOpen: () => Promise<void>; onEvent: (event: WatchEvent) => void },
): Promise<void> {
  return follow(target(["session", id, "message"], from, "watch"), on);
}

export function listTodos(signal?: Signal): Promise<readonly Todo[]> {
  // All sessions share one list, but the path requires some session id.
  return call(target(["all", "todo"]), { signal });
}

export interface Forked {
  readonly session: Session;
  readonly copiedCount: string;
}

export function forkSession(id: string, body: { upToMessageId?: string; title?: string }): Promise<Forked> {
  return call(target(["session", id, "fork"]), { method: "POST", body });
}

export function shareSession(id: string): Promise<Forked> {
  return call(target(["session", id, "share"]), { method: "POST", body: {} });
}

export function appendMessage(id: string, message: { info: object; parts: readonly object[] }): Promise<unknown> {
  return call(target(["session", id, "message"]), { method: "POST", body: message });
}

/** Makes a ticket that opens this session and nothing else. */
export function createTicket(
  id: string,
  body: { scope: TicketScope; expireTime: string },
): Promise<{ ticket: string; expireTime: string }> {
  return call(target(["session", id, "ticket"]), { method: "POST", body });
}

/** Ends all tickets of the session. */
export function revokeTickets(id: string): Promise<unknown> {
  return call(target(["session", id, "ticket"], {}, "revoke"), { method: "POST", body: {} });
}

export type RevertTo = { readonly upToMessageId: string } | { readonly toStart: true };

/** Answers `aborted` when another number of messages would be removed than expected. */
export function revertSession(
  id: string,
  to: RevertTo,
  expectedRemovedCount: string,
): Promise<{ session: Session; removedCount: string }> {
  return call(target(["session", id, "revert"]), { method: "POST", body: { ...to, expectedRemovedCount } });
}

export function unrevertSession(id: string): Promise<{ session: Session; restoredCount: string }> {
  return call(target(["session", id, "unrevert"]), { method: "POST", body: {} });
}

export interface SessionUpdate {
  readonly title?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Names of the fields that change. */
  readonly updateMask: string;
  readonly expectedRevision?: string;
}

export function updateSession(id: string, body: SessionUpdate): Promise<Session> {
  return call(target(["session", id]), { method: "PATCH", body });
}

export function deleteSession(id: string): Promise<unknown> {
  return call(target(["session", id]), { method: "DELETE" });
}

/** Brings a deleted session back. */
export function undeleteSession(id: string): Promise<Session> {
  return call(target(["session", id, "undelete"]), { method: "POST", body: {} });
}

export function updateMessage(
  id: string,
  messageId: string,
  parts: readonly Part[],
  expectedRevision: string,
): Promise<Message> {
  const query = { update_mask: "parts", expected_revision: expectedRevision };
  return call(target(["session", id, "message", messageId], query), { method: "PATCH", body: { parts } });
}

export function eraseMessage(id: string, messageId: string): Promise<{ copyCount: string }> {
  return call(target(["session", id, "message", messageId], {}, "erase"), { method: "POST", body: {} });
}

export function deleteMessage(id: string, messageId: string): Promise<unknown> {
  return call(target(["session", id, "message", messageId]), { method: "DELETE" });
}

export function finishDraft(id: string, messageId: string, version: string): Promise<unknown> {
  return call(target(["session", id, "draft", messageId], {}, "finish"), { method: "POST", body: { version } });
}

export function discardDraft(id: string, messageId: string): Promise<unknown> {
  return call(target(["session", id, "draft", messageId]), { method: "DELETE" });
}
