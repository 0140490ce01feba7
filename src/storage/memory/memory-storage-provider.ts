import { type HistoryOptions, LogHistoryProvider } from "../history/log-history-provider.js";
import { MemoryLogDatabase } from "./memory-log-database.js";

/** A provider with a database of its own, in this process only. */
export class MemoryStorageProvider extends LogHistoryProvider {
  constructor(options: HistoryOptions = {}) {
    super(new MemoryLogDatabase().namespace("default"), options);
  }
}
