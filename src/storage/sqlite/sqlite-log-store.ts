import { setImmediate } from "node:timers/promises";
import type { Call } from "../../domain/call.js";
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
import { MessageTable } from "./message-table.js";
import { entryToRow } from "./rows.js";
import { SessionTable } from "./session-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import { TodoTable } from "./todo-table.js";

/** How many look-ups are made before the event loop gets its turn. */
const LOOKUPS_AT_ONCE = 2000;
const OWNERS_AT_ONCE = 500;

/** A namespace of a SQLite file. */
export class SqliteLogStore implements LogStore {
  readonly #connection: SqliteConnection;
  readonly #messages: MessageTable;
  readonly #sessions: SessionTable;
  readonly #todos: TodoTable;
  /** The store's clock, in milliseconds: all processes of a file are on one machine. */
  readonly #now: () => number;

  constructor(connection: SqliteConnection, namespace: string, now: () => number) {
    this.#connection = connection;
    this.#messages = new MessageTable(connection.statements);
    this.#sessions = new SessionTable(connection.statements, namespace);
    this.#todos = new TodoTable(connection.statements, namespace);
    this.#now = now;
  }

  async createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    const kept = structuredClone(record);
    return this.#connection.write(() => this.#sessions.create(kept, this.#now()), call);
  }

  async readRecord(sessionId: string, options?: { raise?: boolean }, call?: Call): Promise<SessionRecord | null> {
    return options?.raise
      ? this.#connection.write(() => this.#sessions.raise(sessionId), call)
      : this.#connection.read(() => this.#sessions.living(sessionId), call);
  }

  async replaceRecord(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    const kept = structuredClone(record);
    return this.#connection.write(() => this.#sessions.replace(kept, ifRevision, this.#now()), call);
  }

  async addFork(uid: string, delta: 1 | 0 | -1, ifRevision?: number, call?: Call): Promise<boolean> {
    return this.#connection.write(() => this.#sessions.addFork(uid, delta, ifRevision), call);
  }

  async listRecords(filter: RecordFilter, page: RecordPage, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#connection.read(() => this.#sessions.list(filter, page), call);
  }

  async touchRecords(times: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    const kept = new Map(times);
    if (kept.size > 0) await this.#connection.write(() => this.#sessions.touch(kept), call);
  }

  async append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken"> {
    const rows = entries.map(entryToRow);
    return this.#connection.write(() => this.#messages.append(log, seq, rows), call);
  }

  async seal(log: string, _lastSeq?: number, call?: Call): Promise<number> {
    return this.#connection.write(() => this.#messages.seal(log), call);
  }

  async readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range> {
    return this.#connection.read(() => this.#messages.read(log, first, last, options ?? {}), call);
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    return this.#connection.read(() => this.#messages.tail(log), call);
  }

  async seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number> {
    return this.#connection.read(() => this.#messages.seqAtTime(log, first, last, micros), call);
  }

  /** Entries never change, so looking into some logs after the others tells no less than looking into all at once. */
  async findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    const wanted = [...new Set(ids)];
    const names = [...new Set(logs)];
    const atOnce = Math.ceil(LOOKUPS_AT_ONCE / (wanted.length + 1));
    const found: Entry[] = [];
    for (let start = 0; start < names.length; start += atOnce) {
      if (start > 0) await setImmediate();
      const some = names.slice(start, start + atOnce);
      const look = () => some.flatMap((log) => this.#messages.find(log, wanted));
      found.push(...(await this.#connection.read(look, call)));
    }
    return found;
  }

  async listSweepable(ageMs: number, limit: number, call?: Call): Promise<readonly Sweepable[]> {
    return this.#connection.read(() => this.#sessions.sweepable(this.#now() - ageMs, limit), call);
  }

  async deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    return this.#connection.write(() => this.#messages.delete(target, limit), call);
  }

  async deleteRecord(uid: string, call?: Call): Promise<boolean> {
    return this.#connection.write(() => this.#sessions.deleteTombstone(uid), call);
  }

  async scanRecords(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    return this.#connection.read(() => this.#sessions.scan(afterUid, limit), call);
  }

  async listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    const orphans: string[] = [];
    let from: string | undefined = "";
    while (from !== undefined && orphans.length < limit) {
      if (from !== "") await setImmediate();
      const start: string = from;
      from = await this.#connection.read(() => this.#collectOrphans(start, limit, orphans), call);
    }
    return orphans;
  }

  async readTodos(call?: Call): Promise<TodoList> {
    return this.#connection.read(() => this.#todos.read(), call);
  }

  async replaceTodos(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    const body = JSON.stringify(todos);
    return this.#connection.write(() => this.#todos.replace(body, ifRevision), call);
  }

  async ping(call?: Call): Promise<void> {
    await this.#connection.read(() => this.#messages.nextOwner(""), call);
  }

  async close(): Promise<void> {}

  /** Looks at some owners; answers where to go on, if there are more. */
  #collectOrphans(start: string, limit: number, orphans: string[]): string | undefined {
    let uid = this.#messages.nextOwner(start);
    for (let seen = 1; uid !== undefined && orphans.length < limit; seen++) {
      if (!this.#sessions.ownerExists(uid)) orphans.push(uid);
      const next = `${uid}/`;
      if (seen >= OWNERS_AT_ONCE) return next;
      uid = this.#messages.nextOwner(next);
    }
    return undefined;
  }
}
