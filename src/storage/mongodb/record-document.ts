import type { Document, Long, ObjectId } from "mongodb";
import type { JsonObject } from "../../domain/json.js";
import { labelsOf, labelTexts } from "../../domain/labels.js";
import { titleKey, titleWords } from "../../domain/session-order.js";
import type { NamedLog, NextRecord, Segment, SessionRecord } from "../history/log-store.js";
import { sweepTimeOf } from "../history/record-facts.js";
import { int64 } from "./entry-document.js";
import { digestsOf, type FeedFields, feedFieldsAfter } from "./record-feed.js";
import {
  type DraftDocument,
  type EditDocument,
  type Marked,
  type NamedLogDocument,
  segmentOf,
  toDraft,
  toDraftDocument,
  toEdit,
  toEditDocument,
  toMarkable,
  toMarked,
  toNamedLog,
  toNamedLogDocument,
} from "./record-parts.js";

/** A session. `_id` is its uid. */
export interface RecordDocument extends FeedFields {
  readonly _id: string;
  readonly namespace: string;
  readonly session_id: string;
  /**
   * Empty while the session lives, then its uid. This frees the session id, which as part of a shard key can never
   * change.
   */
  readonly tombstone: string;
  readonly parent_id: string;
  readonly fork_point_id: string;
  readonly inherited_count: number;
  readonly title: string;
  /** What lists are ordered by, as `titleKey` makes it; absent in what does not live. */
  readonly title_key?: string;
  /** As `titleWords` finds them; absent when there are none, and in what does not live. */
  readonly title_words?: readonly string[];
  /** JSON text. */
  readonly metadata?: string;
  /** Each as `key=value`; absent when there are none. */
  readonly labels?: readonly string[];
  /** Absent when it has none. */
  readonly owner?: string;
  /** Absent for 0. */
  readonly ticket_generation?: number;
  readonly creator_key?: string;
  readonly is_counted?: true;
  /** The counted bytes of its entries; absent where they are not counted. Like `forks`, no replacement changes them. */
  readonly bytes?: Long | number;
  /** Absent when it has no expiry of its own. */
  readonly expire_time?: Long | number;
  readonly create_time: Long | number;
  readonly update_time: Long | number;
  readonly origin: {
    readonly kind: "fork" | "share";
    readonly source_session_id: string;
    readonly source_uid: string;
    readonly up_to_message_id: string;
  } | null;
  readonly revision: number;
  /** The record's `sessionRevision`, the revision that callers see. */
  readonly version: number;
  readonly segments: readonly Segment[];
  readonly log: string;
  readonly last_timestamp: Long | number;
  readonly ancestry: readonly (Segment & { readonly session_id: string; readonly uid?: string })[];
  /** Absent when there are none. */
  readonly annotations?: readonly Segment[];
  readonly undo: { readonly segments: readonly Segment[]; readonly last_timestamp: Long | number } | null;
  /** Absent in documents of version 0.1.0, which have `side_log` instead. */
  readonly named_logs?: readonly NamedLogDocument[];
  readonly side_log?: string | null;
  /** Absent when there are none. */
  readonly drafts?: readonly DraftDocument[];
  /** Present when it names drafts, for `listDrafting`. */
  readonly drafting?: true;
  readonly rollovers: { readonly count: number; readonly at_ms: Long | number };
  readonly dropped: readonly (Segment & Marked)[];
  readonly edits: readonly EditDocument[];
  readonly sources: readonly string[];
  readonly forks: number;
  /** Present while it is being restored; see SessionRecord. */
  readonly restoring?: true;
  readonly marked_time?: Date | null;
  /**
   * Both are present in tombstones whose sessions can be brought back; see SessionRecord. Documents of version 0.1.0
   * have a `delete_time` that is null or a date, and no `purge_time`.
   */
  readonly delete_time?: Long | number;
  readonly purge_time?: Long | number;
  /** Absent for never. */
  readonly brought_back_as?: number;
  /** See `sweepTimeOf`. */
  readonly sweep_time: Date | null;
  /** Distinguishes a repeated write from another writer's. */
  readonly write: ObjectId;
}

/** The `tombstone` of a living session. */
export const LIVING = "";

/** The fields of a document that the store's caller decides. */
type GivenFields = Omit<RecordDocument, "forks" | "bytes" | Exclude<keyof FeedFields, "digests">>;

/** The document of a new record. That of a living one still needs its place. */
export function toNewDocument(namespace: string, record: NextRecord, write: ObjectId): RecordDocument {
  return { ...givenFields(namespace, record, write), forks: 0, ...(record.isCounted && { bytes: int64(0) }) };
}

/**
 * The pipeline that stores a new living record: by an upsert whose filter matches nothing, or in the place of a
 * document that blocks its uid.
 */
export function toCreation(record: NextRecord, document: RecordDocument, place: Document): Document[] {
  return replaceWith(document, feedFieldsAfter(record, document.update_time as Long), place);
}

/**
 * The pipeline that replaces a record. It keeps the stored `forks` and `bytes`, and the stored update time if that is
 * later. With `nextRevision`, the new revision is one more than the one found, whatever the record says. `place` is an
 * expression for its next place in the feed.
 */
export function toReplacement(
  namespace: string,
  record: NextRecord,
  write: ObjectId,
  { place, nextRevision = false }: { readonly place: Document; readonly nextRevision?: boolean },
): Document[] {
  const given = givenFields(namespace, record, write);
  // An append may have advanced the update time since the caller read the record.
  const isLater = { $gt: ["$update_time", given.update_time] };
  const stored = {
    // Rule: forks-apart.
    forks: "$forks",
    // Adds no field where the document has none.
    bytes: "$bytes",
    update_time: { $cond: [isLater, "$update_time", given.update_time] },
    ...(nextRevision && { revision: { $add: ["$revision", 1] } }),
    ...feedFieldsAfter(record, given.update_time as Long),
  };
  return replaceWith(given, stored, place);
}

/** Everything that a caller chose is inside `$literal`. */
function replaceWith(given: GivenFields, stored: Document, place: Document): Document[] {
  return [{ $set: { next_place: place } }, { $replaceWith: { $mergeObjects: [{ $literal: given }, stored] } }];
}

export function toRecord(document: RecordDocument): SessionRecord {
  const { origin, undo, metadata, labels, expire_time } = document;
  return {
    uid: document._id,
    sessionId: document.session_id,
    parentId: document.parent_id,
    forkPointId: document.fork_point_id,
    inheritedCount: document.inherited_count,
    title: document.title,
    ...(metadata === undefined ? {} : { metadata: JSON.parse(metadata) as JsonObject }),
    ...(labels === undefined ? {} : { labels: labelsOf(labels) }),
    ...accessOf(document),
    ...(expire_time === undefined ? {} : { expireTimeMicros: Number(expire_time) }),
    createTimeMicros: Number(document.create_time),
    updateTimeMicros: Number(document.update_time),
    origin: origin && {
      kind: origin.kind,
      sourceSessionId: origin.source_session_id,
      sourceUid: origin.source_uid,
      upToMessageId: origin.up_to_message_id,
    },
    revision: document.revision,
    sessionRevision: document.version,
    segments: document.segments.map(segmentOf),
    log: document.log,
    lastTimestampMicros: Number(document.last_timestamp),
    ancestry: document.ancestry.map(({ session_id, uid, ...segment }) => ({
      ...segmentOf(segment),
      sessionId: session_id,
      ...(uid !== undefined && { uid }),
    })),
    ...(document.annotations && { annotations: document.annotations.map(segmentOf) }),
    undo: undo && { segments: undo.segments.map(segmentOf), lastTimestampMicros: Number(undo.last_timestamp) },
    namedLogs: namedLogsOf(document),
    drafts: (document.drafts ?? []).map(toDraft),
    rollovers: { count: document.rollovers.count, atMs: Number(document.rollovers.at_ms) },
    dropped: document.dropped.map((range) => ({ ...segmentOf(range), ...toMarkable(range) })),
    edits: document.edits.map(toEdit),
    sources: [...document.sources],
    forks: document.forks,
    ...(document.restoring && { restoring: true }),
    deleted: document.tombstone !== LIVING,
    ...binOf(document),
    markedAtMs: document.marked_time?.getTime() ?? null,
  };
}

function givenFields(namespace: string, record: NextRecord, write: ObjectId): GivenFields {
  const { origin, undo, metadata, labels, expireTimeMicros } = record;
  const sweepAtMs = sweepTimeOf(record);
  return {
    _id: record.uid,
    namespace,
    session_id: record.sessionId,
    tombstone: record.deleted ? record.uid : LIVING,
    parent_id: record.parentId,
    fork_point_id: record.forkPointId,
    inherited_count: record.inheritedCount,
    title: record.title,
    ...(!record.deleted && { ...listingFields(record.title), ...digestsOf(record) }),
    ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
    ...(labels === undefined ? {} : { labels: labelTexts(labels) }),
    ...(record.owner !== undefined && { owner: record.owner }),
    ...(record.ticketGeneration !== undefined && { ticket_generation: record.ticketGeneration }),
    ...(record.creatorKey !== undefined && { creator_key: record.creatorKey }),
    ...(record.isCounted && { is_counted: true }),
    ...(expireTimeMicros === undefined ? {} : { expire_time: int64(expireTimeMicros) }),
    create_time: int64(record.createTimeMicros),
    update_time: int64(record.updateTimeMicros),
    origin: origin && {
      kind: origin.kind,
      source_session_id: origin.sourceSessionId,
      source_uid: origin.sourceUid,
      up_to_message_id: origin.upToMessageId,
    },
    revision: record.revision,
    version: record.sessionRevision,
    segments: record.segments.map(segmentOf),
    log: record.log,
    last_timestamp: int64(record.lastTimestampMicros),
    ancestry: record.ancestry.map(({ sessionId, uid, ...segment }) => ({
      ...segmentOf(segment),
      session_id: sessionId,
      ...(uid !== undefined && { uid }),
    })),
    ...(record.annotations && { annotations: record.annotations.map(segmentOf) }),
    undo: undo && { segments: undo.segments.map(segmentOf), last_timestamp: int64(undo.lastTimestampMicros) },
    named_logs: record.namedLogs.map(toNamedLogDocument),
    ...(record.drafts.length > 0 && { drafts: record.drafts.map(toDraftDocument), drafting: true }),
    rollovers: { count: record.rollovers.count, at_ms: int64(record.rollovers.atMs) },
    edits: record.edits.map(toEditDocument),
    dropped: record.dropped.map((range) => ({ ...segmentOf(range), ...toMarked(range) })),
    sources: [...record.sources],
    ...(record.restoring && { restoring: true }),
    ...(record.bin && {
      delete_time: int64(record.bin.deleteTimeMicros),
      purge_time: int64(record.bin.purgeTimeMicros),
    }),
    ...(record.broughtBackAs !== undefined && { brought_back_as: record.broughtBackAs }),
    marked_time: record.markedAtMs === null ? null : new Date(record.markedAtMs),
    sweep_time: sweepAtMs === null ? null : new Date(sweepAtMs),
    write,
  };
}

/** What lists find a living session by. */
export function listingFields(title: string): Pick<RecordDocument, "title_key" | "title_words"> {
  const words = titleWords(title);
  return { title_key: titleKey(title), ...(words.length > 0 && { title_words: words }) };
}

/** Who may see a session, and whose quotas count it. */
function accessOf({ owner, ticket_generation, creator_key, is_counted }: RecordDocument): Partial<SessionRecord> {
  return {
    ...(owner !== undefined && { owner }),
    ...(ticket_generation !== undefined && { ticketGeneration: ticket_generation }),
    ...(creator_key !== undefined && { creatorKey: creator_key }),
    ...(is_counted && { isCounted: true }),
  };
}

function binOf({ delete_time, purge_time, brought_back_as }: RecordDocument): Partial<SessionRecord> {
  const bin = { deleteTimeMicros: Number(delete_time), purgeTimeMicros: Number(purge_time) };
  return {
    ...(purge_time !== undefined && { bin }),
    ...(brought_back_as !== undefined && { broughtBackAs: brought_back_as }),
  };
}

function namedLogsOf({ named_logs, side_log }: RecordDocument): readonly NamedLog[] {
  if (named_logs) return named_logs.map(toNamedLog);
  return side_log ? [{ log: side_log, purpose: "older" }] : [];
}
