import pg from "pg";
import { growMessages, growSessions } from "../growth/grow.js";
import { PAGE } from "../samples.js";
import { alternate, duringBy } from "../slices.js";
import { BODY, type Engine, type EngineOptions, type EngineRow, fill, MESSAGE, openEngine } from "./subjects.js";

/** As many connections as the store has by default. */
const CONNECTIONS = 16;
const INSERT = `INSERT INTO session_pool.messages
    (uid, log, seq, id, timestamp, write, size, role, session_id, origin, body, words)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, NULL)`;

/** What a caller does again and again. Resolves to how often it was done. */
export type Work = (caller: number) => Promise<number>;

/** A kind of work, which each of some callers does at the same time. */
export interface Task {
  readonly callers: number;
  /** Makes what the work needs. Both sides of a comparison may share a database. */
  prepare(engine: Engine, side: string): Promise<Work>;
}

/** Each caller appends to a session of its own. */
export function appends(callers: number): Task {
  return {
    callers,
    async prepare(engine, side) {
      for (let i = 0; i < callers; i++) await fill(engine, `${side}-${i}`, 0);
      return async (caller) => {
        await engine.pool.sessions.appendMessages(`${side}-${caller}`, [MESSAGE]);
        return 1;
      };
    },
  };
}

/** Reads the last 100 messages of a session, or all if there are fewer. */
export function lastPages(messages: number, callers = 1): Task {
  return {
    callers,
    async prepare(engine, side) {
      const { sessionId } = await growMessages(engine, messages, MESSAGE, side);
      return async () => {
        const page = await engine.pool.sessions.listMessages(sessionId, { limit: PAGE, newestFirst: true });
        if (page.messages.length !== Math.min(PAGE, messages)) throw new Error(`A page of ${page.messages.length}`);
        return 1;
      };
    },
  };
}

export function forks(messages: number): Task {
  return {
    callers: 1,
    async prepare(engine, side) {
      const { sessionId } = await growMessages(engine, messages, MESSAGE, side);
      return async () => {
        await engine.pool.sessions.forkSession(sessionId);
        return 1;
      };
    },
  };
}

export function lists(sessions: number): Task {
  return {
    callers: 1,
    async prepare(engine) {
      await growSessions(engine, sessions);
      return async () => {
        await engine.pool.sessions.listSessions({ limit: PAGE });
        return 1;
      };
    },
  };
}

/** Inserts the rows of appends and nothing else, through a pool of the driver that prepares the statement. */
export function insertsInto(pool: pg.Pool, owners = ""): Work {
  const ends = new Map<number, number>();
  return async (caller) => {
    const seq = (ends.get(caller) ?? 0) + 1;
    ends.set(caller, seq);
    const id = String(seq).padStart(26, "0");
    const size = BODY.length + id.length;
    const values = [`raw${owners}${caller}`, ".1", seq, id, Date.now() * 1000, 1, size, "user", "bench", null, BODY];
    await pool.query({ name: "insert", text: INSERT, values });
    return 1;
  };
}

const againstInserts =
  (task: Task): EngineRow =>
  async (options) => {
    const engine = await openEngine(postgresOf(options));
    const pool = new pg.Pool({ connectionString: postgresOf(options), max: CONNECTIONS });
    try {
      return await compare(options, task.callers, insertsInto(pool), await task.prepare(engine, "ours"));
    } finally {
      await pool.end();
      await engine.close();
    }
  };

const againstSqlite =
  (task: Task): EngineRow =>
  (options) =>
    inBoth(options, `sqlite:${options.folder}/postgres.db`, postgresOf(options), task);

/** Prepared statements against the default, which sends them anew each time. */
const preparedAgainstNot =
  (task: Task): EngineRow =>
  (options) => {
    const url = new URL(postgresOf(options));
    url.searchParams.set("prepare", "true");
    return inBoth(options, postgresOf(options), url.href, task);
  };

/** The same task with much against with little. */
const flat =
  (large: Task, small: Task): EngineRow =>
  async (options) => {
    const engine = await openEngine(postgresOf(options));
    try {
      const baseline = await small.prepare(engine, "small");
      return await compare(options, large.callers, baseline, await large.prepare(engine, "large"));
    } finally {
      await engine.close();
    }
  };

async function inBoth(options: EngineOptions, baselineUrl: string, ourUrl: string, task: Task) {
  const baseline = await openEngine(baselineUrl);
  const ours = await openEngine(ourUrl);
  try {
    const work = await task.prepare(baseline, "baseline");
    return await compare(options, task.callers, work, await task.prepare(ours, "ours"));
  } finally {
    await baseline.close();
    await ours.close();
  }
}

function compare({ slices, sliceMs, onProgress }: EngineOptions, callers: number, baseline: Work, ours: Work) {
  const [one, other] = [duringBy(callers, sliceMs, baseline), duringBy(callers, sliceMs, ours)];
  return alternate(one, other, { slices, by: "clock", onSlice: onProgress });
}

function postgresOf({ postgresUrl }: EngineOptions): string {
  if (postgresUrl === undefined) throw new Error("There is no PostgreSQL server");
  return postgresUrl;
}

export const POSTGRES_ROWS = {
  appendOnPostgres: againstInserts(appends(1)),
  appendOnPostgresBy16: againstInserts(appends(16)),
  appendOnPostgresBy64: againstInserts(appends(64)),
  appendOnBoth: againstSqlite(appends(1)),
  appendOnBothBy16: againstSqlite(appends(16)),
  appendOnBothBy64: againstSqlite(appends(64)),
  appendPrepared: preparedAgainstNot(appends(1)),
  appendPreparedBy16: preparedAgainstNot(appends(16)),
  lastPageOnBoth: againstSqlite(lastPages(100_000)),
  lastPageOnBothBy8: againstSqlite(lastPages(100_000, 8)),
  lastPageOnPostgres: flat(lastPages(1_000_000), lastPages(1000)),
  lastPagePrepared: preparedAgainstNot(lastPages(10_000)),
  forkOnPostgres: flat(forks(1_000_000), forks(10)),
  forkOnBoth: againstSqlite(forks(100_000)),
  listOnBoth: againstSqlite(lists(1000)),
} satisfies Record<string, EngineRow>;
