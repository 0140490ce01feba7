import { invalidArgument } from "../domain/errors.js";
import { type HistoryOptions, LogHistoryProvider } from "./history/log-history-provider.js";
import type { LogDatabase } from "./history/log-store.js";
import type { MongoOptions } from "./mongodb/mongo-log-database.js";
import type { StorageProvider } from "./storage-provider.js";

export interface DatabaseOptions {
  readonly mongo?: MongoOptions | undefined;
}

export interface StorageOptions extends HistoryOptions, DatabaseOptions {
  /** Told of failures in the background, unless `onAnomaly` is. */
  readonly logger?: { warn(details: object, message: string): void } | undefined;
}

/** A database, and one provider a namespace. */
export interface Storage {
  /** For the start line and logs, without credentials. */
  readonly name: string;
  /** The same provider for the same namespace. */
  provider(namespace: string): StorageProvider;
  /** Namespaces that have sessions or todos. */
  listNamespaces(): Promise<readonly string[]>;
  /** Closes the providers, then the database. */
  close(): Promise<void>;
}

/**
 * Opens the database of a URL: `sqlite:<path>`, `sqlite::memory:`, `memory:` or `mongodb://…`. Drivers are loaded when they are needed.
 * `invalid_argument`: no such scheme; `failed_precondition`: it cannot be used as it is; `unavailable`: it does not answer.
 */
export async function openDatabase(url: string, options: DatabaseOptions = {}): Promise<LogDatabase> {
  const [, scheme, rest] = /^([a-z+]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "memory":
      return openMemory(rest as string);
    case "sqlite":
      return openSqlite(rest as string);
    case "mongodb":
    case "mongodb+srv":
      return openMongo(url, options);
    default:
      throw invalidArgument(
        "The storage URL must begin with sqlite:, memory:, mongodb:// or mongodb+srv://, such as sqlite:./data/session-pool.db",
      );
  }
}

export async function openStorage(url: string, options: StorageOptions = {}): Promise<Storage> {
  const { logger, mongo, ...history } = options;
  const onAnomaly = (text: string, err?: unknown) => logger?.warn({ err }, text);
  return new DatabaseStorage(await openDatabase(url, { mongo }), { onAnomaly, ...history });
}

class DatabaseStorage implements Storage {
  readonly #database: LogDatabase;
  readonly #options: HistoryOptions;
  readonly #providers = new Map<string, StorageProvider>();

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
      provider = new LogHistoryProvider(this.#database.namespace(namespace), this.#options);
      this.#providers.set(namespace, provider);
    }
    return provider;
  }

  listNamespaces(): Promise<readonly string[]> {
    return this.#database.listNamespaces();
  }

  async close(): Promise<void> {
    const closing = [...this.#providers.values()].map((provider) => provider.close());
    const failures = (await Promise.allSettled(closing)).filter((outcome) => outcome.status === "rejected");
    await this.#database.close();
    if (failures[0]) throw failures[0].reason;
  }
}

async function openMemory(rest: string): Promise<LogDatabase> {
  if (rest !== "") throw invalidArgument("The storage URL memory: takes no path");
  const { MemoryLogDatabase } = await import("./memory/memory-log-database.js");
  return new MemoryLogDatabase();
}

async function openSqlite(rest: string): Promise<LogDatabase> {
  // `sqlite:///srv/x.db` is written by those who know other tools' URLs.
  const path = rest.replace(/^\/\/(?=\/)/, "");
  if (path === "") throw invalidArgument("The storage URL sqlite: needs a path, such as sqlite:./data/session-pool.db");
  const { SqliteLogDatabase } = await import("./sqlite/sqlite-log-database.js");
  return SqliteLogDatabase.open(path);
}

async function openMongo(url: string, options: DatabaseOptions): Promise<LogDatabase> {
  const { MongoLogDatabase } = await import("./mongodb/mongo-log-database.js");
  return MongoLogDatabase.connect(url, options.mongo);
}
