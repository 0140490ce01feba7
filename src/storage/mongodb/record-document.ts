import type { Document, Long, ObjectId } from "mongodb";
import type { JsonObject } from "../../domain/json.js";
import type { DroppedRange, NextRecord, Segment, SessionRecord } from "../history/log-store.js";
import { int64 } from "./entry-document.js";

/** A session. `_id` is its uid. */
export interface RecordDocument {
  readonly _id: string;
  readonly namespace: string;
  readonly session_id: string;
  /** Empty while the session lives, then its uid: what frees the session id, which as part of a shard key never changes. */
  readonly tombstone: string;
  readonly parent_id: string;
  readonly fork_point_id: string;
  readonly inherited_count: number;
  readonly title: string;
  /** JSON text. */
  readonly metadata?: string;
  readonly create_time: Long | number;
  readonly update_time: Long | number;
  readonly origin: {
    readonly kind: "fork" | "share";
    readonly source_session_id: string;
    readonly source_uid: string;
    readonly up_to_message_id: string;
  } | null;
  readonly revision: number;
  readonly version: number;
  readonly segments: readonly Segment[];
  readonly log: string;
  readonly last_timestamp: Long | number;
  readonly ancestry: readonly (Segment & { readonly session_id: string })[];
  readonly undo: { readonly segments: readonly Segment[]; readonly last_timestamp: Long | number } | null;
  readonly side_log: string | null;
  readonly rollovers: { readonly count: number; readonly at_ms: Long | number };
  readonly dropped: readonly (Segment & { readonly time: Date })[];
  readonly edits: readonly { readonly revision: number; readonly kept: number }[];
  readonly sources: readonly string[];
  readonly forks: number;
  readonly delete_time: Date | null;
  /** When the first of its dropped ranges was dropped, or it was deleted: what the sweep looks for. */
  readonly sweep_time: Date | null;
  /** Tells a repeated write from another's. */
  readonly write: ObjectId;
}

/** `tombstone` of a session that lives. */
export const LIVING = "";

/** What of a document the caller of the store decides. */
type GivenFields = Omit<RecordDocument, "forks" | "delete_time" | "sweep_time" | "dropped">;

/** The document of a new record; `now` stands for the store's clock. */
export function toNewDocument(namespace: string, record: NextRecord, write: ObjectId, now: Date): RecordDocument {
  const dropped = record.dropped.map((range) => ({ ...segmentOf(range), time: timeOf(range) ?? now }));
  const times = dropped.map(({ time }) => time.getTime());
  return {
    ...givenFields(namespace, record, write),
    dropped,
    forks: 0,
    delete_time: null,
    sweep_time: times.length > 0 ? new Date(Math.min(...times)) : null,
  };
}

/**
 * The pipeline that puts a record in the place of the one it finds: keeps `forks`, and takes the server's clock for what is dropped or deleted now.
 * All that a caller chose is inside `$literal`.
 */
export function toReplacement(namespace: string, record: NextRecord, write: ObjectId): Document[] {
  const dropped = record.dropped.map((range) => {
    const time = timeOf(range);
    return { $mergeObjects: [{ $literal: segmentOf(range) }, { time: time ? { $literal: time } : "$$NOW" }] };
  });
  const stored = {
    forks: "$forks",
    dropped: dropped.length > 0 ? dropped : { $literal: [] },
    delete_time: record.deleted ? { $ifNull: ["$delete_time", "$$NOW"] } : { $literal: null },
    sweep_time: sweepTime(record),
  };
  return [{ $replaceWith: { $mergeObjects: [{ $literal: givenFields(namespace, record, write) }, stored] } }];
}

export function toRecord(document: RecordDocument): SessionRecord {
  const { origin, undo, metadata } = document;
  return {
    uid: document._id,
    sessionId: document.session_id,
    parentId: document.parent_id,
    forkPointId: document.fork_point_id,
    inheritedCount: document.inherited_count,
    title: document.title,
    ...(metadata === undefined ? {} : { metadata: JSON.parse(metadata) as JsonObject }),
    createTimeMicros: Number(document.create_time),
    updateTimeMicros: Number(document.update_time),
    origin: origin && {
      kind: origin.kind,
      sourceSessionId: origin.source_session_id,
      sourceUid: origin.source_uid,
      upToMessageId: origin.up_to_message_id,
    },
    revision: document.revision,
    version: document.version,
    segments: document.segments.map(segmentOf),
    log: document.log,
    lastTimestampMicros: Number(document.last_timestamp),
    ancestry: document.ancestry.map((segment) => ({ ...segmentOf(segment), sessionId: segment.session_id })),
    undo: undo && { segments: undo.segments.map(segmentOf), lastTimestampMicros: Number(undo.last_timestamp) },
    sideLog: document.side_log,
    rollovers: { count: document.rollovers.count, atMs: Number(document.rollovers.at_ms) },
    dropped: document.dropped.map((range) => ({ ...segmentOf(range), droppedAtMs: range.time.getTime() })),
    edits: document.edits.map(({ revision, kept }) => ({ revision, kept })),
    sources: [...document.sources],
    forks: document.forks,
    deletedAtMs: document.delete_time?.getTime() ?? null,
  };
}

function givenFields(namespace: string, record: NextRecord, write: ObjectId): GivenFields {
  const { origin, undo, metadata } = record;
  return {
    _id: record.uid,
    namespace,
    session_id: record.sessionId,
    tombstone: record.deleted ? record.uid : LIVING,
    parent_id: record.parentId,
    fork_point_id: record.forkPointId,
    inherited_count: record.inheritedCount,
    title: record.title,
    ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
    create_time: int64(record.createTimeMicros),
    update_time: int64(record.updateTimeMicros),
    origin: origin && {
      kind: origin.kind,
      source_session_id: origin.sourceSessionId,
      source_uid: origin.sourceUid,
      up_to_message_id: origin.upToMessageId,
    },
    revision: record.revision,
    version: record.version,
    segments: record.segments.map(segmentOf),
    log: record.log,
    last_timestamp: int64(record.lastTimestampMicros),
    ancestry: record.ancestry.map((segment) => ({ ...segmentOf(segment), session_id: segment.sessionId })),
    undo: undo && { segments: undo.segments.map(segmentOf), last_timestamp: int64(undo.lastTimestampMicros) },
    side_log: record.sideLog,
    rollovers: { count: record.rollovers.count, at_ms: int64(record.rollovers.atMs) },
    edits: record.edits.map(({ revision, kept }) => ({ revision, kept })),
    sources: [...record.sources],
    write,
  };
}

function sweepTime(record: NextRecord): unknown {
  if (record.deleted) return { $ifNull: ["$delete_time", "$$NOW"] };
  const times = record.dropped.flatMap(({ droppedAtMs }) => droppedAtMs ?? []);
  if (times.length > 0) return { $literal: new Date(Math.min(...times)) };
  return record.dropped.length > 0 ? "$$NOW" : { $literal: null };
}

function segmentOf({ log, first, last }: Segment): Segment {
  return { log, first, last };
}

function timeOf({ droppedAtMs }: DroppedRange): Date | null {
  return droppedAtMs === undefined ? null : new Date(droppedAtMs);
}
