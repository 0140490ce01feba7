import type { Call } from "../../domain/call.js";
import type { SearchOption } from "../../domain/search.js";
import { type LogDatabase, MOST_UNINDEXED, type RegisterTable, type StoreFigures } from "../history/log-store.js";
import type { SearchNotices } from "../history/search-builder.js";
import { DatabaseFiles } from "./database-files.js";
import { FileCleaner } from "./file-cleaner.js";
import { IN_MEMORY, openFile } from "./open-file.js";
import { SearchIndex } from "./search-index.js";
import { hasSearch, SEARCH_SQL } from "./search-schema.js";
import { SearchTable } from "./search-table.js";
import { SearchThread } from "./search-thread.js";
import { namespacesOf } from "./session-table.js";
import { SqliteConnection } from "./sqlite-connection.js";
import { SqliteFigures } from "./sqlite-figures.js";
import { type SearchRows, SqliteLogStore } from "./sqlite-log-store.js";
import { SqliteRegisters } from "./sqlite-registers.js";

export interface SqliteLogDatabaseOptions extends SearchNotices {
  /**
   * Whether messages can be searched, and for what: gives the file an index of words, which stays from then on, or
   * extends it; `existing` searches if the file has one.
   */
  readonly search?: SearchOption | undefined;
  /** The store's clock, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

interface SqliteParts {
  /** Absent for a database in memory. */
  readonly files: DatabaseFiles | undefined;
  readonly table: SearchTable | undefined;
  readonly thread: SearchThread | undefined;
}

/** A SQLite file that any number of processes on one machine may open. */
export class SqliteLogDatabase implements LogDatabase {
  readonly name: string;
  readonly registers: RegisterTable;
  readonly #connection: SqliteConnection;
  readonly #now: () => number;
  readonly #cleaner: FileCleaner | undefined;
  readonly #search: SearchRows | undefined;
  readonly #thread: SearchThread | undefined;
  readonly #index: SearchIndex | undefined;
  readonly #files: DatabaseFiles | undefined;
  readonly #table: SearchTable | undefined;

  /** Opens a file, or `:memory:`, and makes it if it is missing; `failed_precondition` if the file cannot be used. */
  static async open(path: string, options: SqliteLogDatabaseOptions = {}): Promise<SqliteLogDatabase> {
    const db = await openFile(path, options);
    const files = path === IN_MEMORY ? undefined : new DatabaseFiles(path);
    const connection = new SqliteConnection(db, { files });
    const isSearched = options.search === "existing" ? hasSearch(db) : options.search;
    const table = isSearched ? new SearchTable(db) : undefined;
    // No other connection can see a database in memory.
    const thread = table && files && new SearchThread(path, SEARCH_SQL.find, files);
    return new SqliteLogDatabase(path, connection, options, { files, table, thread });
  }

  private constructor(
    path: string,
    connection: SqliteConnection,
    options: SqliteLogDatabaseOptions,
    { files, table, thread }: SqliteParts,
  ) {
    this.name = `sqlite:${path}`;
    this.registers = new SqliteRegisters(connection);
    this.#connection = connection;
    this.#now = options.now ?? Date.now;
    this.#thread = thread;
    this.#files = files;
    this.#table = table;
    const index = table && new SearchIndex(connection, table, options);
    this.#index = index;
    this.#search =
      index &&
      (async (query, call) => {
        await index.catchUp(call);
        return thread ? thread.all(query, call) : connection.read(() => table.find(query), call);
      });
    this.#cleaner = path === IN_MEMORY ? undefined : new FileCleaner(path);
  }

  namespace(namespace: string): SqliteLogStore {
    return new SqliteLogStore(this.#connection, namespace, this.#now, { cleaner: this.#cleaner, search: this.#search });
  }

  async listNamespaces(): Promise<readonly string[]> {
    return this.#connection.read(() => namespacesOf(this.#connection.statements), undefined);
  }

  async figures(call?: Call): Promise<StoreFigures> {
    const connection = this.#connection;
    const figures = await new SqliteFigures(connection).read(this.#now(), call);
    const bytes = await connection.read(() => this.#files?.bytes(), call);
    const unindexed = await connection.read(() => this.#table?.unindexed(MOST_UNINDEXED), call);
    return { ...figures, bytes, unindexed };
  }

  /** Resolves when all messages that the file holds now are in its index, as far as this can be done. */
  async searchBuilt(): Promise<void> {
    await this.#index?.look();
  }

  async close(call?: Call): Promise<void> {
    await this.#index?.stop();
    await this.#thread?.close();
    await this.#connection.close(call);
  }
}
