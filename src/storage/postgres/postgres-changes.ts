import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { endsBy } from "../../domain/call.js";
import { guard } from "./guarded-client.js";
import type { PostgresPool } from "./postgres-pool.js";
import { quoted } from "./postgres-url.js";

type Listener = (uid: string) => void;

/** Receives what an operator should know; `error` is the cause of a failure. */
export type Notify = (text: string, error?: unknown) => void;

/** How long uids are gathered before one notification tells of all of them. */
const GATHER_MS = 10;
/** PostgreSQL takes less than 8,000 bytes. */
const MOST_BYTES = 7900;
/** How long a notification to oneself may take. */
const ECHO_MS = 2000;
const CHECK_MS = 30_000;
const FIRST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 30_000;
const CONNECT_MS = 5000;
const UNLISTEN_TRIES = 50;

export interface ChangesOptions {
  /** The channel, which is the name of the schema. */
  readonly channel: string;
  /** Where to listen; null not to. */
  readonly listenUrl: string | null;
  /** How often it is checked that notifications arrive; every 30 s when absent. */
  readonly checkMs?: number;
  /** Called once when listening fails, and again only after it has worked in between. */
  readonly onFailure: Notify;
}

/**
 * Tells other processes which sessions this one has written to, and hears it from them. A notification follows its
 * write in a transaction of its own, many at a time, because PostgreSQL lets only one transaction with notifications
 * commit at a time. One that is lost delays a follower until it looks by itself.
 */
export class PostgresChanges {
  readonly #pool: PostgresPool;
  readonly #options: ChangesOptions;
  /** Begins the notifications of this process. */
  readonly #own = randomBytes(6).toString("hex");
  readonly #listeners = new Set<Listener>();
  readonly #closed = new AbortController();
  #pending = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  #listening: Promise<void> | undefined;
  #onEcho: () => void = () => {};
  #hasFailed = false;

  constructor(pool: PostgresPool, options: ChangesOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  /**
   * Begins to listen. Resolves to whether notifications arrive: behind a pooler that hands out connections by
   * transaction, LISTEN succeeds and hears nothing.
   */
  async start(): Promise<boolean> {
    const { listenUrl } = this.#options;
    if (listenUrl === null) return false;
    try {
      const client = await this.#listen(listenUrl);
      if (await this.#hears()) {
        this.#listening = this.#stayListening(client, listenUrl);
        return true;
      }
      await this.#unlisten(client);
      await end(client);
    } catch (error) {
      this.#fail("Listening for what other processes write has failed", error);
    }
    return false;
  }

  /** Tells other processes, some milliseconds later, that this one has written to a session. */
  tell(uid: string): void {
    this.#pending.add(uid);
    this.#timer ??= setTimeout(() => {
      this.#sending = this.#sending.then(() => this.#send());
    }, GATHER_MS).unref();
  }

  async subscribe(listener: Listener): Promise<() => Promise<void>> {
    const own: Listener = (uid) => listener(uid);
    this.#listeners.add(own);
    return async () => void this.#listeners.delete(own);
  }

  /** Sends what is pending, and stops listening. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#sending = this.#sending.then(() => this.#send());
    await this.#sending;
    await this.#listening;
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const uids = [...this.#pending];
    if (uids.length === 0) return;
    this.#pending = new Set();
    await this.#notify(payloadsOf(this.#own, uids));
  }

  async #notify(payloads: readonly string[]): Promise<void> {
    const text = "SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p";
    try {
      await this.#pool.run(text, [this.#options.channel, payloads], undefined);
    } catch (error) {
      this.#fail("Telling other processes of changes has failed; their watchers poll until it works", error);
    }
  }

  async #listen(url: string): Promise<pg.Client> {
    const client = new pg.Client({
      application_name: "session-pool listener",
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
      keepAlive: true,
    });
    guard(client);
    // The connection's end is what tells that it has failed.
    client.on("error", () => {});
    client.on("notification", ({ payload = "" }) => this.#hear(payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${quoted(this.#options.channel)}`);
    } catch (error) {
      await end(client);
      throw error;
    }
    return client;
  }

  /** Looks for the connection that listens: a pooler hands out one after the other, and would keep it listening. */
  async #unlisten(client: pg.Client): Promise<void> {
    const { channel } = this.#options;
    const listens = `SELECT 1 FROM pg_listening_channels() AS c WHERE c = ${pg.escapeLiteral(channel)}`;
    for (let tries = 0; tries < UNLISTEN_TRIES; tries++) {
      const results: unknown = await client.query(`${listens}; UNLISTEN ${quoted(channel)}`);
      if ((results as readonly pg.QueryResult[])[0]?.rowCount === 1) return;
    }
  }

  #hear(payload: string): void {
    const [from, ...uids] = payload.split(" ");
    if (from === this.#own) this.#onEcho();
    else for (const uid of uids) this.#tellListeners(uid);
  }

  /** Whoever may connect to the database may send anything on any channel. */
  #tellListeners(encoded: string): void {
    let uid: string;
    try {
      uid = decodeURIComponent(encoded);
    } catch {
      return;
    }
    for (const listener of this.#listeners) listener(uid);
  }

  /** Whether a notification that this process sends comes back to it. */
  async #hears(): Promise<boolean> {
    const echo = new Promise<void>((resolve) => {
      this.#onEcho = resolve;
    });
    const sending = this.#notify([this.#own]);
    const hears = await endsBy(Date.now() + ECHO_MS, echo);
    await sending;
    return hears;
  }

  /** Listens until this is closed, on one connection after the other. */
  async #stayListening(first: pg.Client, url: string): Promise<void> {
    const { signal } = this.#closed;
    let client: pg.Client | undefined = first;
    for (let failures = 0; !signal.aborted; ) {
      try {
        client ??= await this.#listen(url);
        await this.#untilSilent(client, () => {
          failures = 0;
          this.#hasFailed = false;
        });
        if (!signal.aborted) this.#fail("Notifications do not arrive; watchers poll until they do");
      } catch (error) {
        this.#fail("Listening for what other processes write has failed; watchers poll until it works", error);
      }
      if (client) await end(client);
      client = undefined;
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures++, MOST_PAUSE_MS);
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Resolves when the connection has ended, or notifications no longer arrive, or this is closed. */
  async #untilSilent(client: pg.Client, onHeard: () => void): Promise<void> {
    const { signal } = this.#closed;
    const ended = new AbortController();
    client.once("end", () => ended.abort());
    const over = AbortSignal.any([signal, ended.signal]);
    for (;;) {
      if (!(await this.#hears())) return;
      onHeard();
      await sleep(this.#options.checkMs ?? CHECK_MS, undefined, { signal: over, ref: false }).catch(() => {});
      if (over.aborted) return;
    }
  }

  #fail(text: string, error?: unknown): void {
    if (!this.#hasFailed && !this.#closed.signal.aborted) this.#options.onFailure(text, error);
    this.#hasFailed = true;
  }
}

function payloadsOf(own: string, uids: readonly string[]): string[] {
  const payloads: string[] = [];
  let payload = own;
  for (const uid of uids.map(encodeURIComponent)) {
    if (payload.length + uid.length + 1 > MOST_BYTES) {
      payloads.push(payload);
      payload = own;
    }
    payload += ` ${uid}`;
  }
  return [...payloads, payload];
}

/** A server that does not answer must not keep the process. */
async function end(client: pg.Client): Promise<void> {
  const { connection } = client as unknown as { readonly connection: { readonly stream: { destroy(): void } } };
  const ended = client.end().catch(() => {});
  if (!(await endsBy(Date.now() + 1000, ended))) connection.stream.destroy();
}
