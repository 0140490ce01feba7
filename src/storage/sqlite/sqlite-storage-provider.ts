import { type Call, closeLimit } from "../../domain/call.js";
import { type HistoryOptions, LogHistoryProvider } from "../history/log-history-provider.js";
import { SqliteLogDatabase } from "./sqlite-log-database.js";

/** A provider with its own SQLite file, which it closes. */
export class SqliteStorageProvider extends LogHistoryProvider {
  readonly #database: SqliteLogDatabase;

  /**
   * Opens a file, or `:memory:`, and makes it if it is missing; with `search` it gets an index of words. Rejects with
   * `failed_precondition` if the file cannot be used.
   */
  static async open(path: string, options: HistoryOptions = {}): Promise<SqliteStorageProvider> {
    return new SqliteStorageProvider(await SqliteLogDatabase.open(path, options), options);
  }

  private constructor(database: SqliteLogDatabase, options: HistoryOptions) {
    super(database.namespace("default"), options);
    this.#database = database;
  }

  override async close(call?: Call): Promise<void> {
    const limit = closeLimit(call);
    await super.close(limit);
    await this.#database.close(limit);
  }
}
