import { type Call, checkCall } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type {
  Entry,
  LogStore,
  NextRecord,
  Range,
  RangeOptions,
  RecordFilter,
  RecordPage,
  Segment,
  SessionRecord,
  Sweepable,
  Tail,
} from "../history/log-store.js";
import { frozenCopy } from "./frozen-copy.js";
import type { LogTable } from "./log-table.js";
import type { RecordTable } from "./record-table.js";

/** What one namespace holds. */
export interface MemoryNamespace {
  readonly records: RecordTable;
  todos: TodoList;
}

/** What a handle needs of its database. */
export interface MemoryState {
  readonly logs: LogTable;
  readonly namespaces: ReadonlyMap<string, MemoryNamespace>;
  /** The store's clock, in milliseconds. */
  readonly now: () => number;
  readonly closed: boolean;
}

/** The reference: every method runs in one step, so nothing can come between. */
export class MemoryLogStore implements LogStore {
  readonly #state: MemoryState;
  readonly #own: MemoryNamespace;

  constructor(state: MemoryState, own: MemoryNamespace) {
    this.#state = state;
    this.#own = own;
  }

  async createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    this.#enter(call);
    if (this.#own.records.get(record.uid) !== undefined) return "created";
    if (this.#own.records.living(record.sessionId) !== undefined) return "exists";
    this.#own.records.put(this.#stored(record, undefined));
    return "created";
  }

  async readRecord(sessionId: string, options?: { raise?: boolean }, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    const record = this.#own.records.living(sessionId);
    if (record === undefined) return null;
    return options?.raise ? this.#put({ ...record, forks: record.forks + 1 }) : record;
  }

  async replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    const before = this.#own.records.get(record.uid);
    if (before?.revision !== ifRevision) return null;
    return this.#put(this.#stored(record, before));
  }

  async addFork(uid: string, delta: 1 | 0 | -1, ifRevision?: number, call?: Call): Promise<boolean> {
    this.#enter(call);
    const record = this.#own.records.get(uid);
    if (record === undefined || (ifRevision !== undefined && record.revision !== ifRevision)) return false;
    if (delta !== 0) this.#put({ ...record, forks: record.forks + delta });
    return true;
  }

  async listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    return this.#own.records.list(filter, page);
  }

  async touchRecords(times: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    this.#enter(call);
    for (const [uid, updateTimeMicros] of times) {
      const record = this.#own.records.get(uid);
      if (record?.deletedAtMs === null && record.updateTimeMicros < updateTimeMicros) {
        this.#put({ ...record, updateTimeMicros });
      }
    }
  }

  async append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken"> {
    this.#enter(call);
    return this.#state.logs.write(log, (target) => target.append(seq, entries));
  }

  async seal(log: string, _lastSeq?: number, call?: Call): Promise<number> {
    this.#enter(call);
    return this.#state.logs.write(log, (target) => target.seal());
  }

  async readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range> {
    this.#enter(call);
    return this.#state.logs.get(log)?.read(first, last, options ?? {}) ?? { entries: [], cut: false };
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    this.#enter(call);
    return this.#state.logs.get(log)?.tail() ?? { last: null, state: "open" };
  }

  async seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number> {
    this.#enter(call);
    return this.#state.logs.get(log)?.seqAtTime(first, last, micros) ?? last + 1;
  }

  async findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    this.#enter(call);
    const wanted = [...new Set(ids)];
    return [...new Set(logs)].flatMap((name) => {
      const log = this.#state.logs.get(name);
      if (log === undefined) return [];
      return wanted.map((id) => log.find(id)).filter((entry) => entry !== undefined);
    });
  }

  async listSweepable(ageMs: number, limit: number, call?: Call): Promise<readonly Sweepable[]> {
    this.#enter(call);
    const untilMs = this.#state.now() - ageMs;
    const isOld = (ms: number | null | undefined) => typeof ms === "number" && ms <= untilMs;
    const found: Sweepable[] = [];
    for (const record of this.#own.records.sweepable()) {
      if (found.length >= limit) break;
      const dropped = record.dropped.filter((range) => isOld(range.droppedAtMs));
      if (record.forks === 0 && (isOld(record.deletedAtMs) || dropped.length > 0)) found.push({ record, dropped });
    }
    return found;
  }

  async deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    this.#enter(call);
    return "uid" in target
      ? this.#state.logs.deleteOwnedBy(target.uid, limit)
      : this.#state.logs.deleteRange(target, limit);
  }

  async deleteRecord(uid: string, call?: Call): Promise<boolean> {
    this.#enter(call);
    if (typeof this.#own.records.get(uid)?.deletedAtMs !== "number") return false;
    this.#own.records.delete(uid);
    return true;
  }

  async scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    return this.#own.records.scan(afterUid, limit);
  }

  async listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    this.#enter(call);
    const namespaces = [...this.#state.namespaces.values()];
    const orphans: string[] = [];
    for (const uid of this.#state.logs.uids()) {
      if (orphans.length >= limit) break;
      if (!namespaces.some(({ records }) => records.get(uid))) orphans.push(uid);
    }
    return orphans;
  }

  async readTodos(call?: Call): Promise<TodoList> {
    this.#enter(call);
    return this.#own.todos;
  }

  async replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    this.#enter(call);
    if (this.#own.todos.revision !== ifRevision) return false;
    this.#own.todos = frozenCopy({ todos, revision: ifRevision + 1 });
    return true;
  }

  async ping(call?: Call): Promise<void> {
    this.#enter(call);
  }

  async close(): Promise<void> {}

  #enter(call: Call | undefined): void {
    if (this.#state.closed) throw new DomainError("unavailable", "The store is closed");
    checkCall(call, this.#state.now());
  }

  #put(record: SessionRecord): SessionRecord {
    const stored = Object.freeze(record);
    this.#own.records.put(stored);
    return stored;
  }

  /** The record as it is kept: the store's times, and the forks that are there. */
  #stored(record: NextRecord, before: SessionRecord | undefined): SessionRecord {
    const nowMs = this.#state.now();
    const { deleted, ...rest } = record;
    return frozenCopy({
      ...rest,
      dropped: rest.dropped.map((range) => ({ ...range, droppedAtMs: range.droppedAtMs ?? nowMs })),
      forks: before?.forks ?? 0,
      deletedAtMs: deleted ? (before?.deletedAtMs ?? nowMs) : null,
    });
  }
}
