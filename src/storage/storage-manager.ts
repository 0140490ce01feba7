import type { Call } from "../domain/call.js";
import type { StorageProvider } from "./storage-provider.js";

/** Every operation of a provider, so that forgetting to forward one does not compile. */
export type StorageOperations = Pick<StorageProvider, keyof StorageProvider>;

type Args<K extends keyof StorageOperations> = Parameters<StorageOperations[K]>;

/** Holds the configured providers and forwards to the active one. The layers above reach storage only through it. */
export class StorageManager implements StorageOperations {
  readonly #providers: ReadonlyMap<string, StorageProvider>;
  readonly #active: StorageProvider;

  /** Activates the provider with this name, or the first one when no name is given. */
  constructor(providers: Readonly<Record<string, StorageProvider>>, activeName?: string) {
    this.#providers = new Map(Object.entries(providers));
    const name = activeName ?? this.names[0];
    const active = name === undefined ? undefined : this.#providers.get(name);
    if (active === undefined) {
      throw new RangeError(`No storage provider ${JSON.stringify(name ?? "")}; configured: ${this.names.join(", ")}`);
    }
    this.#active = active;
  }

  /** The names of the configured providers. */
  get names(): readonly string[] {
    return [...this.#providers.keys()];
  }

  get active(): StorageProvider {
    return this.#active;
  }

  createSession(...args: Args<"createSession">) {
    return this.#active.createSession(...args);
  }

  getSession(...args: Args<"getSession">) {
    return this.#active.getSession(...args);
  }

  loadSession(...args: Args<"loadSession">) {
    return this.#active.loadSession(...args);
  }

  listSessions(...args: Args<"listSessions">) {
    return this.#active.listSessions(...args);
  }

  updateSession(...args: Args<"updateSession">) {
    return this.#active.updateSession(...args);
  }

  deleteSession(...args: Args<"deleteSession">) {
    return this.#active.deleteSession(...args);
  }

  getSessionMessages(...args: Args<"getSessionMessages">) {
    return this.#active.getSessionMessages(...args);
  }

  listMessages(...args: Args<"listMessages">) {
    return this.#active.listMessages(...args);
  }

  getMessage(...args: Args<"getMessage">) {
    return this.#active.getMessage(...args);
  }

  getMessageCount(...args: Args<"getMessageCount">) {
    return this.#active.getMessageCount(...args);
  }

  searchMessages(...args: Args<"searchMessages">) {
    return this.#active.searchMessages(...args);
  }

  logMessages(...args: Args<"logMessages">) {
    return this.#active.logMessages(...args);
  }

  logMessage(...args: Args<"logMessage">) {
    return this.#active.logMessage(...args);
  }

  logTurn(...args: Args<"logTurn">) {
    return this.#active.logTurn(...args);
  }

  startDraft(...args: Args<"startDraft">) {
    return this.#active.startDraft(...args);
  }

  extendDraft(...args: Args<"extendDraft">) {
    return this.#active.extendDraft(...args);
  }

  finishDraft(...args: Args<"finishDraft">) {
    return this.#active.finishDraft(...args);
  }

  discardDraft(...args: Args<"discardDraft">) {
    return this.#active.discardDraft(...args);
  }

  listDrafts(...args: Args<"listDrafts">) {
    return this.#active.listDrafts(...args);
  }

  endAbandonedDrafts(...args: Args<"endAbandonedDrafts">) {
    return this.#active.endAbandonedDrafts(...args);
  }

  forkConversation(...args: Args<"forkConversation">) {
    return this.#active.forkConversation(...args);
  }

  truncateMessages(...args: Args<"truncateMessages">) {
    return this.#active.truncateMessages(...args);
  }

  restoreMessages(...args: Args<"restoreMessages">) {
    return this.#active.restoreMessages(...args);
  }

  updateMessage(...args: Args<"updateMessage">) {
    return this.#active.updateMessage(...args);
  }

  deleteMessage(...args: Args<"deleteMessage">) {
    return this.#active.deleteMessage(...args);
  }

  eraseMessage(...args: Args<"eraseMessage">) {
    return this.#active.eraseMessage(...args);
  }

  followMessages(...args: Args<"followMessages">) {
    return this.#active.followMessages(...args);
  }

  readTodos(...args: Args<"readTodos">) {
    return this.#active.readTodos(...args);
  }

  replaceTodos(...args: Args<"replaceTodos">) {
    return this.#active.replaceTodos(...args);
  }

  scanSessions(...args: Args<"scanSessions">) {
    return this.#active.scanSessions(...args);
  }

  snapshotSession(...args: Args<"snapshotSession">) {
    return this.#active.snapshotSession(...args);
  }

  readStored(...args: Args<"readStored">) {
    return this.#active.readStored(...args);
  }

  restoreSession(...args: Args<"restoreSession">) {
    return this.#active.restoreSession(...args);
  }

  sweep(...args: Args<"sweep">) {
    return this.#active.sweep(...args);
  }

  ping(...args: Args<"ping">) {
    return this.#active.ping(...args);
  }

  /** Closes all providers. */
  async close(call?: Call): Promise<void> {
    await Promise.all([...this.#providers.values()].map((provider) => provider.close(call)));
  }
}
