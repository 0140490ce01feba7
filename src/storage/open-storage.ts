import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Call, closeLimit } from "../domain/call.js";
import { DomainError, invalidArgument } from "../domain/errors.js";
import type { Limits } from "../domain/limits.js";
import type { SearchOption } from "../domain/search.js";
import { type HistoryOptions, LogHistoryProvider, type SeenDrafts } from "./history/log-history-provider.js";
import type { LogDatabase, RegisterTable, StoreFigures, VacuumOptions } from "./history/log-store.js";
import type { MongoOptions } from "./mongodb/mongo-log-database.js";
import type { StorageProvider } from "./storage-provider.js";

export interface DatabaseOptions {
  /** Whether a missing database is made; true when absent. If false, a missing database is `failed_precondition`. */
  readonly create?: boolean | undefined;
  readonly mongo?: MongoOptions | undefined;
  /** The limits on what is stored. PostgreSQL refuses those above the limits of its indexes: `invalid_argument`. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Whether messages can be searched, and for what: gives a SQLite file, or a database in PostgreSQL or MongoDB, an
   * index of words, which stays; `existing` searches if there is one already, and makes none.
   */
  readonly search?: SearchOption | undefined;
  /** Receives what the operator should know. */
  readonly onNotice?: ((text: string) => void) | undefined;
  readonly onAnomaly?: ((text: string, error?: unknown) => void) | undefined;
}

/** Settings for `openStorage`. */
export interface StorageOptions extends HistoryOptions, DatabaseOptions {
  /** Receives notices of what the server lacks, and background failures unless `onAnomaly` is given. */
  readonly logger?:
    | { info?(details: object, message: string): void; warn(details: object, message: string): void }
    | undefined;
}

/** A database with one provider for each namespace. */
export interface Storage {
  /** A name without credentials, for the start line and logs. */
  readonly name: string;
  /** Returns the same provider for the same namespace until that is released. */
  provider(namespace: string): StorageProvider;
  /** Closes the provider of a namespace, which nobody may use any more. Asking again later makes a new one. */
  release(namespace: string): Promise<void>;
  /** The namespaces that have sessions or todos. */
  listNamespaces(): Promise<readonly string[]>;
  /** Whether sessions can be watched. */
  readonly hasFeed: boolean;
  /** As in LogDatabase. */
  readonly registers?: RegisterTable | undefined;
  /** Figures about the whole store; null where it has none. */
  figures(call?: Call): Promise<StoreFigures | null>;
  /** What the database's settings endanger, as of the last ping, a sentence each. */
  risks(): readonly string[];
  /** Clears away what erasures have left behind, as `LogDatabase` says; undefined where that is nothing. */
  readonly vacuum?: ((options: VacuumOptions) => Promise<void>) | undefined;
  /** Closes the providers and then the database, both by the call's deadline, or within 5 s without one. */
  close(call?: Call): Promise<void>;
}

/**
 * Opens the database of a URL: `sqlite:<path>`, `sqlite::memory:`, `memory:`, `postgres://…` or `mongodb://…`. Drivers
 * are loaded only when needed. `invalid_argument`: unknown scheme; `failed_precondition`: the database cannot be used
 * in its present state; `unavailable`: it does not answer.
 */
export async function openDatabase(url: string, options: DatabaseOptions = {}): Promise<LogDatabase> {
  const [, scheme, rest] = /^([a-z+]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "memory":
      return openMemory(rest as string, options);
    case "sqlite":
      return openSqlite(rest as string, options);
    case "mongodb":
    case "mongodb+srv":
      return openMongo(url, options);
    case "postgres":
    case "postgresql":
      return openPostgres(url, options);
    default:
      throw invalidArgument(
        "The storage URL must begin with sqlite:, memory:, postgres://, postgresql://, mongodb:// or mongodb+srv://, such as sqlite:./data/session-pool.db",
      );
  }
}

/**
 * Opens the database of a URL, with a provider for each namespace that is asked for. Takes the URLs of `openDatabase`
 * and rejects as that does.
 */
export async function openStorage(url: string, options: StorageOptions = {}): Promise<Storage> {
  const { logger, mongo, create, ...history } = options;
  const onAnomaly = (text: string, err?: unknown) => logger?.warn({ err }, text);
  const onNotice = (text: string) => logger?.info?.({}, text);
  const mongoOptions = { onNotice, onAnomaly, ...mongo };
  const { search, limits } = history;
  const database = await openDatabase(url, { mongo: mongoOptions, create, search, limits, onNotice, onAnomaly });
  return new DatabaseStorage(database, { onAnomaly, ...history });
}

class DatabaseStorage implements Storage {
  readonly #database: LogDatabase;
  readonly #options: HistoryOptions;
  readonly #providers = new Map<string, StorageProvider>();
  /** What each namespace's providers have seen of open drafts. It outlives them. */
  readonly #seenDrafts = new Map<string, SeenDrafts>();
  /** Providers that were released and are still being closed. */
  readonly #closing = new Set<Promise<void>>();

  constructor(database: LogDatabase, options: HistoryOptions) {
    this.#database = database;
    this.#options = options;
  }

  get name(): string {
    return this.#database.name;
  }

  provider(namespace: string): StorageProvider {
    let provider = this.#providers.get(namespace);
    if (provider === undefined) {
      const seenDrafts: SeenDrafts = this.#seenDrafts.get(namespace) ?? new Map();
      this.#seenDrafts.set(namespace, seenDrafts);
      provider = new LogHistoryProvider(this.#database.namespace(namespace), { ...this.#options, seenDrafts });
      this.#providers.set(namespace, provider);
    }
    return provider;
  }

  async release(namespace: string): Promise<void> {
    const provider = this.#providers.get(namespace);
    if (provider === undefined) return;
    this.#providers.delete(namespace);
    if (this.#seenDrafts.get(namespace)?.size === 0) this.#seenDrafts.delete(namespace);
    const closing = provider.close();
    this.#closing.add(closing);
    await closing.finally(() => this.#closing.delete(closing));
  }

  listNamespaces(): Promise<readonly string[]> {
    return this.#database.listNamespaces();
  }

  get hasFeed(): boolean {
    return this.#database.namespace("default").feed !== undefined;
  }

  get registers(): RegisterTable | undefined {
    return this.#database.registers;
  }

  async figures(call?: Call): Promise<StoreFigures | null> {
    return (await this.#database.figures?.(call)) ?? null;
  }

  risks(): readonly string[] {
    return this.#database.risks ?? [];
  }

  get vacuum(): Storage["vacuum"] {
    return this.#database.vacuum?.bind(this.#database);
  }

  async close(call?: Call): Promise<void> {
    const limited = closeLimit(call);
    const closing = [...this.#providers.values()].map((provider) => provider.close(limited));
    const failures = (await Promise.allSettled([...closing, ...this.#closing])).filter(
      (outcome) => outcome.status === "rejected",
    );
    await this.#database.close(limited);
    if (failures[0]) throw failures[0].reason;
  }
}

async function openMemory(rest: string, { create = true }: DatabaseOptions): Promise<LogDatabase> {
  if (rest !== "") throw invalidArgument("The storage URL memory: takes no path");
  if (!create) throw new DomainError("failed_precondition", "memory: holds nothing outside the process that serves it");
  const { MemoryLogDatabase } = await import("./memory/memory-log-database.js");
  return new MemoryLogDatabase();
}

async function openSqlite(rest: string, { create = true, ...options }: DatabaseOptions): Promise<LogDatabase> {
  // Users of other tools write `sqlite:///srv/x.db`.
  const path = rest.replace(/^\/\/(?=\/)/, "");
  if (path === "") throw invalidArgument("The storage URL sqlite: needs a path, such as sqlite:./data/session-pool.db");
  if (!create && path !== ":memory:" && !existsSync(path)) {
    throw new DomainError("failed_precondition", `There is no database ${resolve(path)}`);
  }
  const { SqliteLogDatabase } = await import("./sqlite/sqlite-log-database.js");
  return SqliteLogDatabase.open(path, options);
}

async function openMongo(url: string, options: DatabaseOptions): Promise<LogDatabase> {
  const { MongoLogDatabase } = await import("./mongodb/mongo-log-database.js");
  return MongoLogDatabase.connect(url, { ...options.mongo, search: options.search });
}

async function openPostgres(url: string, { mongo: _mongo, ...options }: DatabaseOptions): Promise<LogDatabase> {
  const { PostgresLogDatabase } = await import("./postgres/postgres-log-database.js");
  return PostgresLogDatabase.connect(url, options);
}
