import { type Call, closeLimit, endsBy } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { Limits } from "../../domain/limits.js";
import type { SearchOption } from "../../domain/search.js";
import type { LogDatabase, LogStore, RegisterTable, StoreFigures, VacuumOptions } from "../history/log-store.js";
import type { SearchIndexer } from "../history/search-indexer.js";
import { fromColumn } from "../text-column.js";
import { AppendGroups } from "./append-groups.js";
import { DURABILITY, risksOf } from "./durability.js";
import { checkIndexedLimits } from "./indexed-limits.js";
import { PostgresChanges } from "./postgres-changes.js";
import { NOT_AVAILABLE, postgresError } from "./postgres-errors.js";
import { readFigures } from "./postgres-figures.js";
import { PostgresLogStore } from "./postgres-log-store.js";
import { PostgresPool } from "./postgres-pool.js";
import { PostgresRegisters } from "./postgres-registers.js";
import { indexMessages } from "./postgres-search-index.js";
import { quoted, readPostgresUrl } from "./postgres-url.js";
import { prepareSchema } from "./prepare-schema.js";
import type { PostgresShared } from "./shared.js";
import { statementsFor } from "./statements.js";
import { Turns } from "./turns.js";
import { vacuum } from "./vacuum.js";

export interface PostgresOptions {
  /** Whether a missing schema is made; true when absent. If false, a missing schema is `failed_precondition`. */
  readonly create?: boolean | undefined;
  /**
   * Whether messages can be searched, and for what: adds indexes of words, and the words to each message that is
   * stored; `existing` does the latter if the indexes are there.
   */
  readonly search?: SearchOption | undefined;
  /** The limits on what is stored, which must fit into the rows of indexes. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * The most milliseconds that one operation may take, including repeated attempts; 30,000 by default. A call's own
   * deadline may end it sooner.
   */
  readonly timeoutMs?: number | undefined;
  /** Called on connecting with what the server lacks. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /** Called for failures in the background, and on connecting for settings that endanger what is acknowledged. */
  readonly onAnomaly?: ((text: string, error?: unknown) => void) | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** A schema of a PostgreSQL database, with a pool of connections. */
export class PostgresLogDatabase implements LogDatabase {
  readonly name: string;
  readonly registers: RegisterTable;
  readonly #schema: string;
  /** Leads to the server past a pooler, if such a URL is known. */
  readonly #directUrl: string;
  readonly #shared: PostgresShared;
  readonly #searchIndex: SearchIndexer | undefined;
  #risks: readonly string[] = [];

  /**
   * Connects, and makes the tables if they are missing. The parameters of the URL are described in
   * docs/operations/stores.md. `invalid_argument`: malformed URL, or limits above those of indexes; `unavailable`: no
   * server answers, or it takes no writes; `failed_precondition`: the database cannot be used as it is.
   */
  static async connect(url: string, options: PostgresOptions = {}): Promise<PostgresLogDatabase> {
    checkIndexedLimits(options.limits);
    const { driverUrl, name, schema, prepare, listenUrl, connections } = readPostgresUrl(url);
    const { create = true, search = false, timeoutMs = DEFAULT_TIMEOUT_MS, onNotice, onAnomaly = () => {} } = options;
    const pool = new PostgresPool(driverUrl, { connections, prepare, timeoutMs });
    const changes = new PostgresChanges(pool, { channel: schema, listenUrl, onFailure: onAnomaly });
    let database: PostgresLogDatabase | undefined;
    try {
      const indexed = await prepareSchema(pool, { schema, create, search });
      const hears = await changes.start();
      if (!hears) onNotice?.("PostgreSQL sends no notifications here: watchers poll for what other processes write");
      const sql = statementsFor(schema);
      const parts = {
        pool,
        schema: quoted(schema),
        sql,
        appends: new AppendGroups(pool, sql),
        turns: new Turns(timeoutMs),
        changes,
        hears,
        indexed,
      };
      const place = { name, schema, directUrl: listenUrl ?? driverUrl };
      database = new PostgresLogDatabase(place, parts, { onNotice, onAnomaly });
      await database.#ping();
      for (const risk of database.#risks) onAnomaly(risk);
      return database;
    } catch (error) {
      if (database) await database.#searchIndex?.stop();
      await changes.close();
      await pool.close();
      const mapped = postgresError(error);
      if (mapped.message !== NOT_AVAILABLE) throw mapped;
      throw new DomainError("unavailable", `${name} does not answer${reasonOf(error)}`, { cause: error });
    }
  }

  private constructor(
    { name, schema, directUrl }: { readonly name: string; readonly schema: string; readonly directUrl: string },
    parts: Omit<PostgresShared, "ping">,
    notices: Pick<PostgresOptions, "onNotice" | "onAnomaly">,
  ) {
    this.name = name;
    this.registers = new PostgresRegisters(parts);
    this.#schema = schema;
    this.#directUrl = directUrl;
    this.#shared = { ...parts, ping: (call) => this.#ping(call) };
    this.#searchIndex = parts.indexed ? indexMessages(parts.pool, schema, parts.indexed, notices) : undefined;
  }

  /** What the server's settings endanger, a sentence each, as of the last ping. */
  get risks(): readonly string[] {
    return this.#risks;
  }

  namespace(namespace: string): LogStore {
    return new PostgresLogStore(this.#shared, namespace);
  }

  async listNamespaces(): Promise<readonly string[]> {
    const rows = await this.#shared.pool.read(this.#shared.sql.namespaces, [], undefined);
    return rows.map(([name]) => fromColumn(name as string)).sort();
  }

  async figures(call?: Call): Promise<StoreFigures> {
    return readFigures(this.#shared.pool, this.#schema, this.#shared.indexed, call);
  }

  /** Resolves when messages that were stored without words have got them, as far as this can be done. */
  async searchBuilt(): Promise<void> {
    await this.#searchIndex?.look();
  }

  /** Vacuums the messages, the attachments, and the samples that the planner has of words. */
  async vacuum(options: VacuumOptions): Promise<void> {
    await vacuum(this.#shared.pool, this.#directUrl, this.#schema, options);
  }

  /** If the server does not answer by the deadline, connections go on closing after this has resolved. */
  async close(call?: Call): Promise<void> {
    const closing = this.#close();
    // Nobody waits for a failure after the deadline.
    closing.catch(() => {});
    await endsBy(closeLimit(call).deadlineMs, closing);
  }

  async #close(): Promise<void> {
    await this.#searchIndex?.stop();
    await this.#shared.changes.close();
    await this.#shared.pool.close();
  }

  async #ping(call?: Call): Promise<void> {
    const [row = []] = await this.#shared.pool.run(DURABILITY, [], call);
    this.#risks = risksOf(row);
    if (row[0] !== false) throw new DomainError("unavailable", "PostgreSQL is a standby, or read-only");
  }
}

/** What the network or the driver has said, which names no credentials: a refused connection, a certificate. */
function reasonOf(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  const text = root instanceof AggregateError ? root.errors.map(String).join("; ") : String((root as Error).message);
  return text === "" || root instanceof DomainError ? "" : `: ${text}`;
}
