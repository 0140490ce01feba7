import { type Call, checkCall } from "../../domain/call.js";
import { isSameMessage, type MessageIdentity } from "../../domain/erasure.js";
import { DomainError } from "../../domain/errors.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type {
  AttachmentTable,
  Entry,
  EntrySearch,
  ExpiryBounds,
  FeedTable,
  FoundEntries,
  LogStore,
  Newest,
  NewestOptions,
  NextRecord,
  OwnedPlace,
  Range,
  RangeOptions,
  RecordBin,
  RecordFilter,
  RecordPage,
  RecordQueries,
  SearchedPage,
  Segment,
  SessionRecord,
  Tail,
  Usage,
  UsageEnds,
  UsageFilter,
  UsageRows,
} from "../history/log-store.js";
import { newestOf } from "../history/newest.js";
import { isWritable, namesLog, ownerOf, UPDATE_TIME_SLACK_MICROS } from "../history/record-facts.js";
import { usageRowsOf } from "../history/usage-rows.js";
import type { AttachmentMemory } from "./attachment-memory.js";
import { frozenCopy } from "./frozen-copy.js";
import { entriesOf, pageOf } from "./log-search.js";
import type { LogTable } from "./log-table.js";
import { MemoryAttachmentTable } from "./memory-attachment-table.js";
import type { MemoryFeed } from "./memory-feed.js";
import type { RecordTable } from "./record-table.js";

/** The data of one namespace. */
export interface MemoryNamespace {
  readonly records: RecordTable;
  readonly feed: MemoryFeed;
  todos: TodoList;
}

/** What a store needs from its database. */
export interface MemoryState {
  readonly logs: LogTable;
  readonly attachments: AttachmentMemory;
  readonly namespaces: ReadonlyMap<string, MemoryNamespace>;
  /** The store's clock, in milliseconds. */
  readonly now: () => number;
  readonly closed: boolean;
}

/**
 * The reference implementation. Every method runs in one synchronous step, so no two of them can overlap. The file is
 * as long as the interface is: one short method for each of the store's.
 */
export class MemoryLogStore implements LogStore {
  readonly #state: MemoryState;
  readonly #own: MemoryNamespace;
  readonly attachments: AttachmentTable;
  readonly queries: RecordQueries;
  readonly feed: FeedTable;

  constructor(state: MemoryState, own: MemoryNamespace) {
    this.#state = state;
    this.#own = own;
    this.queries = {
      find: async (query, page, call) => {
        this.#enter(call);
        return own.records.find(query, page);
      },
      count: async (filter, most, call) => {
        this.#enter(call);
        return own.records.count(filter, most);
      },
      sample: async (limit, call) => {
        this.#enter(call);
        return own.records.sample(limit);
      },
    };
    this.attachments = new MemoryAttachmentTable({
      memory: state.attachments,
      enter: (call) => this.#enter(call),
      recordOf: (uid) => {
        const record = own.records.get(uid);
        return record && (isWritable(record) ? "writable" : "gone");
      },
    });
    const context = { now: state.now, recordOf: (uid: string) => own.records.get(uid) };
    this.feed = own.feed.table(context, (call) => this.#enter(call));
  }

  async createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    this.#enter(call);
    if (this.#own.records.get(record.uid) !== undefined) return "created";
    if (!record.deleted && this.#own.records.living(record.sessionId) !== undefined) return "exists";
    this.#put(frozenCopy({ ...record, forks: 0 }));
    if (record.isCounted) this.#own.records.setBytes(record.uid, 0);
    return "created";
  }

  async readRecord(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    return this.#own.records.living(sessionId) ?? null;
  }

  async raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    const record = this.#own.records.living(sessionId);
    return record === undefined ? null : this.#put({ ...record, forks: record.forks + 1 });
  }

  async replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    const before = this.#own.records.get(record.uid);
    // Rule: compare-and-set.
    if (before?.revision !== ifRevision) return null;
    // An append may have advanced it since the caller read the record.
    const leastMicros = before.deleted ? record.updateTimeMicros : before.updateTimeMicros;
    const updateTimeMicros = Math.max(record.updateTimeMicros, leastMicros);
    // Rule: forks-apart.
    return this.#put(frozenCopy({ ...record, updateTimeMicros, forks: before.forks }));
  }

  async publishRecord(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone"> {
    this.#enter(call);
    const before = this.#own.records.get(record.uid);
    if (before?.deleted === false) return "published";
    if (before?.restoring !== true) return "gone";
    if (this.#own.records.living(record.sessionId) !== undefined) return "exists";
    this.#put(frozenCopy({ ...record, revision: before.revision + 1, forks: before.forks }));
    return "published";
  }

  readonly bin: RecordBin = {
    list: async (filter, page, call) => {
      this.#enter(call);
      return this.#own.records.binned(filter, page);
    },
    listDue: async (untilMicros, limit, call) => {
      this.#enter(call);
      return this.#own.records.toPurge(untilMicros, limit);
    },
    revive: async (record, ifRevision, call) => {
      this.#enter(call);
      const before = this.#own.records.get(record.uid);
      if (before?.revision !== ifRevision) return null;
      // Rule: undelete-if-free.
      if (this.#own.records.living(record.sessionId) !== undefined) return "exists";
      return this.#put(frozenCopy({ ...record, forks: before.forks }));
    },
  };

  async readRecordByUid(uid: string, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    return this.#own.records.get(uid) ?? null;
  }

  async addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean> {
    this.#enter(call);
    const record = this.#own.records.get(uid);
    if (record === undefined) return false;
    this.#put({ ...record, forks: record.forks + delta });
    return true;
  }

  async addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    this.#enter(call);
    const { records } = this.#own;
    for (const [uid, more] of bytes) {
      const before = records.bytesOf(uid);
      if (before !== undefined) records.setBytes(uid, Math.max(0, before + more));
    }
  }

  async setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    this.#enter(call);
    for (const [uid, counted] of bytes) this.#own.records.setBytes(uid, counted);
  }

  async entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    this.#enter(call);
    const { logs, attachments } = this.#state;
    return ranges.reduce(
      (sum, range) => sum + (logs.get(range.log)?.bodyBytes(range) ?? 0) + attachments.pieceBytes(range),
      0,
    );
  }

  async usage(filter: UsageFilter, call?: Call): Promise<Usage> {
    this.#enter(call);
    return this.#own.records.usage(filter);
  }

  async listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    return this.#own.records.list(filter, page);
  }

  async timeMs(call?: Call): Promise<number> {
    this.#enter(call);
    return this.#state.now();
  }

  async append(
    log: string,
    seq: number,
    entries: readonly Entry[],
    call?: Call,
  ): Promise<number | "idTaken" | "unnamed"> {
    this.#enter(call);
    const owner = this.#own.records.get(ownerOf(log));
    // Rule: named-logs-only.
    if (owner === undefined || !namesLog(owner, log)) return "unnamed";
    const stored = this.#state.logs.write(log, (target) => target.append(seq, entries));
    // Rule: update-time-with-append.
    if (stored === entries.length) this.#touch(owner);
    return stored;
  }

  async seal(log: string, _lastSeq?: number, call?: Call): Promise<number | "unnamed"> {
    this.#enter(call);
    if (!this.#isNamed(log)) return "unnamed";
    return this.#state.logs.write(log, (target) => target.seal());
  }

  async readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range> {
    this.#enter(call);
    return this.#state.logs.read(log, first, last, options ?? {});
  }

  async readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    this.#enter(call);
    return logs.map((name) => {
      const log = this.#state.logs.get(name);
      const last = log?.tail().last;
      return (last && log?.entry(last.seq)) ?? null;
    });
  }

  async readNewest(sessionId: string, options: NewestOptions, call?: Call): Promise<Newest | null> {
    this.#enter(call);
    const record = this.#own.records.living(sessionId);
    if (record === undefined) return null;
    const { logs } = this.#state;
    const end = logs.tail(record.log);
    return { record, end, messages: newestOf(record, end, options, (...range) => logs.read(...range)) };
  }

  async readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    this.#enter(call);
    return usageRowsOf(ranges, limit, ({ log, first, last }, most) => {
      return this.#state.logs.get(log)?.readUsage(first, last, most) ?? [];
    });
  }

  async readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    this.#enter(call);
    return ranges.map(({ log, first, last }) => this.#state.logs.get(log)?.usageEnds(first, last) ?? null);
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    this.#enter(call);
    return { ...this.#state.logs.tail(log), isNamed: this.#isNamed(log) };
  }

  async seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    this.#enter(call);
    if (first > last) return last + 1;
    return this.#state.logs.get(log)?.seqAtTime(first, last, micros) ?? null;
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

  async findCopies(
    owners: readonly Pick<SessionRecord, "uid">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]> {
    this.#enter(call);
    const found = owners.flatMap(({ uid }) => this.#owned(uid, message.id));
    return found.filter((entry) => isSameMessage(entry, message));
  }

  async findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]> {
    this.#enter(call);
    return this.#owned(uid, id);
  }

  async listOwned(
    uid: string,
    after: OwnedPlace | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly OwnedPlace[]> {
    this.#enter(call);
    const { log: last = "", seq = 0 } = after ?? {};
    const places: OwnedPlace[] = [];
    const names = this.#state.logs.namesOwnedBy(uid).filter((name) => name >= last);
    for (const name of names.sort()) {
      for (const entry of this.#state.logs.get(name)?.after(name === last ? seq : 0) ?? []) {
        if (places.length === limit) return places;
        places.push({ log: name, seq: entry.seq, originSessionId: entry.originSessionId });
      }
    }
    return places;
  }

  async overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    this.#enter(call);
    for (const entry of entries) this.#state.logs.get(entry.log)?.replace(entry);
  }

  /** Looks through everything that the namespace holds. */
  async searchEntries(search: EntrySearch, page: SearchedPage, call?: Call): Promise<FoundEntries> {
    this.#enter(call);
    const uids = search.owners ?? [...this.#own.records.all()].map(({ uid }) => uid);
    const own = uids.filter((uid) => this.#own.records.get(uid) !== undefined);
    const logs = own.flatMap((uid) => [...this.#state.logs.ownedBy(uid)]);
    return pageOf(await entriesOf(logs, search, call), page);
  }

  async listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    return this.#own.records.sweepable(untilMs, limit);
  }

  async listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    return this.#own.records.drafting(afterUid, limit);
  }

  async listExpired(bounds: ExpiryBounds, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    return this.#own.records.expired(bounds, limit);
  }

  async deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    this.#enter(call);
    const { logs, attachments } = this.#state;
    if ("uid" in target) {
      attachments.deleteOwnedBy(target.uid);
      return logs.deleteOwnedBy(target.uid, limit);
    }
    attachments.deletePieces(target);
    return logs.deleteRange(target, limit);
  }

  async deleteRecord(uid: string, call?: Call): Promise<boolean> {
    this.#enter(call);
    if (!this.#own.records.get(uid)?.deleted) return false;
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
    const orphans = new Set<string>();
    const { logs, attachments } = this.#state;
    for (const uid of [...logs.uids(), ...attachments.uids()]) {
      if (orphans.size >= limit) break;
      if (!namespaces.some(({ records }) => records.get(uid))) orphans.add(uid);
    }
    return [...orphans];
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
    checkCall(call);
  }

  #touch(record: SessionRecord): void {
    const nowMicros = this.#state.now() * 1000;
    if (record.deleted || Math.abs(nowMicros - record.updateTimeMicros) <= UPDATE_TIME_SLACK_MICROS) return;
    const touched = { ...record, updateTimeMicros: Math.max(record.updateTimeMicros, nowMicros) };
    // After a clock was set back, the time stays, and the place moves with every append.
    this.#put(touched, { isTouched: true });
  }

  #owned(uid: string, id: string): Entry[] {
    return [...this.#state.logs.ownedBy(uid)].flatMap((log) => log.find(id) ?? []);
  }

  #isNamed(log: string): boolean {
    const owner = this.#own.records.get(ownerOf(log));
    return owner !== undefined && namesLog(owner, log);
  }

  #put(record: SessionRecord, { isTouched = false }: { readonly isTouched?: boolean } = {}): SessionRecord {
    const stored = Object.freeze(record);
    const before = this.#own.records.get(record.uid);
    this.#own.records.put(stored);
    this.#own.feed.note(before, stored, { atMs: this.#state.now(), isTouched });
    return stored;
  }
}
