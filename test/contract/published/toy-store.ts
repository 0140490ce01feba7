import {
  type Call,
  checkCall,
  DomainError,
  type Entry,
  type ExpiryBounds,
  isSameMessage,
  type LogDatabase,
  type LogStore,
  labelTexts,
  type MessageIdentity,
  type Newest,
  type NewestOptions,
  type NextRecord,
  namesLog,
  type OwnedPlace,
  ownerOf,
  type Range,
  type RangeOptions,
  type RecordFilter,
  type RecordPage,
  type Segment,
  type SessionRecord,
  sweepTimeOf,
  type Tail,
  type Todo,
  type TodoList,
  type Usage,
  type UsageEnds,
  type UsageFilter,
  type UsageRows,
  usageRowsOf,
} from "session-pool";
import { ToyAttachments, ToyAttachmentTable } from "./toy-attachments.js";
import { ToyLog } from "./toy-log.js";

interface Namespace {
  /** Records by uid, each as JSON, so that nothing of a caller's objects is kept. */
  readonly records: Map<string, string>;
  /** The counted bytes of the records that have some. */
  readonly bytes: Map<string, number>;
  todos: TodoList;
}

/** A database in the memory of one process, which looks through everything for every answer. */
export class ToyLogDatabase implements LogDatabase {
  readonly name = "toy:";
  readonly logs = new Map<string, ToyLog>();
  readonly attachments = new ToyAttachments();
  readonly namespaces = new Map<string, Namespace>();
  readonly now: () => number;
  isClosed = false;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  namespace(name: string): LogStore {
    const namespace = this.namespaces.get(name) ?? {
      records: new Map(),
      bytes: new Map(),
      todos: { todos: [], revision: 0 },
    };
    this.namespaces.set(name, namespace);
    return new ToyLogStore(this, namespace);
  }

  async listNamespaces(): Promise<readonly string[]> {
    const used = [...this.namespaces].filter(([, { records, todos }]) => records.size > 0 || todos.revision > 0);
    return used.map(([name]) => name);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

/** Every method does its work in one synchronous step, so nothing can come between. */
class ToyLogStore implements LogStore {
  readonly #database: ToyLogDatabase;
  readonly #own: Namespace;
  readonly attachments: LogStore["attachments"];

  constructor(database: ToyLogDatabase, own: Namespace) {
    this.#database = database;
    this.#own = own;
    const { logs, attachments } = database;
    const owner = { enter: (call?: Call) => this.#enter(call), record: (uid: string) => this.#record(uid) };
    this.attachments = new ToyAttachmentTable({ logs, attachments, ...owner });
  }

  async createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    this.#enter(call);
    if (this.#record(record.uid)) return "created";
    if (!record.deleted && this.#living(record.sessionId)) return "exists";
    this.#put({ ...record, forks: 0 });
    if (record.isCounted) this.#own.bytes.set(record.uid, 0);
    return "created";
  }

  async readRecord(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    return this.#living(sessionId) ?? null;
  }

  async readRecordByUid(uid: string, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    return this.#record(uid) ?? null;
  }

  async replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    const before = this.#record(record.uid);
    if (before?.revision !== ifRevision) return null;
    const leastMicros = before.deleted ? record.updateTimeMicros : before.updateTimeMicros;
    const updateTimeMicros = Math.max(record.updateTimeMicros, leastMicros);
    return this.#put({ ...record, updateTimeMicros, forks: before.forks });
  }

  async publishRecord(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone"> {
    this.#enter(call);
    const before = this.#record(record.uid);
    if (before?.deleted === false) return "published";
    if (!before?.restoring) return "gone";
    if (this.#living(record.sessionId)) return "exists";
    this.#put({ ...record, revision: before.revision + 1, forks: before.forks });
    return "published";
  }

  async raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    this.#enter(call);
    const record = this.#living(sessionId);
    return record ? this.#put({ ...record, forks: record.forks + 1 }) : null;
  }

  async addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean> {
    this.#enter(call);
    const record = this.#record(uid);
    if (record) this.#put({ ...record, forks: record.forks + delta });
    return record !== undefined;
  }

  async deleteRecord(uid: string, call?: Call): Promise<boolean> {
    this.#enter(call);
    if (!this.#record(uid)?.deleted) return false;
    this.#own.bytes.delete(uid);
    return this.#own.records.delete(uid);
  }

  async addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    this.#enter(call);
    for (const [uid, more] of bytes) {
      const before = this.#own.bytes.get(uid);
      if (before !== undefined) this.#own.bytes.set(uid, Math.max(0, before + more));
    }
  }

  async setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    this.#enter(call);
    for (const [uid, counted] of bytes) if (this.#record(uid)) this.#own.bytes.set(uid, counted);
  }

  async entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    this.#enter(call);
    const { attachments } = this.#database;
    return ranges.reduce((sum, range) => sum + this.#log(range.log).bodyBytes(range) + attachments.bytes(range), 0);
  }

  async usage({ owner, key }: UsageFilter, call?: Call): Promise<Usage> {
    this.#enter(call);
    const living = this.#all().filter(({ deleted }) => !deleted);
    const owned = living.filter((record) => owner === undefined || (record.owner ?? "") === owner);
    const made = owned.filter((record) => key === undefined || record.creatorKey === key);
    const counts = made.map(({ uid }) => this.#own.bytes.get(uid));
    const bytes = counts.reduce<number>((sum, one) => sum + (one ?? 0), 0);
    return { sessions: counts.length, bytes, uncounted: counts.filter((one) => one === undefined).length };
  }

  async listRecords({ parentId, labels = [], owner }: RecordFilter, page: RecordPage, call?: Call) {
    this.#enter(call);
    const { limit, after } = page;
    return this.#all()
      .filter((record) => !record.deleted && (parentId === "" || record.parentId === parentId))
      .filter((record) => labels.every((label) => labelTexts(record.labels).includes(label)))
      .filter((record) => owner === undefined || owner === (record.owner ?? ""))
      .sort(newestFirst)
      .filter((record) => after === undefined || newestFirst(after, record) < 0)
      .slice(0, limit);
  }

  async listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    const sweepMs = (record: SessionRecord) => sweepTimeOf(record) ?? Infinity;
    const found = this.#all().filter((record) => record.forks === 0 && sweepMs(record) <= untilMs);
    return found.sort((a, b) => sweepMs(a) - sweepMs(b)).slice(0, limit);
  }

  async listExpired({ expireTimeMicros, updateTimeMicros = -Infinity }: ExpiryBounds, limit: number, call?: Call) {
    this.#enter(call);
    const isExpired = (record: SessionRecord) =>
      (record.expireTimeMicros ?? Infinity) <= expireTimeMicros || record.updateTimeMicros <= updateTimeMicros;
    return this.#all()
      .filter((record) => !record.deleted && isExpired(record))
      .slice(0, limit);
  }

  async listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    const found = this.#all().filter((record) => !record.deleted && record.drafts.length > 0 && record.uid > afterUid);
    return found.sort(byUid).slice(0, limit);
  }

  async scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    this.#enter(call);
    const found = this.#all().filter(({ uid }) => uid > afterUid);
    return found.sort(byUid).slice(0, limit);
  }

  async append(log: string, seq: number, entries: readonly Entry[], call?: Call) {
    this.#enter(call);
    const owner = this.#owner(log);
    if (!owner) return "unnamed";
    const stored = this.#log(log).append(seq, entries);
    const nowMicros = Math.floor(this.#database.now() * 1000);
    const isOld = !owner.deleted && owner.updateTimeMicros < nowMicros - 1_000_000;
    if (stored === entries.length && isOld) this.#put({ ...owner, updateTimeMicros: nowMicros });
    return stored;
  }

  async seal(log: string, _lastSeq?: number, call?: Call): Promise<number | "unnamed"> {
    this.#enter(call);
    return this.#owner(log) ? this.#log(log).seal() : "unnamed";
  }

  async readRange(log: string, first: number, last: number, options: RangeOptions = {}, call?: Call): Promise<Range> {
    this.#enter(call);
    return this.#log(log).read(first, last, options);
  }

  async readNewest(sessionId: string, { limit, maxBytes }: NewestOptions, call?: Call): Promise<Newest | null> {
    this.#enter(call);
    const record = this.#living(sessionId);
    if (!record) return null;
    const entries: Entry[] = [];
    let left = maxBytes;
    const end = this.#log(record.log).tail();
    const shown = [...record.segments, { log: record.log, first: 1, last: end.last?.seq ?? 0 }];
    for (const { log, first, last } of shown.reverse()) {
      for (let seq = last; seq >= first && entries.length < limit; seq--) {
        const entry = this.#log(log).entry(seq);
        if (!entry) return { record, end, messages: { entries, cut: false } };
        left -= entry.body.encode().length;
        if (left < 0 && entries.length > 0) return { record, end, messages: { entries, cut: true } };
        entries.push(entry);
      }
    }
    return { record, end, messages: { entries, cut: false } };
  }

  async readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    this.#enter(call);
    return logs.map((log) => this.#log(log).entry(this.#log(log).tail().last?.seq ?? 0) ?? null);
  }

  async readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    this.#enter(call);
    return usageRowsOf(ranges, limit, (range, most) => this.#log(range.log).readUsage(range, most));
  }

  async readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    this.#enter(call);
    return ranges.map((range) => this.#log(range.log).usageEnds(range));
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    this.#enter(call);
    return { ...this.#log(log).tail(), isNamed: this.#owner(log) !== undefined };
  }

  async seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    this.#enter(call);
    return this.#log(log).seqAtTime(first, last, micros);
  }

  async findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    this.#enter(call);
    return [...new Set(logs)].flatMap((log) => this.#log(log).withIds(ids));
  }

  async findCopies(owners: readonly { readonly uid: string }[], message: MessageIdentity, call?: Call) {
    this.#enter(call);
    const found = owners.flatMap(({ uid }) => this.#logsOf(uid).flatMap(([, log]) => log.withIds([message.id])));
    return found.filter((entry) => isSameMessage(entry, message));
  }

  async findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]> {
    this.#enter(call);
    return this.#logsOf(uid).flatMap(([, log]) => log.withIds([id]));
  }

  async listOwned(uid: string, after: OwnedPlace | undefined, limit: number, call?: Call) {
    this.#enter(call);
    const logs = this.#logsOf(uid).sort(([a], [b]) => (a < b ? -1 : 1));
    const places = logs.flatMap(([log, { entries }]) =>
      entries.map(({ seq, originSessionId }) => ({ log, seq, originSessionId })),
    );
    const { log: last = "", seq: lastSeq = 0 } = after ?? {};
    return places.filter(({ log, seq }) => log > last || (log === last && seq > lastSeq)).slice(0, limit);
  }

  async overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    this.#enter(call);
    for (const entry of entries) this.#log(entry.log).overwrite(entry);
  }

  async deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    this.#enter(call);
    this.#database.attachments.delete(target);
    if (!("uid" in target)) return this.#log(target.log).delete(limit, target) === limit;
    let left = limit;
    for (const [, log] of this.#logsOf(target.uid)) left -= log.delete(left);
    return left === 0;
  }

  async listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    this.#enter(call);
    const namespaces = [...this.#database.namespaces.values()];
    const owners = [...this.#database.logs].filter(([, log]) => !log.isEmpty).map(([name]) => ownerOf(name));
    const orphans = [...new Set([...owners, ...this.#database.attachments.uids])].filter(
      (uid) => !namespaces.some(({ records }) => records.has(uid)),
    );
    return orphans.slice(0, limit);
  }

  async timeMs(call?: Call): Promise<number> {
    this.#enter(call);
    return this.#database.now();
  }

  async readTodos(call?: Call): Promise<TodoList> {
    this.#enter(call);
    return this.#own.todos;
  }

  async replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    this.#enter(call);
    if (this.#own.todos.revision !== ifRevision) return false;
    this.#own.todos = { todos: structuredClone(todos), revision: ifRevision + 1 };
    return true;
  }

  async ping(call?: Call): Promise<void> {
    this.#enter(call);
  }

  async close(): Promise<void> {}

  #enter(call: Call | undefined): void {
    if (this.#database.isClosed) throw new DomainError("unavailable", "The store is closed");
    checkCall(call);
  }

  #record(uid: string): SessionRecord | undefined {
    const text = this.#own.records.get(uid);
    return text === undefined ? undefined : JSON.parse(text);
  }

  #all(): SessionRecord[] {
    return [...this.#own.records.values()].map((text) => JSON.parse(text));
  }

  #living(sessionId: string): SessionRecord | undefined {
    return this.#all().find((record) => !record.deleted && record.sessionId === sessionId);
  }

  #put(record: SessionRecord): SessionRecord {
    this.#own.records.set(record.uid, JSON.stringify(record));
    return this.#record(record.uid) as SessionRecord;
  }

  /** The record that lets entries into a log. */
  #owner(log: string): SessionRecord | undefined {
    const record = this.#record(ownerOf(log));
    return record && namesLog(record, log) ? record : undefined;
  }

  #log(name: string): ToyLog {
    const log = this.#database.logs.get(name) ?? new ToyLog();
    this.#database.logs.set(name, log);
    return log;
  }

  #logsOf(uid: string): [string, ToyLog][] {
    return [...this.#database.logs].filter(([name]) => ownerOf(name) === uid);
  }
}

type ListPlace = Pick<SessionRecord, "updateTimeMicros" | "sessionId">;

function newestFirst(a: ListPlace, b: ListPlace): number {
  if (a.updateTimeMicros !== b.updateTimeMicros) return b.updateTimeMicros - a.updateTimeMicros;
  return a.sessionId < b.sessionId ? 1 : a.sessionId > b.sessionId ? -1 : 0;
}

function byUid(a: SessionRecord, b: SessionRecord): number {
  return a.uid < b.uid ? -1 : 1;
}
