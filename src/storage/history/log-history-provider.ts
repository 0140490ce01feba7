import type { Limits } from "../../domain/limits.js";
import { StorageProvider } from "../storage-provider.js";
import type { LogStore } from "./log-store.js";

export interface HistoryOptions {
  readonly limits?: Partial<Limits> | undefined;
}

/** The one implementation of histories, over any LogStore. */
export class LogHistoryProvider extends StorageProvider {
  readonly store: LogStore;

  constructor(store: LogStore, _options: HistoryOptions = {}) {
    super();
    this.store = store;
  }
}
