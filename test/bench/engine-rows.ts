import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { startPostgresServer } from "../support/postgres-server.js";
import type { EngineRequest } from "./engine/worker.js";
import { SERVER_CORE, startPeer } from "./processes.js";
import type { Measured, Row, RowContext } from "./row.js";
import type { Comparison } from "./slices.js";

/** Prepared by name, on a pool of as many connections. */
const INSERTS = "bare inserts through the driver";

type EngineRow = EngineRequest["row"];

export const ENGINE_ROWS: readonly Row[] = [
  {
    id: "sqlite-append",
    what: "engine append on SQLite, one caller",
    against: "a prepared insert per commit",
    target: { atLeast: 0.85 },
    run: (context) => measure("appendByOne", "messages/s", context),
  },
  {
    id: "sqlite-append-20-1",
    what: "engine append on SQLite, 20 callers on one session",
    against: "20 rows per commit by hand",
    target: { atLeast: 0.85 },
    run: (context) => measure("appendByManyToOne", "messages/s", context),
  },
  {
    id: "sqlite-append-20-20",
    what: "engine append on SQLite, 20 callers on 20 sessions",
    against: "20 rows per commit by hand",
    target: { atLeast: 0.85 },
    run: (context) => measure("appendByManyToMany", "messages/s", context),
  },
  {
    id: "search-append",
    what: "engine append on SQLite with --search, one caller",
    against: "without --search",
    target: { atLeast: 0.5 },
    run: (context) => measure("appendSearched", "messages/s", context),
  },
  {
    id: "search-append-20",
    what: "engine append on SQLite with --search, 20 callers on 20 sessions",
    against: "without --search",
    target: { atLeast: 0.2 },
    run: (context) => measure("appendSearchedByMany", "messages/s", context),
  },
  {
    id: "quota-append",
    what: "engine append on SQLite with quotas of sessions and bytes, one caller",
    against: "without quotas",
    target: { atLeast: 0.97 },
    run: (context) => measure("appendCounted", "messages/s", context),
  },
  {
    id: "quota-append-memory",
    what: "engine append in memory with quotas of sessions and bytes, one caller",
    against: "without quotas",
    target: { atLeast: 0.97 },
    run: (context) => measure("appendCountedInMemory", "messages/s", context),
  },
  {
    id: "quota-append-postgres",
    what: "engine append on PostgreSQL with quotas of sessions and bytes, one caller",
    against: "without quotas",
    target: { atLeast: 0.97 },
    run: (context) => measureOnPostgres("appendCountedOnPostgres", "messages/s", context),
  },
  {
    id: "mongo-append",
    what: "engine append on MongoDB, one caller",
    against: "driver insertOne with the same write concern",
    target: { atLeast: 0.8 },
    run: (context) => measureOnMongo("appendOnMongo", "messages/s", context),
  },
  {
    id: "mongo-list",
    what: "engine list 100 anywhere in 10,000 on MongoDB",
    against: "the driver's find of the same documents",
    target: { atLeast: 0.8 },
    run: (context) => measureOnMongo("listOnMongo", "pages/s", context),
  },
  postgresRow("postgres-append", "append, one caller", INSERTS, 0.85, "appendOnPostgres"),
  postgresRow("postgres-append-16", "append, 16 callers on 16 sessions", INSERTS, 0.5, "appendOnPostgresBy16"),
  postgresRow("postgres-append-64", "append, 64 callers on 64 sessions", INSERTS, 0.5, "appendOnPostgresBy64"),
  postgresRow("postgres-sqlite-append", "append, one caller", "SQLite", 0.5, "appendOnBoth"),
  postgresRow("postgres-sqlite-append-16", "append, 16 callers on 16 sessions", "SQLite", 0.5, "appendOnBothBy16"),
  postgresRow("postgres-sqlite-append-64", "append, 64 callers on 64 sessions", "SQLite", 0.5, "appendOnBothBy64"),
  postgresRow("postgres-prepared", "append, one caller, prepare=true", "without", 1, "appendPrepared"),
  postgresRow("postgres-prepared-16", "append, 16 callers, prepare=true", "without", 1, "appendPreparedBy16"),
  postgresRow("postgres-prepared-page", "last 100 of 10,000, prepare=true", "without", 1, "lastPagePrepared"),
  postgresRow("postgres-page", "last 100 of 1,000,000", "of 1,000", 0.8, "lastPageOnPostgres"),
  postgresRow("postgres-sqlite-page", "last 100 of 100,000", "SQLite", 0.2, "lastPageOnBoth"),
  postgresRow("postgres-sqlite-page-8", "last 100 of 100,000, 8 readers", "SQLite", 0.2, "lastPageOnBothBy8"),
  postgresRow("postgres-fork", "fork at 1,000,000 messages", "at 10", 0.8, "forkOnPostgres"),
  postgresRow("postgres-sqlite-fork", "fork at 100,000 messages", "SQLite", 0.5, "forkOnBoth"),
  postgresRow("postgres-upload", "upload of 64 MiB", "prepared inserts of the pieces", 0.6, "uploadToPostgres"),
  postgresRow("postgres-download", "download of 64 MiB", "prepared reads of the pieces", 0.6, "downloadFromPostgres"),
  postgresRow("postgres-sqlite-list", "list of 100 of 1,000 sessions", "SQLite", 0.5, "listOnBoth"),
  {
    id: "sqlite-list",
    what: "engine list 100 anywhere in 100,000 on SQLite",
    against: "the prepared range read, row by row",
    target: { atLeast: 2 },
    run: (context) => measure("listAnywhere", "pages/s", context),
  },
  {
    id: "sqlite-upload",
    what: "upload of 64 MiB to SQLite",
    against: "the same pieces by hand, a commit each",
    target: { atLeast: 0.6 },
    run: (context) => measure("uploadToSqlite", "MiB/s", context),
  },
  {
    id: "sqlite-download",
    what: "download of 64 MiB from SQLite",
    against: "the prepared read of each piece",
    target: { atLeast: 0.6 },
    run: (context) => measure("downloadFromSqlite", "MiB/s", context),
  },
  {
    id: "mongo-upload",
    what: "upload of 64 MiB to MongoDB",
    against: "driver insertOne of each piece with the same write concern",
    target: { atLeast: 0.6 },
    run: (context) => measureOnMongo("uploadToMongo", "MiB/s", context),
  },
  {
    id: "mongo-download",
    what: "download of 64 MiB from MongoDB",
    against: "the driver's find of each piece",
    target: { atLeast: 0.6 },
    run: (context) => measureOnMongo("downloadFromMongo", "MiB/s", context),
  },
  {
    id: "list-end",
    what: "list 100 at the end of 100,000",
    against: "at the start",
    target: { atLeast: 0.8 },
    run: (context) => measure("listAtEnd", "pages/s", context),
  },
  {
    id: "fork",
    what: "fork at 100,000 messages",
    against: "at 10",
    target: { atLeast: 0.8 },
    run: (context) => measure("forkFlat", "forks/s", context),
  },
  {
    id: "truncate",
    what: "truncate at 100,000 messages",
    against: "at 10",
    target: { atLeast: 0.8 },
    run: (context) => measure("truncateFlat", "truncates/s", context),
  },
  {
    id: "revert",
    what: "revert at 100,000 messages",
    against: "at 10",
    target: { atLeast: 0.8 },
    run: (context) => measure("revertFlat", "reverts/s", context),
  },
  {
    id: "update",
    what: "update of one message at 100,000 messages",
    against: "at 10",
    target: { atLeast: 0.8 },
    run: (context) => measure("updateFlat", "updates/s", context),
  },
  {
    id: "delete",
    what: "delete of one message at 100,000 messages",
    against: "at 10",
    target: { atLeast: 0.8 },
    run: (context) => measure("removeFlat", "deletes/s", context),
  },
  {
    id: "skew",
    what: "two writers on one session, stamping with clocks 50 ms apart, 10,000 messages",
    against: "unstamped",
    target: { atLeast: 0.15 },
    run: (context) => measure("skewedWriters", "messages/s", context),
  },
];

function postgresRow(id: string, what: string, against: string, atLeast: number, row: EngineRow): Row {
  const run = (context: RowContext) => measureOnPostgres(row, "operations/s", context);
  return { id, what: `${what}, on PostgreSQL`, against, target: { atLeast }, run };
}

/** Measures a row in a process of its own, on one core. */
async function measure(row: EngineRow, unit: string, context: RowContext, note?: string): Promise<Measured> {
  const { slices, sliceMs, folder, mongoUrl, postgresUrl, onProgress } = context;
  const { peer } = await startPeer<EngineRequest, string>("worker", SERVER_CORE, (done) => onProgress(done, slices));
  try {
    const comparison = await peer.ask<Comparison>({ row, slices, sliceMs, folder, mongoUrl, postgresUrl });
    return { kind: "ratio", comparison, unit, ...(note && { note }) };
  } finally {
    await peer.stop();
  }
}

async function measureOnMongo(row: EngineRow, unit: string, context: RowContext): Promise<Measured> {
  if (context.mongoUrl !== undefined) return measure(row, unit, context);
  const server = await startMongoServer();
  if (server === null) return { kind: "skipped", why: "no server that speaks MongoDB's protocol" };
  try {
    const note = `on ${server.kind}`;
    return await measure(row, unit, { ...context, mongoUrl: freshDatabaseUrl(server) }, note);
  } finally {
    await server.stop();
  }
}

async function measureOnPostgres(row: EngineRow, unit: string, context: RowContext): Promise<Measured> {
  if (context.postgresUrl !== undefined) return measure(row, unit, context);
  const server = await startPostgresServer();
  if (server === null) return { kind: "skipped", why: "no PostgreSQL server" };
  try {
    return await measure(row, unit, { ...context, postgresUrl: server.url });
  } finally {
    await server.stop();
  }
}
