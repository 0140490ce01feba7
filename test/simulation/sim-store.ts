import { type Call, checkCall } from "../../src/domain/call.js";
import { isSameMessage, type MessageIdentity } from "../../src/domain/erasure.js";
import { DomainError } from "../../src/domain/errors.js";
import { MessageBody } from "../../src/domain/message-body.js";
import type { Todo, TodoList } from "../../src/domain/todo.js";
import type {
  Entry,
  ExpiryBounds,
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
  Segment,
  SessionRecord,
  Tail,
  Usage,
  UsageEnds,
  UsageFilter,
  UsageRows,
} from "../../src/storage/history/log-store.js";
import { newestOf } from "../../src/storage/history/newest.js";
import { usageRowsOf } from "../../src/storage/history/usage-rows.js";
import { SimAttachmentTable } from "./sim-attachments.js";
import type { Row, SimDatabase } from "./sim-database.js";
import type { Steps } from "./steps.js";

/**
 * What the simulated stores share, which is their records: every call is one request about one document. One handle
 * belongs to one process.
 */
export abstract class SimStore implements LogStore {
  readonly db: SimDatabase;
  readonly attachments: SimAttachmentTable;
  /** Set by `withNewest`. */
  readNewest?: NonNullable<LogStore["readNewest"]>;
  protected readonly steps: Steps;
  protected readonly isAtomic: boolean;
  /** The latest time of the database that an answer has carried. */
  protected latestMs = 0;
  #todos: TodoList = { todos: [], revision: 0 };

  /** `isAtomic`: whether `append` stores all entries or none. */
  constructor(db: SimDatabase, steps: Steps, isAtomic: boolean) {
    this.db = db;
    this.steps = steps;
    this.isAtomic = isAtomic;
    this.attachments = new SimAttachmentTable(db, async (...request) => this.request(...request), isAtomic);
  }

  abstract append(
    log: string,
    seq: number,
    entries: readonly Entry[],
    call?: Call,
  ): Promise<number | "idTaken" | "unnamed">;
  abstract seal(log: string, lastSeq?: number, call?: Call): Promise<number | "unnamed">;
  abstract readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range>;
  abstract tail(log: string, call?: Call): Promise<Tail>;
  abstract findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]>;
  abstract deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean>;

  /** Makes the store one that reads a session and its newest messages by one request. */
  withNewest(): this {
    this.readNewest = (sessionId, options, call) =>
      this.request(call, "readNewest", [sessionId, options], () => this.#newest(sessionId, options));
    return this;
  }

  /**
   * Sends one request, unless the call has ended. When the call ends meanwhile, nobody waits for the answer any more,
   * but the database carries the request out.
   */
  protected async request<T>(
    call: Call | undefined,
    name: string,
    args: readonly unknown[],
    effect: () => T,
  ): Promise<T> {
    checkCall(call);
    const answer = this.#answer(name, args, effect);
    const signal = call?.signal;
    if (!signal) return answer;
    const waiting = new AbortController();
    try {
      return await Promise.race([answer, ended(call, signal, waiting.signal)]);
    } finally {
      waiting.abort();
    }
  }

  createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    return this.request(call, "createRecord", [record], () => this.db.createRecord(record));
  }

  readRecord(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    return this.request(call, "readRecord", [sessionId], () => this.db.readRecord(sessionId));
  }

  raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    return this.request(call, "raiseForks", [sessionId], () => this.db.raiseForks(sessionId));
  }

  async replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    const write = {};
    for (let isRepeat = false; ; isRepeat = true) {
      const stored = await orUnknown(
        this.request(call, "replaceRecord", [record, ifRevision], () =>
          this.db.document(record.uid)?.write === write
            ? (this.db.document(record.uid)?.record ?? null)
            : this.db.replaceRecord(record, ifRevision, write),
        ),
      );
      // When a repeated request finds another revision, that does not tell whether the first one took effect late.
      const isCertain = stored !== UNKNOWN && (stored !== null || !isRepeat);
      if (isCertain) return stored;
      const now = await this.#readBack(record.uid, call);
      if (now?.write === write) return now.record;
      if (now?.record.revision === ifRevision + 1) return null;
      if (now?.record.revision !== ifRevision) throw unavailable();
    }
  }

  readonly bin: RecordBin = {
    list: (filter, page, call) => this.request(call, "listBinned", [filter, page], () => this.db.binned(filter, page)),
    listDue: (until, limit, call) => this.request(call, "listDue", [until], () => this.db.listDue(until, limit)),
    revive: (...revival) => this.#revive(...revival),
  };

  async #revive(...[record, ifRevision, call]: Parameters<RecordBin["revive"]>): ReturnType<RecordBin["revive"]> {
    const write = {};
    for (let isRepeat = false; ; isRepeat = true) {
      const stored = await orUnknown(
        this.request(call, "revive", [record, ifRevision], () => this.db.reviveRecord(record, ifRevision, write)),
      );
      // The first request may still arrive, once the other session is deleted.
      if (stored === "exists" && isRepeat) throw unavailable();
      if (stored !== UNKNOWN && (stored !== null || !isRepeat)) return stored;
      const now = await this.#readBack(record.uid, call);
      if (now?.write === write) return now.record;
      if (now?.record.revision === ifRevision + 1) return null;
      if (now?.record.revision !== ifRevision) throw unavailable();
    }
  }

  publishRecord(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone"> {
    return this.request(call, "publishRecord", [record], () => this.db.publishRecord(record));
  }

  readRecordByUid(uid: string, call?: Call): Promise<SessionRecord | null> {
    return this.request(call, "readRecordByUid", [uid], () => this.db.document(uid)?.record ?? null);
  }

  addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean> {
    return this.request(call, "addFork", [uid, delta], () => this.db.addFork(uid, delta));
  }

  /** Sends one request for each record, and none again. */
  async addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    for (const [uid, more] of bytes)
      await this.request(call, "addBytes", [uid, more], () => this.db.addBytes(uid, more));
  }

  async setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    for (const [uid, counted] of bytes) {
      await this.request(call, "setBytes", [uid, counted], () => this.db.setBytes(uid, counted));
    }
  }

  entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    const bytesOf = ({ log, first, last }: Segment) =>
      [...this.db.rows(log).values()]
        .filter(({ seq }) => seq >= first && seq <= last)
        .reduce((sum, { entry }) => sum + Buffer.byteLength(entry?.body.encode() ?? ""), 0);
    return this.request(call, "entryBytes", [ranges], () =>
      ranges.reduce((sum, range) => sum + bytesOf(range) + this.db.attachments.pieceBytes(range), 0),
    );
  }

  usage(filter: UsageFilter, call?: Call): Promise<Usage> {
    return this.request(call, "usage", [filter], () => this.db.usage(filter));
  }

  async listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]> {
    return this.request(call, "listRecords", [filter, page], () => this.db.listRecords(filter, page));
  }

  readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    return Promise.all(
      logs.map(async (log) => {
        const { last } = await this.tail(log, call);
        return last && ((await this.readRange(log, last.seq, last.seq, {}, call)).entries[0] ?? null);
      }),
    );
  }

  seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    return this.request(call, "seqAtTime", [log, first, last, micros], () => {
      for (let seq = first; seq <= last; seq++) {
        const entry = this.db.row(log, seq)?.entry;
        if (!entry) return null;
        if (entry.timestampMicros >= micros) return seq;
      }
      return last + 1;
    });
  }

  readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    return this.request(call, "readUsage", [ranges, limit], () =>
      usageRowsOf(ranges, limit, (range, most) =>
        this.#used(range)
          .slice(0, most)
          .map(({ row }) => row),
      ),
    );
  }

  async readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    return this.request(call, "readUsageEnds", [ranges], () =>
      ranges.map((range) => {
        const used = this.#used(range);
        const [first] = used;
        if (!first) return null;
        const last = (used.at(-1) ?? first).sums;
        return { sessionId: first.sessionId, first: { ...first.row, sums: first.sums }, last };
      }),
    );
  }

  /** The entries with usage in a range. */
  #used({ log, first, last }: Segment) {
    return this.db.rows(log).flatMap(({ seq, entry, sums }) => {
      if (!entry || !sums || seq < first || seq > last) return [];
      const { timestampMicros, originSessionId, sessionId, body } = entry;
      return [{ row: { log, seq, timestampMicros, originSessionId, usage: body.usage ?? {} }, sums, sessionId }];
    });
  }

  timeMs(call?: Call): Promise<number> {
    // Rule: sweep-store-clock.
    return this.request(call, "timeMs", [], () => this.db.timeMs());
  }

  listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.request(call, "listSweepable", [untilMs, limit], () => this.db.listSweepable(untilMs, limit));
  }

  listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.request(call, "listDrafting", [afterUid, limit], () => this.db.listDrafting(afterUid, limit));
  }

  listExpired(bounds: ExpiryBounds, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.request(call, "listExpired", [bounds, limit], () => this.db.listExpired(bounds, limit));
  }

  deleteRecord(uid: string, call?: Call): Promise<boolean> {
    return this.request(call, "deleteRecord", [uid], () => this.db.deleteRecord(uid));
  }

  scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.request(call, "scanRecords", [afterUid, limit], () => this.db.scanRecords(afterUid, limit));
  }

  listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    return this.request(call, "listOrphans", [limit], () => this.db.listOrphans(limit));
  }

  findCopies(
    owners: readonly Pick<SessionRecord, "uid">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]> {
    return this.request(call, "findCopies", [owners.map(({ uid }) => uid), message], () =>
      owners
        .flatMap((owner) => placesOf(this.db, owner))
        .flatMap(({ log, seq }) => this.db.row(log, seq)?.entry ?? [])
        .filter((entry) => isSameMessage(entry, message)),
    );
  }

  findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]> {
    return this.request(call, "findOwned", [uid, id], () =>
      placesOf(this.db, { uid })
        .flatMap(({ log, seq }) => this.db.row(log, seq)?.entry ?? [])
        .filter((entry) => entry.id === id),
    );
  }

  listOwned(uid: string, after: OwnedPlace | undefined, limit: number, call?: Call): Promise<readonly OwnedPlace[]> {
    const { log: last = "", seq: lastSeq = 0 } = after ?? {};
    return this.request(call, "listOwned", [uid, after, limit], () =>
      placesOf(this.db, { uid })
        .filter(({ log, seq }) => log > last || (log === last && seq > lastSeq))
        .flatMap(({ log, seq }) => this.db.row(log, seq)?.entry ?? [])
        .slice(0, limit)
        .map(({ log, seq, originSessionId }) => ({ log, seq, originSessionId })),
    );
  }

  /** Sends one request for each entry. */
  async overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    for (const entry of entries) {
      await this.request(call, "overwriteEntry", [entry.log, entry.seq], () => this.db.overwrite(entry));
    }
  }

  async readTodos(call?: Call): Promise<TodoList> {
    checkCall(call);
    return this.#todos;
  }

  async replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    checkCall(call);
    if (this.#todos.revision !== ifRevision) return false;
    this.#todos = { todos, revision: ifRevision + 1 };
    return true;
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  /** Every answer carries the time of the database when it was carried out. */
  async #answer<T>(name: string, args: readonly unknown[], effect: () => T): Promise<T> {
    let atMs = 0;
    const answer = await this.steps.run(name, args, () => {
      atMs = this.db.timeMs();
      return effect();
    });
    this.latestMs = Math.max(this.latestMs, atMs);
    return answer;
  }

  #newest(sessionId: string, options: NewestOptions): Newest | null {
    const record = this.db.readRecord(sessionId);
    if (record === null) return null;
    const end = endOf(this.db.rows(record.log), this.isAtomic);
    return { record, end, messages: newestOf(record, end, options, (...range) => rangeOf(this.db, ...range)) };
  }

  async #readBack(uid: string, call?: Call): Promise<ReturnType<SimDatabase["document"]>> {
    for (;;) {
      const found = await orUnknown(this.request(call, "readBack", [uid], () => this.db.document(uid)));
      if (found !== UNKNOWN) return found;
    }
  }
}

/** Rejects when the call ends. Stops listening when `done` is aborted. */
function ended(call: Call, signal: AbortSignal, done: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => {
      try {
        checkCall(call);
      } catch (error) {
        reject(error);
      }
    };
    signal.addEventListener("abort", onAbort, { once: true, signal: done });
  });
}

export const UNKNOWN = Symbol("unknown outcome");

/** The answer, or UNKNOWN when it was lost. */
export async function orUnknown<T>(answer: Promise<T>): Promise<T | typeof UNKNOWN> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DomainError && error.code === "unavailable") return UNKNOWN;
    throw error;
  }
}

export function unavailable(): DomainError {
  return new DomainError("unavailable", "The simulated database cannot be reached");
}

/** Makes a row for each entry. The row itself tells which write made it, as a document's `_id` does. */
export function toRows(entries: readonly Entry[]): Row[] {
  return entries.map(({ body, usageSums: sums, ...entry }) => {
    const stored = MessageBody.stored(body.encode());
    return { seq: entry.seq, id: entry.id, entry: { ...structuredClone(entry), body: stored }, sums };
  });
}

export function sealRow(log: string, seq: number): Row {
  return { seq, id: `\u0000${log} ${seq}`, entry: null };
}

/**
 * The end of a log, from its rows in order: the messages without a gap, and whether a seal stands directly after them.
 */
export function endOf(rows: readonly Row[], isAtomic: boolean): Omit<Tail, "isNamed"> {
  const gap = rows.findIndex((row, i) => row.entry === null || row.seq !== (rows[0] as Row).seq + i);
  const messages = gap < 0 ? rows : rows.slice(0, gap);
  const message = messages.at(-1);
  // Rule: whole-batches-only.
  const last = messages.findLast((row) => isAtomic || row.entry?.remaining === 0)?.entry;
  // Rule: tail-first-gap.
  const seq = last?.seq ?? 0;
  const isSealed = rows.some((row) => row.entry === null && row.seq === (message?.seq ?? 0) + 1);
  return {
    last: last ? { seq, id: last.id, timestampMicros: last.timestampMicros } : null,
    state: isSealed ? "sealed" : message && message.entry !== last ? "unfinished" : "open",
  };
}

/** The contiguous messages of a range. */
export function rangeOf(db: SimDatabase, log: string, first: number, last: number, options: RangeOptions = {}): Range {
  const { descending = false, limit = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = options;
  const entries: Entry[] = [];
  let bytes = 0;
  let seq = descending ? last : first;
  while (seq >= first && seq <= last && entries.length < limit) {
    const entry = db.row(log, seq)?.entry;
    if (!entry) break;
    if (entries.length > 0 && bytes >= maxBytes) return { entries, cut: true };
    entries.push(entry);
    bytes += entry.body.encode().length;
    seq += descending ? -1 : 1;
  }
  return { entries, cut: false };
}

/** All entries with one of these ids in a log. */
export function entriesById(db: SimDatabase, log: string, ids: readonly string[]): Entry[] {
  return [...new Set(ids)].flatMap((id) => db.rowById(log, id)?.entry ?? []);
}

/** All places of a log or of a uid's logs, in order. */
export function placesOf(db: SimDatabase, target: { readonly uid: string } | Segment): { log: string; seq: number }[] {
  const logs = "uid" in target ? db.logNames().filter((log) => log.startsWith(`${target.uid}.`)) : [target.log];
  const places = logs.flatMap((log) => db.rows(log).map(({ seq }) => ({ log, seq })));
  return "uid" in target ? places : places.filter(({ seq }) => seq >= target.first && seq <= target.last);
}
