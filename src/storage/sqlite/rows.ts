import type { Part } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { Entry, NextRecord, SessionRecord } from "../history/log-store.js";
import type { Bound, Row } from "./statements.js";
import { fromColumn, toColumn } from "./text-column.js";

/** Values of `insertEntry`, in its order. */
export function entryToRow(entry: Entry): Bound[] {
  const body = JSON.stringify({ parts: entry.parts, metadata: entry.metadata });
  return [
    toColumn(entry.log),
    entry.seq,
    toColumn(entry.id),
    entry.timestampMicros,
    toColumn(entry.role),
    toColumn(entry.sessionId),
    entry.originSessionId === entry.sessionId ? null : toColumn(entry.originSessionId),
    Buffer.byteLength(body) + Buffer.byteLength(entry.id),
    body,
  ];
}

/** Values of `insertEntry` that seal a log. */
export function sealToRow(log: string, seq: number): Bound[] {
  return [log, seq, null, 0, "", "", null, 0, ""];
}

export function rowToEntry(row: Row): Entry {
  const [log, seq, id, timestamp, role, sessionId, origin, body] = row as EntryRow;
  const { parts, metadata } = JSON.parse(body) as { parts: Part[]; metadata?: JsonObject };
  const owner = fromColumn(sessionId);
  const entry = {
    log: fromColumn(log),
    seq,
    id: fromColumn(id),
    timestampMicros: timestamp,
    role: fromColumn(role),
    parts,
    sessionId: owner,
    originSessionId: origin === null ? owner : fromColumn(origin),
    owed: 0,
  };
  return metadata === undefined ? entry : { ...entry, metadata };
}

type EntryRow = readonly [string, number, string, number, string, string, string | null, string];

/** A record as it is kept: what is looked for in columns, the rest as JSON. */
export interface RecordRow {
  readonly sessionId: string;
  readonly parentId: string;
  readonly updateTime: number;
  readonly revision: number;
  readonly deletedAt: number | null;
  /** When the first of what there is to sweep came to be so. */
  readonly sweepAt: number | null;
  readonly body: string;
}

/** Puts the store's time where the contract asks for it; a tombstone keeps the one it has. */
export function recordToRow(record: NextRecord, deletedBefore: number | null, nowMs: number): RecordRow {
  const { uid: _uid, sessionId, parentId, updateTimeMicros, revision, deleted, ...rest } = record;
  const dropped = rest.dropped.map((range) => ({ ...range, droppedAtMs: range.droppedAtMs ?? nowMs }));
  const deletedAt = deleted ? (deletedBefore ?? nowMs) : null;
  const times = dropped.map((range) => range.droppedAtMs);
  if (deletedAt !== null) times.push(deletedAt);
  return {
    sessionId: toColumn(sessionId),
    parentId: toColumn(parentId),
    updateTime: updateTimeMicros,
    revision,
    deletedAt,
    sweepAt: times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b)),
    body: JSON.stringify({ ...rest, dropped }),
  };
}

export function rowToRecord(row: Row): SessionRecord {
  const [uid, sessionId, parentId, updateTimeMicros, revision, forks, deletedAtMs, body] = row as RecordColumns;
  return {
    ...(JSON.parse(body) as RecordBody),
    uid: fromColumn(uid),
    sessionId: fromColumn(sessionId),
    parentId: fromColumn(parentId),
    updateTimeMicros,
    revision,
    forks,
    deletedAtMs,
  };
}

type RecordColumns = readonly [string, string, string, number, number, number, number | null, string];
type RecordBody = Omit<
  SessionRecord,
  "uid" | "sessionId" | "parentId" | "updateTimeMicros" | "revision" | "forks" | "deletedAtMs"
>;
