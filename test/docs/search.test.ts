import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { MongoClient } from "mongodb";
import { afterAll, describe, expect, it } from "vitest";
import { parseSearch, type SearchOption } from "../../src/domain/search.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { documentedProgram } from "../clients/documented.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import * as postgresServer from "../support/postgres-server.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-search-"));
const mongo = await startMongoServer();
const postgres = await postgresServer.startPostgresServer({ fast: true });
afterAll(async () => {
  await postgres?.stop();
  await mongo?.stop();
  rmSync(folder, { recursive: true });
});

/** Stores a message, with an index of words or without, and says whether the words of all messages are found. */
async function writeTo(url: string, id: string, search: SearchOption): Promise<number | "off"> {
  const database = await open(url, search);
  try {
    const provider = new LogHistoryProvider(database.namespace("default"), { search });
    const message = { id, role: "user", parts: [{ id: "", type: "text", text: "azaleas bloom" }] };
    await provider.createSession({ sessionId: "s" });
    await provider.logMessages("s", [message]);
    if (!search) return "off";
    await database.searchBuilt();
    return (await provider.searchMessages({ terms: parseSearch("azaleas"), limit: 10 })).hits.length;
  } finally {
    await database.close();
  }
}

function open(url: string, search: SearchOption) {
  if (url.startsWith("sqlite:")) return SqliteLogDatabase.open(url.slice("sqlite:".length), { search });
  return url.startsWith("postgres:")
    ? PostgresLogDatabase.connect(url, { search })
    : MongoLogDatabase.connect(url, { search });
}

const freshUrl = () => postgresServer.freshDatabaseUrl(postgres!);

describe("the page's way to remove an index of words", () => {
  it("leaves a SQLite file without any of it, and one can be added again", async () => {
    const path = join(folder, "pool.db");
    const url = `sqlite:${path}`;
    expect(await writeTo(url, "m1", true)).toBe(1);
    const db = new Database(path);
    db.exec(documentedProgram("sql", "DROP TABLE search_texts"));
    const left = db.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'search%'").all([]);
    db.close();
    expect(left).toEqual([]);
    await writeTo(url, "m2", false);
    expect(await writeTo(url, "m3", true)).toBe(3);
  });

  it.skipIf(postgres === null)("leaves a PostgreSQL schema without any of it, and one can be added again", async () => {
    const url = await freshUrl();
    expect(await writeTo(url, "m1", true)).toBe(1);
    const removal = documentedProgram("sql", "DROP INDEX session_pool.messages_by_words");
    await postgresServer.query(url, ...removal.trim().split("\n"));
    const left = "SELECT id FROM session_pool.messages WHERE words IS NOT NULL";
    expect(await postgresServer.query(url, left)).toEqual([]);
    await writeTo(url, "m2", false);
    expect(await writeTo(url, "m3", true)).toBe(3);
  });

  it.skipIf(postgres === null)("is beside SQL that makes the indexes of PostgreSQL as the program does", async () => {
    const indexes = async (url: string) =>
      postgresServer.query(
        url,
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'session_pool' ORDER BY 1",
      );
    const statementsOf = (program: string) => program.trim().split(/(?<=;)\n/);
    const ofTexts = statementsOf(documentedProgram("sql", "CREATE INDEX CONCURRENTLY messages_by_words"));
    const insteadOfTheLast = statementsOf(documentedProgram("sql", "CREATE INDEX CONCURRENTLY messages_lacking_all"));
    const making = [
      [true, ofTexts],
      ["all", [...ofTexts.slice(0, -1), ...insteadOfTheLast]],
    ] as const;
    for (const [search, statements] of making) {
      const [own, byHand] = [await freshUrl(), await freshUrl()];
      await (await open(own, search)).close();
      await (await open(byHand, false)).close();
      await postgresServer.query(byHand, ...statements);
      expect(await indexes(byHand)).toEqual(await indexes(own));
      expect(await writeTo(byHand, "m1", search)).toBe(1);
    }
  });

  it.skipIf(mongo === null)("leaves a MongoDB database without any of it, and one can be added again", async () => {
    const url = freshDatabaseUrl(mongo!);
    expect(await writeTo(url, "m1", true)).toBe(1);
    const client = await MongoClient.connect(url);
    const messages = client.db().collection("messages");
    const removal = documentedProgram("js", "dropIndex").trim().replaceAll("\n", ",");
    await new Function("db", `return Promise.all([${removal}])`)({
      messages,
      schema: client.db().collection("schema"),
    });
    expect(await messages.indexExists("terms_time")).toBe(false);
    expect(await messages.countDocuments({ terms: { $exists: true } })).toBe(0);
    await client.close();
    await writeTo(url, "m2", false);
    expect(await writeTo(url, "m3", true)).toBe(3);
  });
});
