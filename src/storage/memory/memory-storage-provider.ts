import { type Call, closeLimit } from "../../domain/call.js";
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

  override async close(call?: Call): Promise<void> {
    const limit = closeLimit(call);
    await super.close(limit);
    await this.#database.close();
  }
}
