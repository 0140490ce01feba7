import { ByteRange, ViewedBytes } from "../../domain/byte-range.js";
import { MessageBody } from "../../domain/message-body.js";
import { NOTHING_KNOWN, type UsageValues, usageOfValues } from "../../domain/usage-text.js";
import type { DraftRef, Entry, NamedLog, NextRecord, SessionRecord, UsageRow } from "../history/log-store.js";
import { sideLogs, sweepTimeOf } from "../history/record-facts.js";
import { runningText } from "../history/running-usage.js";
import { fromColumn, toColumn } from "../text-column.js";
import { type Bound, RECORD_COLUMNS, type Row } from "./statements.js";

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
  return [body.usageText ?? NOTHING_KNOWN, runningText(usageSums)];
}

/** The values of `updateBody`. */
export function bodyToRow(entry: Entry): Bound[] {
  const { size, body } = bodyOf(entry);
  const usage = entry.body.usageText ?? NOTHING_KNOWN;
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

/** What is read of an entry with usage. */
type UsageColumns = readonly [seq: number, timestampMicros: number, origin: string, usage: UsageValues];

export function toUsageRow(log: string, [seq, timestampMicros, origin, usage]: UsageColumns): UsageRow {
  return { log, seq, timestampMicros, originSessionId: fromColumn(origin), usage: usageOfValues(usage) };
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
  const { sessionId, parentId, owner, creatorKey, updateTimeMicros, revision, deleted, log, namedLogs, drafts } =
    record;
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
    bodyOfRecord(record),
  ];
}

/** The part kept as JSON. The version comes last; `rowToRecord` says why. */
function bodyOfRecord(record: NextRecord): string {
  const body: { [field: string]: unknown } = {};
  for (const field of Object.keys(record)) {
    if (!Object.hasOwn(COLUMNS, field)) body[field] = record[field as keyof NextRecord];
  }
  body.version = record.sessionRevision;
  return JSON.stringify(body);
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
  return toRecord(row as unknown as RecordColumns, JSON.parse(row[RECORD_COLUMNS - 1] as string));
}

/** The records of a page, as the statements of lists return it. */
export function pageToRecords(row: Row | undefined): SessionRecord[] {
  const [text] = row as readonly [Buffer | null];
  const items = text === null ? [] : (JSON.parse(text.toString()) as (RecordColumns | RecordBody)[]);
  const records: SessionRecord[] = [];
  for (let i = 0; i < items.length; i += 2)
    records.push(toRecord(items[i] as RecordColumns, items[i + 1] as RecordBody));
  return records;
}

/** The body becomes the record. */
function toRecord(row: RecordColumns, body: RecordBody): SessionRecord {
  const [
    uid,
    forks,
    sessionId,
    parentId,
    owner,
    creatorKey,
    updateTimeMicros,
    ,
    revision,
    deleted,
    ,
    log,
    namedLogs,
    drafts,
  ] = row;
  // Lists read very many records, and a copy without the version would take ten times as long. To delete the property
  // that was added last costs nothing; another one would make the object slow.
  const record: RecordBody & { owner?: string; creatorKey?: string } = body;
  const { version } = record;
  delete record.version;
  if (owner !== "") record.owner = fromColumn(owner);
  if (creatorKey !== null) record.creatorKey = fromColumn(creatorKey);
  return Object.assign(record as Omit<RecordBody, "version">, {
    sessionRevision: version as number,
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
  });
}

/** The columns of a record without the last one, which is the body. */
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
];
/** The fields of a record that are columns, and the one that has another name in the part kept as JSON. */
const COLUMNS = {
  uid: true,
  forks: true,
  sessionId: true,
  parentId: true,
  owner: true,
  creatorKey: true,
  updateTimeMicros: true,
  revision: true,
  sessionRevision: true,
  deleted: true,
  log: true,
  namedLogs: true,
  drafts: true,
} as const satisfies { readonly [field in keyof SessionRecord]?: true };
/** The part kept as JSON, in which `sessionRevision` is called `version`. */
type RecordBody = Omit<SessionRecord, keyof typeof COLUMNS> & { version?: number };
