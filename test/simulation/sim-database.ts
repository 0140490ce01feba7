import type {
  Entry,
  NextRecord,
  RecordFilter,
  RecordPage,
  SessionRecord,
  Sweepable,
} from "../../src/storage/history/log-store.js";
import type { Rule } from "../../src/storage/history/rules.js";

/** What stands at one place of a log: a message, or (entry null) a seal. */
export interface Row {
  readonly seq: number;
  readonly id: string;
  readonly entry: Entry | null;
}

interface Log {
  readonly rows: Map<number, Row>;
  readonly ids: Map<string, Row>;
}

/** What only matters with rules switched off: the caller's clock, and the `forks` it saw last. */
export interface Caller {
  readonly wallMs: number;
  readonly seenForks: number;
}

/** A single document that carries the name of the write that made it, as a store keeps it to tell its own from another's. */
interface RecordDocument {
  readonly record: SessionRecord;
  readonly write: object;
}

/** What namespaces of one database share: logs are named by uids and need no namespace. */
export interface SharedTables {
  readonly logs: Map<string, Log>;
  /** All uids with a record, of every namespace. */
  readonly owners: Set<string>;
}

/**
 * The tables under the simulated stores, all of them synchronous: whoever calls decides what is one step. `without` switches off
 * those of history.md's rules that a store keeps.
 */
export class SimDatabase {
  readonly #records = new Map<string, RecordDocument>();
  readonly #uids = new Map<string, string>();
  readonly #logs: Map<string, Log>;
  readonly #owners: Set<string>;
  readonly #nowMs: () => number;
  readonly #without: ReadonlySet<Rule>;

  constructor(
    nowMs: () => number,
    without: readonly Rule[] = [],
    shared: SharedTables = { logs: new Map(), owners: new Set() },
  ) {
    this.#nowMs = nowMs;
    this.#without = new Set(without);
    this.#logs = shared.logs;
    this.#owners = shared.owners;
  }

  lacks(rule: Rule): boolean {
    return this.#without.has(rule);
  }

  // Records: each method changes one document.

  createRecord(next: NextRecord): "created" | "exists" {
    if (this.#records.has(next.uid)) return "created";
    if (this.#uids.has(next.sessionId)) return "exists";
    this.#uids.set(next.sessionId, next.uid);
    this.#put({ ...plain(next), forks: 0, deletedAtMs: null }, {});
    return "created";
  }

  readRecord(sessionId: string, raise: boolean): SessionRecord | null {
    const uid = this.#uids.get(sessionId);
    if (uid === undefined) return null;
    if (raise) this.addFork(uid, 1);
    return this.#records.get(uid)?.record ?? null;
  }

  /** Whose write the record with this uid holds, for reading an unknown outcome back. */
  document(uid: string): RecordDocument | null {
    return this.#records.get(uid) ?? null;
  }

  replaceRecord(next: NextRecord, ifRevision: number, write: object, caller: Caller): SessionRecord | null {
    const current = this.#records.get(next.uid)?.record;
    if (!current || (current.revision !== ifRevision && !this.lacks("compare-and-set"))) return null;
    const atMs = this.#stampMs(caller.wallMs);
    const record: SessionRecord = {
      ...plain(next),
      forks: this.lacks("forks-apart") ? caller.seenForks : current.forks,
      dropped: next.dropped.map((range) => (range.droppedAtMs === undefined ? { ...range, droppedAtMs: atMs } : range)),
      deletedAtMs: next.deleted ? (current.deletedAtMs ?? atMs) : null,
    };
    if (next.deleted && current.deletedAtMs === null) this.#uids.delete(current.sessionId);
    this.#put(record, write);
    return this.#records.get(next.uid)?.record ?? null;
  }

  addFork(uid: string, delta: number, ifRevision?: number): boolean {
    const found = this.#records.get(uid);
    if (!found || (ifRevision !== undefined && found.record.revision !== ifRevision)) return false;
    if (delta !== 0) this.#put({ ...found.record, forks: found.record.forks + delta }, found.write);
    return true;
  }

  deleteRecord(uid: string): boolean {
    if (this.#records.get(uid)?.record.deletedAtMs == null) return false;
    this.#owners.delete(uid);
    return this.#records.delete(uid);
  }

  listRecords(filter: RecordFilter, page: RecordPage): SessionRecord[] {
    const { after } = page;
    return this.records()
      .filter((r) => r.deletedAtMs === null && (filter.parentId === "" || r.parentId === filter.parentId))
      .sort((a, b) => -compareUpdates(a, b))
      .filter((r) => after === undefined || compareUpdates(r, after) < 0)
      .slice(0, page.limit);
  }

  touchRecords(times: ReadonlyMap<string, number>): void {
    for (const [uid, micros] of times) {
      const found = this.#records.get(uid);
      if (found?.record.deletedAtMs !== null || found.record.updateTimeMicros >= micros) continue;
      this.#put({ ...found.record, updateTimeMicros: micros }, found.write);
    }
  }

  listSweepable(ageMs: number, limit: number, callerMs: number): Sweepable[] {
    const before = this.#stampMs(callerMs) - ageMs;
    return this.records()
      .filter((record) => record.forks === 0 || this.lacks("sweep-unforked-only"))
      .map((record) => ({ record, dropped: record.dropped.filter((range) => (range.droppedAtMs ?? 0) <= before) }))
      .filter(({ record, dropped }) =>
        record.deletedAtMs === null ? dropped.length > 0 : record.deletedAtMs <= before,
      )
      .slice(0, limit);
  }

  scanRecords(afterUid: string, limit: number): SessionRecord[] {
    return this.records()
      .filter((record) => record.uid > afterUid)
      .sort((a, b) => (a.uid < b.uid ? -1 : 1))
      .slice(0, limit);
  }

  listOrphans(limit: number): string[] {
    const uids = new Set([...this.#logs.keys()].map(ownerOf));
    return [...uids].filter((uid) => !this.#owners.has(uid)).slice(0, limit);
  }

  records(): SessionRecord[] {
    return [...this.#records.values()].map(({ record }) => record);
  }

  // Logs: one row is one document.

  logNames(): string[] {
    return [...this.#logs.keys()];
  }

  row(log: string, seq: number): Row | undefined {
    return this.#logs.get(log)?.rows.get(seq);
  }

  rowById(log: string, id: string): Row | undefined {
    return this.#logs.get(log)?.ids.get(id);
  }

  /** All rows, by place. */
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
    return "stored";
  }

  remove(log: string, seq: number): void {
    const found = this.#logs.get(log);
    const row = found?.rows.get(seq);
    if (!found || !row) return;
    found.rows.delete(seq);
    found.ids.delete(row.id);
    if (found.rows.size === 0) this.#logs.delete(log);
  }

  #put(record: SessionRecord, write: object): void {
    this.#owners.add(record.uid);
    this.#records.set(record.uid, { record: deepFreeze(structuredClone(record)), write });
  }

  #stampMs(callerMs: number): number {
    return this.lacks("sweep-store-clock") ? callerMs : this.#nowMs();
  }
}

/** The uid in a log's name. */
export function ownerOf(log: string): string {
  return log.slice(0, log.indexOf("."));
}

function plain(next: NextRecord): Omit<SessionRecord, "forks" | "deletedAtMs"> {
  const { deleted: _, ...rest } = next;
  return rest;
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
