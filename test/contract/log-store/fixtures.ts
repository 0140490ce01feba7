import type { JsonObject, JsonValue } from "../../../src/domain/json.js";
import { type BodyContent, MessageBody } from "../../../src/domain/message-body.js";
import type { Entry, LogStore, NextRecord, SessionRecord } from "../../../src/storage/history/log-store.js";
import { namesLog, ownerOf } from "../../../src/storage/history/record-facts.js";

/** Some moment in 2025, in microseconds. */
export const T0 = 1_750_000_000_000_000;

/** Texts that a careless store would lose, cut or mistake for something of its own. */
export const ODD_TEXTS = [
  "$set",
  "$where",
  "a.b",
  ".",
  "__proto__",
  "constructor",
  "nul\u0000inside",
  "\u0000",
  "\u0001",
  "\u0001\u0000\u00010",
  "line\nbreak\ttab",
  "quote'\"`\\%_?",
  "\u{1F600} astral \u{10FFFF}",
  "\uFF5E",
  "e\u0301 is not \u00E9",
  "\u2028\uFEFF",
  "null",
  "0",
  "null\u0000",
] as const;

/** The fields of an entry that a case may set. The body is given as values. */
export type Given = Partial<Omit<Entry, "body"> & BodyContent>;

export function entry(log: string, seq: number, { parts, metadata, usage, ...more }: Given = {}): Entry {
  return {
    log,
    seq,
    id: `m${seq}`,
    timestampMicros: T0 + seq,
    role: "user",
    body: MessageBody.of({ parts: parts ?? [{ id: "", type: "text", text: `message ${seq}` }], metadata, usage }),
    sessionId: "s",
    originSessionId: "s",
    remaining: 0,
    ...more,
  };
}

/** Entries `first` to `last`, as one batch. */
export function entries(log: string, first: number, last: number, more: (seq: number) => Given = () => ({})): Entry[] {
  return Array.from({ length: last - first + 1 }, (_, i) =>
    entry(log, first + i, { remaining: last - first - i, ...more(first + i) }),
  );
}

/** Makes records that name these logs, so that entries may be appended to them. */
export async function own(store: LogStore, ...logs: string[]): Promise<void> {
  for (const log of logs) {
    const uid = ownerOf(log);
    const found = (await store.readRecordByUid(uid)) ?? (await created(store, uid));
    const namedLogs = [...found.namedLogs, { log, purpose: "older" } as const];
    if (!namesLog(found, log)) await replaced(store, found, { namedLogs });
  }
}

/** Appends entries whose owner no longer has a record, as a slow writer does on a store that does not check. */
export async function fillOrphaned(store: LogStore, log: string): Promise<void> {
  await fill(store, log, 1, 3);
  await disown(store, ownerOf(log));
}

/** Removes a record and leaves its logs. */
export async function disown(store: LogStore, uid: string): Promise<void> {
  const found = await store.readRecordByUid(uid);
  if (found) await replaced(store, found, { deleted: true });
  await store.deleteRecord(uid);
}

/** Appends messages `first` to `last` and insists that they were stored. */
export async function fill(
  store: LogStore,
  log: string,
  first: number,
  last: number,
  more?: (seq: number) => Given,
): Promise<Entry[]> {
  const batch = entries(log, first, last, more);
  await own(store, log);
  const stored = await store.append(log, first, batch);
  if (stored !== batch.length) throw new Error(`append of ${first} to ${last} to ${log} answered ${stored}`);
  return batch;
}

export function record(uid: string, more: Partial<NextRecord> = {}): NextRecord {
  return {
    uid,
    sessionId: `session of ${uid}`,
    parentId: "",
    forkPointId: "",
    inheritedCount: 0,
    title: "",
    createTimeMicros: T0,
    updateTimeMicros: T0,
    origin: null,
    revision: 0,
    sessionRevision: 0,
    segments: [],
    log: `${uid}.1`,
    lastTimestampMicros: 0,
    ancestry: [],
    undo: null,
    namedLogs: [],
    drafts: [],
    rollovers: { count: 0, atMs: 0 },
    dropped: [],
    edits: [],
    sources: [],
    deleted: false,
    markedAtMs: null,
    ...more,
  };
}

/** Makes a record and resolves to it as it was stored. */
export async function created(store: LogStore, uid: string, more: Partial<NextRecord> = {}): Promise<SessionRecord> {
  const next = record(uid, more);
  const outcome = await store.createRecord(next);
  const stored = await store.readRecord(next.sessionId);
  if (outcome !== "created" || stored === null) throw new Error(`createRecord of ${uid} answered ${outcome}`);
  return stored;
}

/** The next revision of a record. */
export function next(from: SessionRecord, more: Partial<NextRecord> = {}): NextRecord {
  const { forks: _forks, ...rest } = from;
  return { ...rest, revision: from.revision + 1, ...more };
}

/** Replaces a record and insists that it was replaced. */
export async function replaced(
  store: LogStore,
  from: SessionRecord,
  more: Partial<NextRecord> = {},
): Promise<SessionRecord> {
  const after = await store.replaceRecord(next(from, more), from.revision);
  if (after === null) throw new Error(`replaceRecord of ${from.uid} at ${from.revision} answered null`);
  return after;
}

/**
 * The content of an entry as text, whatever the order of its keys. `remaining` is left out, and an absent Struct counts
 * as an empty one.
 */
export function comparable(one: Entry): string {
  const { remaining: _remaining, usageSums, body, ...rest } = one;
  const { parts, metadata, usage } = body;
  return canonical({
    ...rest,
    parts: parts.map(({ attachment, ...part }) => ({
      ...part,
      data: part.data ?? {},
      attachment: { ...attachment } as JsonObject,
    })),
    attachments: body.attachments.map((one) => ({ ...one })),
    metadata: metadata ?? {},
    usage: { ...usage } as JsonObject,
    usageSums: usageSums ? "given" : "",
  });
}

export function allComparable(some: readonly Entry[]): string[] {
  return some.map(comparable);
}

export function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  const pairs = Object.entries(value as object).filter(([, item]) => item !== undefined);
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`;
}

export async function seqs(store: LogStore, log: string, first: number, last: number): Promise<number[]> {
  const { entries: found } = await store.readRange(log, first, last);
  return found.map((one) => one.seq);
}
