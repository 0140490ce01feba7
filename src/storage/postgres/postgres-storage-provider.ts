import { type Call, closeLimit } from "../../domain/call.js";
import { type HistoryOptions, LogHistoryProvider } from "../history/log-history-provider.js";
import { PostgresLogDatabase, type PostgresOptions } from "./postgres-log-database.js";

export interface PostgresProviderOptions extends HistoryOptions, PostgresOptions {
  /** The namespace of the sessions and todos; `default` when absent. */
  readonly namespace?: string | undefined;
}

/** A provider with a pool of connections of its own, which is closed with it; for programs that embed this package. */
export class PostgresStorageProvider extends LogHistoryProvider {
  readonly database: PostgresLogDatabase;

  private constructor(database: PostgresLogDatabase, options: PostgresProviderOptions) {
    super(database.namespace(options.namespace ?? "default"), options);
    this.database = database;
  }

  /** Connects as `PostgresLogDatabase.connect` does, and rejects as that does. */
  static async open(url: string, options: PostgresProviderOptions = {}): Promise<PostgresStorageProvider> {
    return new PostgresStorageProvider(await PostgresLogDatabase.connect(url, options), options);
  }

  override async close(call?: Call): Promise<void> {
    const limit = closeLimit(call);
    await super.close(limit);
    await this.database.close(limit);
  }
}
