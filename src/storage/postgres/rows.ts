import { labelTexts } from "../../domain/labels.js";
import { MessageBody } from "../../domain/message-body.js";
import { titleKey, titleWords } from "../../domain/session-order.js";
import { NOTHING_KNOWN, usageOfText } from "../../domain/usage-text.js";
import type { Entry, NextRecord, Segment, SessionRecord, UsageRow } from "../history/log-store.js";
import { isWritable, openDrafts, sideLogs, sweepTimeOf } from "../history/record-facts.js";
import { runningText } from "../history/running-usage.js";
import { fromColumn, toColumn } from "../text-column.js";
import { arrayText, type Row, type Value } from "./values.js";

/** The columns of an entry, in the order that `toEntry` expects. */
export const ENTRY = "m.uid, m.log, m.seq, m.id, m.timestamp, m.role, m.session_id, m.origin, m.body";

export function toEntry(row: Row): Entry {
  const [uid, log, seq, id, timestampMicros, role, session, origin, body] = row as EntryColumns;
  const sessionId = fromColumn(session);
  return {
    log: fromColumn(uid) + fromColumn(log),
    seq,
    id: fromColumn(id),
    timestampMicros,
    role: fromColumn(role),
    body: MessageBody.stored(body),
    sessionId,
    originSessionId: origin === null ? sessionId : fromColumn(origin),
    remaining: 0,
  };
}

type EntryColumns = readonly [string, string, number, string, number, string, string, string | null, string];

export type EntryValues = readonly [
  id: string,
  timestampMicros: number,
  size: number,
  role: string,
  sessionId: string,
  origin: string | null,
  body: string,
  words: string | null,
  named: string | null,
  usage: string | null,
  sums: string | null,
];

/** The values of a new entry, in the order of the parameters of `append_one_3` that follow `p_seq`. */
export function entryValues(entry: Entry, words: string | null): EntryValues {
  const { size, body, named } = bodyValues(entry);
  const origin = entry.originSessionId === entry.sessionId ? null : toColumn(entry.originSessionId);
  return [
    toColumn(entry.id),
    entry.timestampMicros,
    size,
    toColumn(entry.role),
    toColumn(entry.sessionId),
    origin,
    body,
    words,
    named,
    ...usageValues(entry),
  ];
}

const NO_USAGE = [null, null] as const;

function usageValues({ body, usageSums }: Entry): readonly [string | null, string | null] {
  return usageSums === undefined ? NO_USAGE : [body.usageText ?? NOTHING_KNOWN, runningText(usageSums)];
}

/** What `usageRows` returns after the number of the range; `usageEnds` returns more. */
export type UsageColumns = readonly [seq: number, timestampMicros: number, originSessionId: string, usage: string];

export function toUsageRow(log: string, [seq, timestampMicros, origin, usage]: UsageColumns): UsageRow {
  return { log, seq, timestampMicros, originSessionId: fromColumn(origin), usage: usageOfText(usage) };
}

export function bodyValues({ id, body }: Entry): {
  readonly size: number;
  readonly body: string;
  /** What the body names, as the function `name_1` takes it; null for nothing. */
  readonly named: string | null;
} {
  const text = body.encode();
  const named = body.attachments.flatMap((one) => [toColumn(one.attachmentId), ...splitLog(one.log)]);
  return {
    size: Buffer.byteLength(text) + Buffer.byteLength(id),
    body: text,
    named: named.length === 0 ? null : arrayText(named),
  };
}

/** The columns of a record, in the order that `toRecord` expects. */
export const RECORD = "s.uid, s.update_time, s.revision, s.forks, s.segments, s.body";
export const RECORD_COLUMNS = 6;

/** The columns of a record that its writer decides, in the order of `recordValues`. */
export const RECORD_FIELDS = [
  "session_id",
  "parent_id",
  "owner",
  "creator_key",
  "update_time",
  "expire_time",
  "revision",
  "session_revision",
  "deleted",
  "restoring",
  "drafts",
  "open_drafts",
  "sweep_time",
  "delete_time",
  "purge_time",
  "write",
  "logs",
  "labels",
  "segments",
  "body",
] as const;

export function recordValues(record: NextRecord, write: number): Value[] {
  const { uid: _uid, updateTimeMicros, revision, segments, ...rest } = record;
  const { forks: _forks, ...body } = rest as typeof rest & { readonly forks?: number };
  const logs = isWritable(record) ? [record.log, ...sideLogs(record)] : [];
  return [
    toColumn(record.sessionId),
    toColumn(record.parentId),
    toColumn(record.owner ?? ""),
    record.creatorKey === undefined ? null : toColumn(record.creatorKey),
    updateTimeMicros,
    record.expireTimeMicros ?? null,
    revision,
    record.sessionRevision,
    record.deleted,
    record.restoring === true,
    record.drafts.length,
    openDrafts(record).length,
    sweepTimeOf(record),
    record.bin?.deleteTimeMicros ?? null,
    record.bin?.purgeTimeMicros ?? null,
    write,
    logs.map(toColumn),
    record.deleted ? [] : labelTexts(record.labels).map(toColumn),
    JSON.stringify(segments.map(({ log, first, last }) => [...splitLog(log), first, last])),
    JSON.stringify(body),
  ];
}

/** What lists find a record by, in the order of the parameters that follow its fields. */
export function listingValues({ createTimeMicros, title, deleted }: NextRecord): Value[] {
  return [createTimeMicros, deleted ? "" : titleKey(title), deleted ? [] : titleWords(title)];
}

export function toRecord(row: Row): SessionRecord {
  const [uid, updateTimeMicros, revision, forks, segments, body] = row as RecordColumns;
  const rest = JSON.parse(body) as Omit<SessionRecord, "uid" | "updateTimeMicros" | "revision" | "forks" | "segments">;
  // A copy would take several times as long.
  return Object.assign(rest, {
    uid: fromColumn(uid),
    updateTimeMicros,
    revision,
    forks,
    segments: (JSON.parse(segments) as SegmentColumns[]).map(toSegment),
  });
}

type RecordColumns = readonly [string, number, number, number, string, string];
type SegmentColumns = readonly [string, string, number, number];

function toSegment([uid, log, first, last]: SegmentColumns): Segment {
  return { log: fromColumn(uid) + fromColumn(log), first, last };
}

/** The owner of a log, and the rest of its name with the dot, as columns hold them. Together they are the name. */
export function splitLog(log: string): [uid: string, rest: string] {
  const dot = log.indexOf(".");
  return dot < 0 ? [toColumn(log), ""] : [toColumn(log.slice(0, dot)), toColumn(log.slice(dot))];
}

/** The owners of logs, and the rests of their names, as two columns. */
export function columnsOf(logs: readonly string[]): [string[], string[]] {
  const names = logs.map(splitLog);
  return [names.map(([uid]) => uid), names.map(([, rest]) => rest)];
}
