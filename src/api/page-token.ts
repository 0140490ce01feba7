import type { AnnotationCursor } from "../domain/annotation.js";
import type { AttachmentCursor } from "../domain/attachment.js";
import { invalidArgument } from "../domain/errors.js";
import type {
  DeletedSessionCursor,
  FollowPosition,
  MessageCursor,
  SessionCursor,
  SessionFilter,
} from "../domain/page.js";
import type { SearchCursor } from "../domain/search.js";
import { NEWEST_FIRST, orderText, type SessionOrder } from "../domain/session-order.js";
import type { GroupValues, UsageCursor } from "../domain/usage-groups.js";
import { decodeToken, digestOf, encodeToken } from "./token-format.js";

/** The namespace of keys and commands that name none. */
const DEFAULT_NAMESPACE = "default";

export function encodeAttachmentToken({ sessionUid, attachmentId }: AttachmentCursor): string {
  return encodeToken("attachments", [sessionUid, attachmentId]);
}

export function decodeAttachmentToken(token: string): AttachmentCursor {
  const [sessionUid, attachmentId] = decodeToken("page_token", "attachments", token) as [string, string];
  return { sessionUid, attachmentId };
}

export function encodeAnnotationToken(cursor: AnnotationCursor): string {
  const { sessionUid, messageId, createTimeMicros, annotationId } = cursor;
  return encodeToken("annotations", [sessionUid, messageId, createTimeMicros, annotationId]);
}

export function decodeAnnotationToken(token: string): AnnotationCursor {
  const fields = decodeToken("page_token", "annotations", token);
  const [sessionUid, messageId, createTimeMicros, annotationId] = fields as [string, string, number, string];
  return { sessionUid, messageId, createTimeMicros, annotationId };
}

export function encodeMessageToken(cursor: MessageCursor): string {
  const { newestFirst, includeAncestors, sinceMicros, untilMicros } = cursor.query;
  return encodeToken("messages", [
    cursor.sessionUid,
    newestFirst ?? false,
    includeAncestors ?? false,
    sinceMicros ?? null,
    untilMicros ?? null,
    cursor.log,
    cursor.seq,
    cursor.messageId,
    cursor.ancestor ?? null,
  ]);
}

export function decodeMessageToken(token: string): MessageCursor {
  const fields = decodeToken("page_token", "messages", token);
  const [sessionUid, newestFirst, includeAncestors, sinceMicros, untilMicros, log, seq, messageId, ancestor] =
    fields as [string, boolean, boolean, number | null, number | null, string, number, string, number | null];
  const query = {
    newestFirst,
    includeAncestors,
    sinceMicros: sinceMicros ?? undefined,
    untilMicros: untilMicros ?? undefined,
  };
  return { sessionUid, query, log, seq, messageId, ancestor: ancestor ?? undefined };
}

/** To which lists tokens belong. */
export interface ListScope {
  readonly namespace: string;
  /** The owner whose sessions the lists hold, empty for none; absent for lists of the sessions of all. */
  readonly owner?: string | undefined;
}

/** What a list of sessions covers and how it is ordered, to which its page tokens belong. */
export interface SessionList extends SessionFilter {
  readonly order?: SessionOrder | undefined;
}

/** Lists that earlier versions had keep their tokens. */
export function encodeSessionToken(cursor: SessionCursor, scope: ListScope): string {
  const { parentId, labels, key, sessionId } = cursor;
  if (!isPlain(cursor)) return encodeToken("list", [queryDigest(scope, cursor), key, sessionId]);
  const digest = listDigest(scope, labels);
  return encodeToken("sessions", [parentId, key, sessionId, ...(digest === null ? [] : [digest])]);
}

/** Decodes a session token; refuses one that belongs to a list with other filters or order, or of another namespace. */
export function decodeSessionToken(token: string, list: SessionList, scope: ListScope): SessionCursor {
  if (!isPlain(list)) {
    const [digest, key, sessionId] = decodeToken("page_token", "list", token) as [string, number | string, string];
    const isOfOrder = (typeof key === "string") === (list.order?.by === "title");
    if (isOfOrder && digest === queryDigest(scope, list)) return { ...list, key, sessionId };
    throw invalidArgument("page_token belongs to a list with another namespace, filter or order");
  }
  const fields = decodeToken("page_token", "sessions", token);
  const [parentId, key, sessionId, digest = null] = fields as [string, number, string, string?];
  if (parentId !== list.parentId) throw invalidArgument("page_token belongs to a list with another parent_id");
  if (digest !== listDigest(scope, list.labels))
    throw invalidArgument("page_token belongs to a list of another namespace, label or owner");
  return { ...list, key, sessionId };
}

function isPlain({ order = NEWEST_FIRST, updatedSinceMicros, updatedUntilMicros, titleWords }: SessionList): boolean {
  const isFiltered = updatedSinceMicros !== undefined || updatedUntilMicros !== undefined || titleWords !== undefined;
  return !isFiltered && orderText(order) === orderText(NEWEST_FIRST);
}

function queryDigest({ namespace, owner }: ListScope, list: SessionList): string {
  const { parentId, order = NEWEST_FIRST, updatedSinceMicros = null, updatedUntilMicros = null } = list;
  const times = JSON.stringify([updatedSinceMicros, updatedUntilMicros]);
  const words = JSON.stringify(list.titleWords?.toSorted() ?? []);
  const labels = new Set(list.labels?.toSorted());
  return digestOf([namespace, orderText(order), parentId, times, words, ...labels], owner);
}

export function encodeDeletedToken(cursor: DeletedSessionCursor, scope: ListScope): string {
  const digest = listDigest(scope);
  return encodeToken("deleted", [cursor.deleteTimeMicros, cursor.sessionId, ...(digest === null ? [] : [digest])]);
}

/** Decodes a token of a list of deleted sessions; refuses one of another owner or namespace. */
export function decodeDeletedToken(token: string, owner: string | undefined, scope: ListScope): DeletedSessionCursor {
  const [deleteTimeMicros, sessionId, digest = null] = decodeToken("page_token", "deleted", token) as [
    number,
    string,
    string?,
  ];
  if (digest !== listDigest(scope)) throw invalidArgument("page_token belongs to a list of another namespace or owner");
  return { owner, deleteTimeMicros, sessionId };
}

/** What a search covers, to which its page tokens belong. */
export interface SearchFilter extends ListScope {
  readonly q: string;
  readonly labels: readonly string[];
  readonly sessionId: string;
  readonly role?: string | undefined;
  readonly sinceMicros?: number | undefined;
  readonly untilMicros?: number | undefined;
}

export function encodeSearchToken({ place, titles }: SearchCursor, filter: SearchFilter): string {
  return encodeToken("search", [searchDigest(filter), place, ...(titles === undefined ? [] : [titles])]);
}

/** Decodes a search token; refuses one that belongs to another search. */
export function decodeSearchToken(token: string, filter: SearchFilter): SearchCursor {
  const [digest, place, titles] = decodeToken("page_token", "search", token) as [string, string, string?];
  if (digest === searchDigest(filter)) return titles == null ? { place } : { place, titles };
  throw invalidArgument(
    "page_token belongs to a search with another namespace, q, label, session_id, owner, role, since or until",
  );
}

/** What a sum is of, to which its page tokens belong: its own fields, and whatever decides what the caller sees. */
export interface SumFilter extends ListScope {
  readonly fields: readonly (string | number | null)[];
  readonly labels: readonly string[];
}

export function encodeUsageToken({ sumId, after }: UsageCursor, filter: SumFilter): string {
  return encodeToken("usage", [sumDigest(filter), sumId, after === undefined ? null : JSON.stringify(after)]);
}

/** Decodes a token of a sum; refuses one that belongs to another sum. `names`: how many names it is grouped by. */
export function decodeUsageToken(token: string, filter: SumFilter, names: number): UsageCursor {
  const fields = decodeToken("page_token", "usage", token);
  const [digest, sumId, after = null] = fields as [string, string, (string | null)?];
  if (digest !== sumDigest(filter)) {
    throw invalidArgument("page_token belongs to sums of another namespace, or to another request");
  }
  if (after === null) return { sumId };
  const values = groupValues(after, names);
  if (values === undefined) throw invalidArgument("page_token is not a token that was given out");
  return { sumId, after: values };
}

function groupValues(text: string, names: number): GroupValues | undefined {
  try {
    const values: unknown = JSON.parse(text);
    const isValue = (value: unknown) => value === null || typeof value === "string";
    return Array.isArray(values) && values.length === names && values.every(isValue) ? values : undefined;
  } catch {
    return undefined;
  }
}

function sumDigest({ namespace, owner, fields, labels }: SumFilter): string {
  return digestOf([namespace, JSON.stringify(fields), ...new Set(labels.toSorted())], owner);
}

function searchDigest({ namespace, owner, q, labels, sessionId, role, ...times }: SearchFilter): string {
  const texts = [namespace, q, sessionId, ...new Set(labels.toSorted())];
  const { sinceMicros, untilMicros } = times;
  // Without these, tokens are those of earlier versions.
  if (role === undefined && sinceMicros === undefined && untilMicros === undefined) return digestOf(texts, owner);
  return digestOf([...texts, { role, sinceMicros, untilMicros }], owner);
}

/**
 * A short digest of a namespace and a set of labels in any order, because these texts themselves would make tokens
 * long. Null for the default namespace without labels and owner, whose tokens are those of earlier versions.
 */
function listDigest({ namespace, owner }: ListScope, labels: readonly string[] = []): string | null {
  if (namespace === DEFAULT_NAMESPACE && labels.length === 0 && owner === undefined) return null;
  return digestOf([namespace, ...new Set(labels.toSorted())], owner);
}

export function encodeResumeToken(at: FollowPosition): string {
  return encodeToken("watch", [at.sessionUid, at.revision, at.position]);
}

export function decodeResumeToken(token: string): FollowPosition {
  const fields = decodeToken("resume_token", "watch", token);
  const [sessionUid, revision, position] = fields as [string, number, number];
  return { sessionUid, revision, position };
}

/** What a watch of sessions covers, to which its tokens belong. */
export type FeedScope = ListScope & Pick<SearchFilter, "labels">;

/** A short text for the scope, equal only for equal ones. */
export function feedDigest({ namespace, owner, labels }: FeedScope): string {
  return digestOf([namespace, ...new Set(labels.toSorted())], owner);
}

/** `digest` is that of the scope. */
export function encodeFeedToken(digest: string, at: string): string {
  return encodeToken("feed", [digest, at]);
}

/** Decodes a token of a watch of sessions; refuses one that belongs to a watch with other filters. */
export function decodeFeedToken(token: string, digest: string): string {
  const [given, at] = decodeToken("resume_token", "feed", token) as [string, string];
  if (given === digest) return at;
  throw invalidArgument("resume_token belongs to a watch of another namespace, label or owner");
}
