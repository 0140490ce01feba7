import type { Call } from "../../domain/call.js";
import type { LogDatabase } from "../history/log-store.js";
import { DatabaseFiles } from "./database-files.js";
import { FileCleaner } from "./file-cleaner.js";
import { IN_MEMORY, openFile } from "./open-file.js";
import { namespacesOf } from "./session-table.js";
import { SqliteConnection } from "./sqlite-connection.js";
import { SqliteLogStore } from "./sqlite-log-store.js";

export interface SqliteLogDatabaseOptions {
  /** The store's clock, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** A SQLite file that any number of processes on one machine may open. */
export class SqliteLogDatabase implements LogDatabase {
  readonly name: string;
  readonly #connection: SqliteConnection;
  readonly #now: () => number;
  readonly #cleaner: FileCleaner | undefined;

  /** Opens a file, or `:memory:`, and makes it if it is missing; `failed_precondition` if the file cannot be used. */
  static async open(path: string, options: SqliteLogDatabaseOptions = {}): Promise<SqliteLogDatabase> {
    const db = await openFile(path);
    const files = path === IN_MEMORY ? undefined : new DatabaseFiles(path);
    const connection = new SqliteConnection(db, { files });
    return new SqliteLogDatabase(path, connection, options.now ?? Date.now);
  }

  private constructor(path: string, connection: SqliteConnection, now: () => number) {
    this.name = `sqlite:${path}`;
    this.#connection = connection;
    this.#now = now;
    this.#cleaner = path === IN_MEMORY ? undefined : new FileCleaner(path);
  }

  namespace(namespace: string): SqliteLogStore {
    return new SqliteLogStore(this.#connection, namespace, this.#now, this.#cleaner);
  }

  async listNamespaces(): Promise<readonly string[]> {
    return this.#connection.read(() => namespacesOf(this.#connection.statements), undefined);
  }

  async close(call?: Call): Promise<void> {
    await this.#connection.close(call);
  }
}
