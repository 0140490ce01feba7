import { type Db, type DbOptions, MongoClient, type MongoClientOptions, ReadConcern } from "mongodb";
import { type Call, closeLimit, endsBy } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { SearchOption } from "../../domain/search.js";
import type { LogDatabase, LogStore, RegisterTable, StoreFigures } from "../history/log-store.js";
import { AnsweredConnection } from "./answered-connection.js";
import { hasNow } from "./feed-places.js";
import { hasChangeStreams, MongoChanges, type Notify } from "./mongo-changes.js";
import { collectionsOf } from "./mongo-collections.js";
import { MongoCommands } from "./mongo-commands.js";
import { mongoError } from "./mongo-errors.js";
import { readFigures } from "./mongo-figures.js";
import { MongoLogStore, type MongoShared } from "./mongo-log-store.js";
import { MongoRegisters } from "./mongo-registers.js";
import { prepareDatabase } from "./mongo-schema.js";
import { MongoSearchIndex } from "./mongo-search-index.js";
import { probeSafeReads } from "./safe-reads.js";
import { LogicalClock, LogicalTimes, readLogicalTime, WallClock } from "./server-clock.js";
import { WriteIds } from "./write-ids.js";

export interface MongoOptions {
  /**
   * The most milliseconds that one operation of the driver may take, including retries; 30,000 by default. A call's own
   * deadline may end it sooner.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether messages can be searched, and for what: adds an index of words, and the words to each message that is
   * stored; `existing` does the latter if there is an index.
   */
  readonly search?: SearchOption | undefined;
  /** Connections to each server; 64 by default. */
  readonly maxPoolSize?: number | undefined;
  /** How long to look for a primary; 10,000 milliseconds by default. */
  readonly serverSelectionTimeoutMs?: number | undefined;
  /** Called once, on connecting, with what the server lacks. */
  readonly onNotice?: Notify | undefined;
  /** Called for failures in the background. */
  readonly onAnomaly?: Notify | undefined;
  /** All other options of the driver; see `client` for its events. */
  readonly driver?: MongoClientOptions | undefined;
}

const DEFAULT_DATABASE = "session_pool";
const DEFAULT_TIMEOUT_MS = 30_000;
/** These are not left to the URL, because acknowledged writes must survive and be seen. */
const CONCERNS: DbOptions = {
  readPreference: "primary",
  readConcern: new ReadConcern("majority"),
  writeConcern: { w: "majority", journal: true },
};

/** A database on a MongoDB server, with one client and its connection pool. */
export class MongoLogDatabase implements LogDatabase {
  readonly name: string;
  readonly registers: RegisterTable;
  /** For the driver's own events. `close` closes it. */
  readonly client: MongoClient;
  readonly #shared: MongoShared;
  readonly #searchIndex: MongoSearchIndex | undefined;

  private constructor(client: MongoClient, shared: MongoShared, options: MongoOptions) {
    this.client = client;
    this.name = nameOf(client, shared.db);
    this.#shared = shared;
    const { db, commands, safeReads, indexed } = shared;
    this.registers = new MongoRegisters(db, commands, safeReads);
    this.#searchIndex = indexed && new MongoSearchIndex(db, commands, indexed, options);
  }

  /**
   * Connects, and makes missing indexes. The path of the URL names the database; the default is `session_pool`.
   * `invalid_argument`: malformed URL; `unavailable`: no server answers; `failed_precondition`: a newer version made
   * the database.
   */
  static async connect(url: string, options: MongoOptions = {}): Promise<MongoLogDatabase> {
    const client = newClient(url, options);
    try {
      await client.connect();
      const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
      const db = client.db(databaseIn(url), CONCERNS);
      const timed = client.db(db.databaseName, { ...CONCERNS, timeoutMS: timeoutMs });
      const logicalTime = await readLogicalTime(timed);
      const times = logicalTime && new LogicalTimes(client, logicalTime);
      const commands = new MongoCommands(timeoutMs, times);
      const clock = times ? new LogicalClock(client, db, times, commands) : new WallClock(db, commands);
      if (!times) await clock.timeMs();
      const indexed = await prepareDatabase(timed, commands, options);
      const ids = new WriteIds();
      const safeReads = await probeSafeReads(timed);
      const canTell = await hasChangeStreams(timed);
      if (!canTell)
        options.onNotice?.("The server has no change streams: watchers poll for what other processes write");
      const changes = canTell ? new MongoChanges(db, ids, options.onAnomaly ?? (() => {})) : null;
      const shared = { db, ids, commands, safeReads, changes, clock, indexed, hasNow: await hasNow(timed) };
      return new MongoLogDatabase(client, shared, options);
    } catch (error) {
      await client.close();
      const mapped = mongoError(error);
      const text = mapped.code === "unavailable" ? `MongoDB at ${hostsOf(client)} does not answer` : mapped.message;
      throw new DomainError(mapped.code, text, { cause: error });
    }
  }

  namespace(namespace: string): LogStore {
    return new MongoLogStore(namespace, this.#shared);
  }

  async listNamespaces(): Promise<readonly string[]> {
    const { db, commands } = this.#shared;
    const { sessions, attachments, departures, todos } = collectionsOf(db);
    // Removed attachments, and what has departed, may be all that a namespace has left to be swept.
    const [ofSessions, ofAttachments, ofDepartures, ofTodos] = await Promise.all([
      commands.read(undefined, (limits) => sessions.distinct("namespace", {}, limits)),
      commands.read(undefined, (limits) => attachments.distinct("namespace", {}, limits)),
      commands.read(undefined, (limits) => departures.distinct("namespace", {}, limits)),
      commands.read(undefined, (limits) => todos.distinct("_id", {}, limits)),
    ]);
    return [...new Set([...ofSessions, ...ofAttachments, ...ofDepartures, ...ofTodos])];
  }

  async figures(call?: Call): Promise<StoreFigures> {
    return readFigures(this.#shared, await this.listNamespaces(), call);
  }

  /** Resolves when messages that were stored without words have got them, as far as this can be done. */
  async searchBuilt(): Promise<void> {
    await this.#searchIndex?.look();
  }

  /**
   * If the server does not answer by the deadline, the driver goes on closing its connections after this has resolved.
   */
  async close(call?: Call): Promise<void> {
    const closing = this.#close();
    // Nobody waits for a failure after the deadline.
    closing.catch(() => {});
    await endsBy(closeLimit(call).deadlineMs, closing);
  }

  async #close(): Promise<void> {
    await this.#searchIndex?.stop();
    await this.#shared.changes?.close();
    await this.client.close();
  }
}

function newClient(url: string, options: MongoOptions): MongoClient {
  const defaults: MongoClientOptions = {
    appName: "session-pool",
    maxPoolSize: options.maxPoolSize ?? 64,
    serverSelectionTimeoutMS: options.serverSelectionTimeoutMs ?? 10_000,
    // The store expects numbers, whatever the URL says.
    promoteLongs: true,
  };
  try {
    // The store itself repeats what may be repeated, because not every server recognises a write that is sent again.
    const fixed = { retryWrites: false, connectionType: AnsweredConnection };
    return new MongoClient(url, { ...defaults, ...options.driver, ...fixed });
  } catch (error) {
    throw new DomainError("invalid_argument", "The MongoDB URL cannot be read", { cause: error });
  }
}

/** The database that the URL's path names; the driver itself would fall back to `test`. */
function databaseIn(url: string): string {
  const [, path] = /^[^:]+:\/\/[^/?]*\/([^?]+)/.exec(url) ?? [];
  return path ? decodeURIComponent(path) : DEFAULT_DATABASE;
}

function nameOf(client: MongoClient, db: Db): string {
  return `mongodb://${hostsOf(client)}/${db.databaseName}`;
}

function hostsOf({ options }: MongoClient): string {
  return options.srvHost ?? options.hosts.join(",");
}
