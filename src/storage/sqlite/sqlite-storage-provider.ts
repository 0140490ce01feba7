import { type Call, closeLimit } from "../../domain/call.js";
import { type HistoryOptions, LogHistoryProvider } from "../history/log-history-provider.js";
import { SqliteLogDatabase } from "./sqlite-log-database.js";

/** A provider with a SQLite file of its own, which it closes. */
export class SqliteStorageProvider extends LogHistoryProvider {
  readonly #database: SqliteLogDatabase;

  /** Opens a file, or `:memory:`. What is missing is made; a file that cannot be used is `failed_precondition`. */
  static async open(path: string, options: HistoryOptions = {}): Promise<SqliteStorageProvider> {
    return new SqliteStorageProvider(await SqliteLogDatabase.open(path), options);
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
