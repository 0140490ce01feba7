import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Call, checkCall } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { DomainError } from "../../domain/errors.js";
import { repeat } from "../history/repeat.js";
import { sendCancelRequest } from "./cancel-request.js";
import { PostgresClient } from "./postgres-client.js";
import {
  isReusable,
  isStarting,
  isUnknownOutcome,
  NotConnected,
  postgresError,
  Unreplicated,
  wasCanceled,
  wasReadOnly,
  wasRefused,
} from "./postgres-errors.js";
import { withinLimit } from "./time-limit.js";
import { type Row, TYPES, toParameter, type Value } from "./values.js";

export interface PoolOptions {
  /** The most connections. */
  readonly connections: number;
  /** Whether statements are prepared by name. */
  readonly prepare: boolean;
  /**
   * The most milliseconds that one operation may take, including repeated attempts. A call's own deadline may end it
   * sooner.
   */
  readonly timeoutMs: number;
}

const CONNECT_MS = 10_000;
/** How long a connection has to come back after its statement was canceled, before it is closed. */
const CANCEL_MS = 1000;
/** Load balancers and managed servers close idle connections without a word. */
const IDLE_MS = 60_000;
const LIFETIME_S = 1800;

/**
 * Runs statements on a pool of connections, each within the limits of its call, and maps every error. A statement is a
 * transaction of its own, so it may run on any connection, and behind poolers that hand out connections by transaction.
 */
export class PostgresPool {
  readonly #pool: pg.Pool;
  readonly #options: PoolOptions;
  /** Maps statements to the names under which they are prepared. */
  readonly #names = new Map<string, string>();
  readonly #closed = new AbortController();
  /** Connections of earlier generations are closed when they are taken from the pool. */
  #generation = 0;

  constructor(driverUrl: string, options: PoolOptions) {
    // Any number of operations may wait for their next attempt.
    setMaxListeners(0, this.#closed.signal);
    this.#options = options;
    this.#pool = new pg.Pool({
      application_name: "session-pool",
      connectionString: driverUrl,
      Client: PostgresClient,
      max: options.connections,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: IDLE_MS,
      maxLifetimeSeconds: LIFETIME_S,
      keepAlive: true,
      types: TYPES,
      onConnect: async (client: pg.ClientBase) => {
        if ((client as PostgresClient).isStandby) throw new DomainError("unavailable", "PostgreSQL is a standby");
      },
    } as pg.PoolConfig);
    this.#pool.on("connect", (client) => {
      (client as pg.PoolClient & PostgresClient).generation = this.#generation;
    });
    // The pool has removed the connection already, and makes another one when it needs it.
    this.#pool.on("error", () => {});
  }

  /**
   * Runs a statement that changes nothing, again if the connection breaks. Without `prepare` it is planned each time,
   * for its values.
   */
  read(text: string, values: readonly Value[], call: Call | undefined, prepare?: false): Promise<Row[]> {
    return this.settle(call, () => this.run(text, values, call, prepare));
  }

  /** Runs the first statement. Waits for a server that is starting, as it may be beside us when a machine starts. */
  runFirst(text: string): Promise<Row[]> {
    return this.#repeat({ deadlineMs: Date.now() + CONNECT_MS }, isStarting, () =>
      this.run(text, [], undefined, false),
    );
  }

  /** For writes that must not happen twice: repeats one only when the server has certainly not carried it out. */
  writeOnce(text: string, values: readonly Value[], call: Call | undefined): Promise<Row[]> {
    return this.#repeat(call, wasRefused, () => this.run(text, values, call));
  }

  /**
   * Repeats an attempt until its outcome is known. `attempt` must be safe to repeat; `isRepeat` tells it that an
   * earlier attempt may have been carried out, or may still be: a backend whose client has gone finishes its statement.
   * Gives up with the last error at the call's deadline, or when the time of one operation is over.
   */
  settle<T>(call: Call | undefined, attempt: (isRepeat: boolean) => Promise<T>): Promise<T> {
    return this.#repeat(call, (error) => isUnknownOutcome(error) || wasRefused(error), attempt);
  }

  /** Runs a statement once. Rejects with DomainError only. */
  async run(
    text: string,
    values: readonly Value[],
    call: Call | undefined,
    prepare: boolean = this.#options.prepare,
  ): Promise<Row[]> {
    checkCall(call);
    const name = prepare ? { name: this.#nameOf(text) } : {};
    const query = { ...name, text, values: values.map(toParameter), rowMode: "array" as const };
    return withinLimit(call, this.#options.timeoutMs, async (limited) =>
      this.#runOn(await this.#connect(limited), query, limited),
    );
  }

  /**
   * Runs work on one connection, which nobody else uses meanwhile: for migrations, whose statements belong together.
   */
  async withClient<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    const client = await this.#connect(undefined);
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      // It may be inside a transaction.
      client.release(true);
      throw postgresError(error);
    }
  }

  /** Waits for running statements. Rejects those that wait for a connection. */
  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort(new DomainError("unavailable", "The store is closed"));
    await this.#pool.end();
  }

  async #connect(call: Call | undefined): Promise<pg.PoolClient> {
    checkCall({ signal: this.#closed.signal });
    const connecting = this.#take().catch((error) => {
      throw postgresError(new NotConnected("There is no connection", { cause: error }));
    });
    // Once it closes, the pool of the driver gives no connection to those who wait for one.
    const waiting = untilCallEnd(connecting, { signal: this.#closed.signal });
    return untilCallEnd(waiting, call).catch((error) => {
      connecting.then(
        (client) => client.release(),
        () => {},
      );
      throw error;
    });
  }

  async #take(): Promise<pg.PoolClient> {
    for (;;) {
      const client = (await this.#pool.connect()) as pg.PoolClient & PostgresClient;
      if (client.generation === this.#generation) return client;
      client.release(true);
    }
  }

  /**
   * Begins a new generation, because one connection has shown that its server may have been replaced. What others of
   * its generation read there may be old, and what they write may wait for ever.
   */
  #leave({ generation }: PostgresClient): void {
    if (generation === this.#generation) this.#generation++;
  }

  async #runOn(client: pg.PoolClient, query: pg.QueryArrayConfig, call: Call | undefined): Promise<Row[]> {
    const own = client as pg.PoolClient & PostgresClient;
    own.isUnreplicated = false;
    const work = client.query(query).then(({ rows }) => rows as unknown as Row[]);
    let rows: Row[];
    try {
      rows = await untilCallEnd(work, call);
    } catch (error) {
      if (error instanceof DomainError) void this.#free(own, work);
      else {
        if (wasReadOnly(error)) this.#leave(own);
        client.release(!isReusable(error));
      }
      throw postgresError(error);
    }
    if (own.isUnreplicated || own.isStandby) this.#leave(own);
    client.release(own.isUnreplicated || own.isStandby);
    // Rule: synchronous replication. A commit whose wait for standbys was canceled is answered like any other.
    if (own.isUnreplicated) throw postgresError(new Unreplicated("A commit has not waited for its standbys"));
    return rows;
  }

  /** Ends what a connection does, for a call that has ended, and puts it back if that is sure to be over. */
  async #free(client: pg.PoolClient & PostgresClient, work: Promise<unknown>): Promise<void> {
    const answered = work.then(
      () => "answered" as const,
      (error) => (wasCanceled(error) ? ("canceled" as const) : ("answered" as const)),
    );
    const late = sleep(CANCEL_MS, "silent" as const, { ref: false });
    const isTaken = await sendCancelRequest(client, CANCEL_MS);
    const outcome = await Promise.race([answered, late]);
    // A commit whose wait for standbys was canceled is answered with a warning.
    if (outcome === "silent" || client.isUnreplicated) this.#leave(client);
    // A request that has not been taken, or has not ended this statement, might end the next one.
    client.release(!(isTaken && outcome === "canceled"));
  }

  #repeat<T>(
    call: Call | undefined,
    mayRepeat: (error: unknown) => boolean,
    attempt: (isRepeat: boolean) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs } = this.#options;
    return repeat(attempt, { call, timeoutMs, mayRepeat, wasRefused, signal: this.#closed.signal });
  }

  /** Another version of the program has other names, also on a connection of a pooler that both share. */
  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `sp_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
      this.#names.set(text, name);
    }
    return name;
  }
}
