import { type HistoryOptions, LogHistoryProvider } from "../history/log-history-provider.js";
import { MemoryLogDatabase } from "./memory-log-database.js";

/** A provider with a database of its own, in this process only. */
export class MemoryStorageProvider extends LogHistoryProvider {
  readonly #database: MemoryLogDatabase;

  constructor(options: HistoryOptions = {}) {
    const database = new MemoryLogDatabase();
    super(database.namespace("default"), options);
    this.#database = database;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#database.close();
  }
}
