import { ByteRange, ViewedBytes } from "../../domain/byte-range.js";
import { MessageBody } from "../../domain/message-body.js";
import { usageOfText, usageText } from "../../domain/usage-text.js";
import type { DraftRef, Entry, NamedLog, NextRecord, SessionRecord, UsageRow } from "../history/log-store.js";
import { sideLogs, sweepTimeOf } from "../history/record-facts.js";
import { runningText } from "../history/running-usage.js";
import { fromColumn, toColumn } from "../text-column.js";
import type { Bound, Row } from "./statements.js";

/** The values of `insertEntry`, in order. */
export function entryToRow(entry: Entry): Bound[] {
  const { size, body } = bodyOf(entry);
  return [
    toColumn(entry.log),
    entry.seq,
    toColumn(entry.id),
    entry.timestampMicros,
    toColumn(entry.role),
    toColumn(entry.sessionId),
    entry.originSessionId === entry.sessionId ? null : toColumn(entry.originSessionId),
    size,
    body,
    ...usageOf(entry),
  ];
}

const NO_USAGE = [null, null] as const;

/** The columns of usage. */
function usageOf({ body, usageSums }: Entry): readonly [string | null, string | null] {
  if (usageSums === undefined) return NO_USAGE;
  return [usageText(body.usage ?? {}), runningText(usageSums)];
}

/** The values of `updateBody`. */
export function bodyToRow(entry: Entry): Bound[] {
  const { size, body } = bodyOf(entry);
  const usage = usageText(entry.body.usage ?? {});
  return [size, body, usage, toColumn(entry.log), entry.seq, toColumn(entry.id)];
}

function bodyOf({ id, body: given }: Entry): { readonly size: number; readonly body: string } {
  const body = given.encode();
  return { size: Buffer.byteLength(body) + Buffer.byteLength(id), body };
}

/** The values of `insertEntry` for a seal. */
export function sealToRow(log: string, seq: number): Bound[] {
  return [log, seq, null, 0, "", "", null, 0, "", null, null];
}

/** What `usageRows` and, in front of the sums, `firstUsage` return. */
export type UsageColumns = readonly [
  seq: number,
  timestampMicros: number,
  sessionId: string,
  origin: string | null,
  usage: string,
];

export function toUsageRow(log: string, [seq, timestampMicros, sessionId, origin, usage]: UsageColumns): UsageRow {
  const originSessionId = fromColumn(origin ?? sessionId);
  return { log, seq, timestampMicros, originSessionId, usage: usageOfText(usage) };
}

export function rowToEntry(row: Row): Entry {
  const [log, seq, id, timestamp, role, sessionId, origin, body] = row as unknown as EntryRow;
  return toEntry(fromColumn(log), [seq, id, timestamp, role, sessionId, origin], MessageBody.stored(body));
}

/**
 * The result of `readPage`: the size of the largest message, the columns of all messages, and their bodies. Null when
 * there are none.
 */
export type PageRow = readonly [number, string, Buffer] | readonly [null, null, null];

/** What `readNewest` returns after the columns of the record: the place of the seal, and a page. */
export type EndColumns = readonly [number | null, number | null, string | null, Buffer];

export function pageToEntries(log: string, columns: string, bodies: Buffer): Entry[] {
  const source = new ViewedBytes(bodies);
  let end = 0;
  return (JSON.parse(columns) as [...EntryColumns, number][]).map((values) => {
    const [seq, id, timestamp, role, sessionId, origin, bytes] = values;
    end += bytes;
    const body = MessageBody.stored(new ByteRange(source, end - bytes, end));
    return toEntry(log, [seq, id, timestamp, role, sessionId, origin], body);
  });
}

function toEntry(log: string, columns: EntryColumns, body: MessageBody): Entry {
  const [seq, id, timestampMicros, role, sessionId, origin] = columns;
  const owner = fromColumn(sessionId);
  return {
    log,
    seq,
    id: fromColumn(id),
    timestampMicros,
    role: fromColumn(role),
    body,
    sessionId: owner,
    originSessionId: origin === null ? owner : fromColumn(origin),
    remaining: 0,
  };
}

type EntryRow = readonly [string, number, string, number, string, string, string | null, Buffer];
type EntryColumns = readonly [number, string, number, string, string, string | null];

/**
 * The values of a record in the order of `RECORD` after uid and forks, with the sweep's time. Fields that are searched
 * for are columns, the rest is JSON. A record that names no log other than its open one, or no draft, has null there.
 */
export function recordToRow(record: NextRecord): Bound[] {
  const {
    uid: _uid,
    sessionId,
    parentId,
    owner,
    creatorKey,
    updateTimeMicros,
    revision,
    deleted,
    log,
    namedLogs,
    drafts,
    ...given
  } = record;
  const { sessionRevision: version, ...rest } = given;
  return [
    toColumn(sessionId),
    toColumn(parentId),
    toColumn(owner ?? ""),
    creatorKey === undefined ? null : toColumn(creatorKey),
    updateTimeMicros,
    record.expireTimeMicros ?? null,
    revision,
    deleted ? 1 : 0,
    sweepTimeOf(record),
    toColumn(log),
    namedLogs.length === 0 ? null : JSON.stringify(namedLogs),
    drafts.length === 0 ? null : JSON.stringify(drafts),
    record.bin?.deleteTimeMicros ?? null,
    record.bin?.purgeTimeMicros ?? null,
    JSON.stringify({ ...rest, version } satisfies RecordBody),
  ];
}

/** The logs other than the open one that a record lets entries into, from its two columns. */
export function sideLogsOf(namedLogs: string | null, drafts: string | null): readonly string[] {
  if (namedLogs === null && drafts === null) return [];
  return sideLogs({ namedLogs: listOf<NamedLog>(namedLogs), drafts: listOf<DraftRef>(drafts) });
}

function listOf<T>(column: string | null): readonly T[] {
  return column === null ? [] : (JSON.parse(column) as T[]);
}

export function rowToRecord(row: Row): SessionRecord {
  const [uid, forks, sessionId, parentId, owner, creatorKey, updateTimeMicros, , revision, deleted, , ...content] =
    row as RecordColumns;
  const [log, namedLogs, drafts, , , body] = content;
  const { version, ...rest } = JSON.parse(body) as RecordBody;
  return {
    ...rest,
    ...(owner !== "" && { owner: fromColumn(owner) }),
    ...(creatorKey !== null && { creatorKey: fromColumn(creatorKey) }),
    sessionRevision: version,
    uid: fromColumn(uid),
    sessionId: fromColumn(sessionId),
    parentId: fromColumn(parentId),
    updateTimeMicros,
    revision,
    forks,
    deleted: deleted === 1,
    log: fromColumn(log),
    namedLogs: listOf<NamedLog>(namedLogs),
    drafts: listOf<DraftRef>(drafts),
  };
}

type RecordColumns = readonly [
  string,
  number,
  string,
  string,
  string,
  string | null,
  number,
  number | null,
  number,
  number,
  number | null,
  string,
  string | null,
  string | null,
  number | null,
  number | null,
  string,
];
/** The part kept as JSON, in which `sessionRevision` is called `version`. */
type RecordBody = Omit<
  SessionRecord,
  | "uid"
  | "forks"
  | "sessionId"
  | "parentId"
  | "owner"
  | "creatorKey"
  | "updateTimeMicros"
  | "revision"
  | "sessionRevision"
  | "deleted"
  | "log"
  | "namedLogs"
  | "drafts"
> & { readonly version: number };
