import { type Call, closeLimit } from "../../domain/call.js";
import { type HistoryOptions, LogHistoryProvider } from "../history/log-history-provider.js";
import { MongoLogDatabase, type MongoOptions } from "./mongo-log-database.js";

export interface MongoProviderOptions extends HistoryOptions, MongoOptions {
  /** The namespace of the sessions and todos; `default` when absent. */
  readonly namespace?: string | undefined;
}

/** A provider with a client of its own, which is closed with it; for programs that embed this package. */
export class MongoStorageProvider extends LogHistoryProvider {
  readonly database: MongoLogDatabase;

  private constructor(database: MongoLogDatabase, options: MongoProviderOptions) {
    super(database.namespace(options.namespace ?? "default"), options);
    this.database = database;
  }

  /** Connects as `MongoLogDatabase.connect` does, and rejects as that does. */
  static async connect(url: string, options: MongoProviderOptions = {}): Promise<MongoStorageProvider> {
    return new MongoStorageProvider(await MongoLogDatabase.connect(url, options), options);
  }

  override async close(call?: Call): Promise<void> {
    const limit = closeLimit(call);
    await super.close(limit);
    await this.database.close(limit);
  }
}
