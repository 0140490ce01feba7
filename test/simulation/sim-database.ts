import { labelTexts } from "../../src/domain/labels.js";
import type {
  BinFilter,
  BinPage,
  Entry,
  ExpiryBounds,
  NextRecord,
  RecordFilter,
  RecordPage,
  Segment,
  SessionRecord,
  Usage,
  UsageFilter,
} from "../../src/storage/history/log-store.js";
import { namesLog, ownerOf, sweepTimeOf, UPDATE_TIME_SLACK_MICROS } from "../../src/storage/history/record-facts.js";
import type { RunningUsage } from "../../src/storage/history/running-usage.js";
import { AttachmentMemory } from "../../src/storage/memory/attachment-memory.js";
import { SimFeed } from "./sim-feed.js";

/** The row at one place of a log: a message, or a seal when `entry` is null. */
export interface Row {
  readonly seq: number;
  readonly id: string;
  readonly entry: Entry | null;
  /** The sums with which the entry was appended. */
  readonly sums?: RunningUsage | undefined;
}

interface Log {
  readonly rows: Map<number, Row>;
  readonly ids: Map<string, Row>;
}

/**
 * One document, with the name of the write that made it. A store keeps that name to tell its own writes from others.
 */
interface RecordDocument {
  readonly record: SessionRecord;
  readonly write: object;
}

/** What the namespaces of one database share. Logs are named by uids and need no namespace. */
export interface SharedTables {
  readonly logs: Map<string, Log>;
  /** The uids of all records, of every namespace. */
  readonly owners: Set<string>;
  readonly attachments: AttachmentMemory;
}

export function sharedTables(): SharedTables {
  return { logs: new Map(), owners: new Set(), attachments: new AttachmentMemory() };
}

/**
 * The tables under the simulated stores. All methods are synchronous, so the caller decides what is one step. `without`
 * switches off rules in docs/history.md that a store keeps.
 */
export class SimDatabase {
  /** An append moves an update time that is older than this. */
  updateSlackMicros = UPDATE_TIME_SLACK_MICROS;
  readonly #records = new Map<string, RecordDocument>();
  readonly #uids = new Map<string, string>();
  /** The counted bytes of the records that have some. */
  readonly #bytes = new Map<string, number>();
  /** The uids that no record can have, each with the name of the write that has blocked it. */
  readonly #blocked = new Map<string, object>();
  readonly #logs: Map<string, Log>;
  readonly #owners: Set<string>;
  /** Rows and pieces of attachments, and an index of what names them. */
  readonly attachments: AttachmentMemory;
  /** Set by `keepFeed`. */
  feed: SimFeed | undefined;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number, shared: SharedTables = sharedTables()) {
    this.#nowMs = nowMs;
    this.#logs = shared.logs;
    this.#owners = shared.owners;
    this.attachments = shared.attachments;
  }

  /** Keeps a feed of the records from now on. */
  keepFeed(): void {
    const recordOf = (uid: string) => this.#records.get(uid)?.record;
    const slackMs = () => this.updateSlackMicros / 1000;
    this.feed = new SimFeed({ timeMs: () => this.timeMs(), recordOf, slackMs });
  }

  /** The store's time. */
  timeMs(): number {
    return this.#nowMs();
  }

  /** Whether a living record lets entries into the log. */
  names(log: string): boolean {
    const owner = this.#records.get(ownerOf(log))?.record;
    return owner !== undefined && namesLog(owner, log);
  }

  // Records. Each method changes one document.

  createRecord(next: NextRecord): "created" | "exists" {
    if (this.#records.has(next.uid)) return "created";
    if (this.#blocked.has(next.uid) || (!next.deleted && this.#uids.has(next.sessionId))) return "exists";
    if (!next.deleted) this.#uids.set(next.sessionId, next.uid);
    this.#put({ ...next, forks: 0 }, {});
    if (next.isCounted) this.setBytes(next.uid, 0);
    return "created";
  }

  /** Blocks the uid, unless it has a record: from now on no request for that record is carried out. */
  blockRecord(uid: string, write: object): "created" | "blocked" {
    if (this.#records.has(uid)) return "created";
    this.#blocked.set(uid, write);
    return "blocked";
  }

  /** Puts the record where this write has blocked its uid. If it is not blocked, an earlier request has done that. */
  unblockRecord(next: NextRecord, write: object): "created" | "exists" {
    if (this.#blocked.get(next.uid) !== write) return "created";
    if (!next.deleted && this.#uids.has(next.sessionId)) return "exists";
    this.#blocked.delete(next.uid);
    return this.createRecord(next);
  }

  readRecord(sessionId: string): SessionRecord | null {
    const uid = this.#uids.get(sessionId);
    return (uid !== undefined && this.#records.get(uid)?.record) || null;
  }

  raiseForks(sessionId: string): SessionRecord | null {
    const uid = this.#uids.get(sessionId);
    if (uid !== undefined) this.addFork(uid, 1);
    return this.readRecord(sessionId);
  }

  /** The name of the write that made the record with this uid. A store reads it to learn an unknown outcome. */
  document(uid: string): RecordDocument | null {
    return this.#records.get(uid) ?? null;
  }

  replaceRecord(next: NextRecord, ifRevision: number, write: object): SessionRecord | null {
    const current = this.#records.get(next.uid)?.record;
    // Rule: compare-and-set.
    if (current?.revision !== ifRevision) return null;
    const record = {
      ...next,
      updateTimeMicros: Math.max(next.updateTimeMicros, current.updateTimeMicros),
      // Rule: forks-apart.
      forks: current.forks,
    };
    if (next.deleted && !current.deleted) this.#uids.delete(current.sessionId);
    this.#put(record, write);
    return this.#records.get(next.uid)?.record ?? null;
  }

  publishRecord(next: NextRecord): "published" | "exists" | "gone" {
    const before = this.#records.get(next.uid)?.record;
    if (before?.deleted === false) return "published";
    if (before?.restoring !== true) return "gone";
    if (this.#uids.has(next.sessionId)) return "exists";
    this.#uids.set(next.sessionId, next.uid);
    this.#put({ ...next, revision: before.revision + 1, forks: before.forks }, {});
    return "published";
  }

  reviveRecord(next: NextRecord, ifRevision: number, write: object): SessionRecord | "exists" | null {
    if (this.#records.get(next.uid)?.record.revision !== ifRevision) return null;
    if (this.#uids.has(next.sessionId)) return "exists";
    this.#uids.set(next.sessionId, next.uid);
    return this.replaceRecord(next, ifRevision, write);
  }

  binned({ owner, sessionId }: BinFilter, { limit, after }: BinPage): SessionRecord[] {
    const place = ({ bin, sessionId }: SessionRecord): [number, string] => [bin?.deleteTimeMicros ?? 0, sessionId];
    const isBefore = ([time, id]: [number, string], [otherTime, otherId]: [number, string]) =>
      time < otherTime || (time === otherTime && id < otherId);
    return this.records()
      .filter(({ bin }) => bin !== undefined)
      .filter((record) => owner === undefined || (record.owner ?? "") === owner)
      .filter((record) => sessionId === undefined || record.sessionId === sessionId)
      .filter((record) => !after || isBefore(place(record), [after.deleteTimeMicros, after.sessionId]))
      .sort((a, b) => (isBefore(place(a), place(b)) ? 1 : -1))
      .slice(0, limit);
  }

  listDue(untilMicros: number, limit: number): SessionRecord[] {
    const due = this.records().filter(({ bin }) => bin !== undefined && bin.purgeTimeMicros <= untilMicros);
    return due.slice(0, limit);
  }

  addFork(uid: string, delta: number): boolean {
    const found = this.#records.get(uid);
    if (!found) return false;
    this.#put({ ...found.record, forks: found.record.forks + delta }, found.write);
    return true;
  }

  deleteRecord(uid: string): boolean {
    if (!this.#records.get(uid)?.record.deleted) return false;
    this.#owners.delete(uid);
    this.#bytes.delete(uid);
    return this.#records.delete(uid);
  }

  /** Adds to the counted bytes of a record that has some. */
  addBytes(uid: string, more: number): void {
    const before = this.#bytes.get(uid);
    if (before !== undefined) this.#bytes.set(uid, Math.max(0, before + more));
  }

  setBytes(uid: string, bytes: number): void {
    if (this.#records.has(uid)) this.#bytes.set(uid, bytes);
  }

  usage({ owner, key }: UsageFilter): Usage {
    const counts = this.records()
      .filter((r) => !r.deleted && (owner === undefined || (r.owner ?? "") === owner))
      .filter((r) => key === undefined || r.creatorKey === key)
      .map(({ uid }) => this.#bytes.get(uid));
    const bytes = counts.reduce<number>((sum, one) => sum + (one ?? 0), 0);
    return { sessions: counts.length, bytes, uncounted: counts.filter((one) => one === undefined).length };
  }

  listRecords(filter: RecordFilter, page: RecordPage): SessionRecord[] {
    const { after } = page;
    return this.records()
      .filter((r) => !r.deleted && (filter.parentId === "" || r.parentId === filter.parentId))
      .filter((r) => filter.labels?.every((label) => labelTexts(r.labels).includes(label)) ?? true)
      .filter((r) => filter.owner === undefined || filter.owner === (r.owner ?? ""))
      .sort((a, b) => -compareUpdates(a, b))
      .filter((r) => after === undefined || compareUpdates(r, after) < 0)
      .slice(0, page.limit);
  }

  listExpired({ expireTimeMicros, updateTimeMicros = -Infinity }: ExpiryBounds, limit: number): SessionRecord[] {
    const isExpired = (r: SessionRecord) =>
      (r.expireTimeMicros ?? Infinity) <= expireTimeMicros || r.updateTimeMicros <= updateTimeMicros;
    return this.records()
      .filter((r) => !r.deleted && isExpired(r))
      .slice(0, limit);
  }

  touchRecords(times: ReadonlyMap<string, number>): void {
    for (const [uid, micros] of times) {
      const found = this.#records.get(uid);
      if (!found || found.record.deleted || found.record.updateTimeMicros >= micros) continue;
      this.#put({ ...found.record, updateTimeMicros: micros }, found.write);
    }
  }

  /** What an append changes besides its rows, on a store that can do that in one step. */
  touchOwner(log: string): void {
    const found = this.#records.get(ownerOf(log));
    const nowMicros = Math.floor(this.#nowMs() * 1000);
    if (!found || found.record.deleted) return;
    const { updateTimeMicros } = found.record;
    if (Math.abs(nowMicros - updateTimeMicros) <= this.updateSlackMicros) return;
    const touched = { ...found.record, updateTimeMicros: Math.max(updateTimeMicros, nowMicros) };
    this.#put(touched, found.write, { isTouched: true });
  }

  listSweepable(untilMs: number, limit: number): SessionRecord[] {
    const time = (record: SessionRecord) => sweepTimeOf(record) ?? Number.POSITIVE_INFINITY;
    return (
      this.records()
        // Rule: sweep-unforked-only.
        .filter((record) => record.forks === 0)
        .filter((record) => time(record) <= untilMs)
        .sort((a, b) => time(a) - time(b))
        .slice(0, limit)
    );
  }

  listDrafting(afterUid: string, limit: number): SessionRecord[] {
    return this.records()
      .filter((record) => !record.deleted && record.drafts.length > 0 && record.uid > afterUid)
      .sort((a, b) => (a.uid < b.uid ? -1 : 1))
      .slice(0, limit);
  }

  scanRecords(afterUid: string, limit: number): SessionRecord[] {
    return this.records()
      .filter((record) => record.uid > afterUid)
      .sort((a, b) => (a.uid < b.uid ? -1 : 1))
      .slice(0, limit);
  }

  listOrphans(limit: number): string[] {
    const uids = new Set([...[...this.#logs.keys()].map(ownerOf), ...this.attachments.uids()]);
    return [...uids].filter((uid) => !this.#owners.has(uid)).slice(0, limit);
  }

  records(): SessionRecord[] {
    return [...this.#records.values()].map(({ record }) => record);
  }

  // Logs. One row is one document.

  logNames(): string[] {
    return [...this.#logs.keys()];
  }

  row(log: string, seq: number): Row | undefined {
    return this.#logs.get(log)?.rows.get(seq);
  }

  rowById(log: string, id: string): Row | undefined {
    return this.#logs.get(log)?.ids.get(id);
  }

  /** All rows in the order of their places. */
  rows(log: string): Row[] {
    return [...(this.#logs.get(log)?.rows.values() ?? [])].sort((a, b) => a.seq - b.seq);
  }

  insert(log: string, row: Row): "stored" | "seqTaken" | "idTaken" {
    const found = this.#logs.get(log) ?? { rows: new Map(), ids: new Map() };
    if (found.rows.has(row.seq)) return "seqTaken";
    if (found.ids.has(row.id)) return "idTaken";
    this.#logs.set(log, found);
    found.rows.set(row.seq, row);
    found.ids.set(row.id, row);
    if (row.entry) this.attachments.note(row.entry);
    return "stored";
  }

  overwrite({ log, seq, id, body }: Entry): void {
    const found = this.#logs.get(log);
    const row = found?.rows.get(seq);
    if (!found || !row?.entry || row.id !== id) return;
    const after = { ...row, entry: { ...row.entry, body } };
    found.rows.set(seq, after);
    found.ids.set(id, after);
    this.attachments.forget(log, seq);
    this.attachments.note(after.entry);
  }

  remove(log: string, seq: number): void {
    const found = this.#logs.get(log);
    const row = found?.rows.get(seq);
    if (!found || !row) return;
    found.rows.delete(seq);
    found.ids.delete(row.id);
    this.attachments.forget(log, seq);
    if (found.rows.size === 0) this.#logs.delete(log);
  }

  /** Removes the rows and pieces of a session's attachments, or the pieces in a range. */
  removeAttached(target: { readonly uid: string } | Segment): void {
    if ("uid" in target) this.attachments.deleteOwnedBy(target.uid);
    else this.attachments.deletePieces(target);
  }

  #put(record: SessionRecord, write: object, { isTouched = false } = {}): void {
    const before = this.#records.get(record.uid)?.record;
    this.#owners.add(record.uid);
    this.#records.set(record.uid, { record: deepFreeze(structuredClone(record)), write });
    this.feed?.note(before, record, isTouched);
  }
}

function compareUpdates(
  a: { updateTimeMicros: number; sessionId: string },
  b: { updateTimeMicros: number; sessionId: string },
): number {
  if (a.updateTimeMicros !== b.updateTimeMicros) return a.updateTimeMicros - b.updateTimeMicros;
  return a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
