import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { schemaScript } from "../../src/storage/postgres/prepare-schema.js";
import { ATTACHMENT_TABLES } from "../../src/storage/postgres/schema.js";
import { poll } from "../support/poll.js";
import { freshDatabaseUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const server = await startOwnPostgresServer({
  fast: true,
  settings: { autovacuum: "off", max_prepared_transactions: "2" },
});
afterAll(() => server?.stop());

/** The last ones are in the bytes, the name, the media type and the id of an attachment. */
const SECRETS = ["hunter1", "hunter2", "hunter3", "hunter4", "hunter5", "hunter6", "hunter7"];
const SECRET = /hunter\d/;
const TABLES = ["messages", ...ATTACHMENT_TABLES].map((table) => `session_pool.${table}`);
const MESSAGES = "session_pool.messages";

let url: string;
let database: PostgresLogDatabase;
let provider: LogHistoryProvider;

/** Stores messages in several sessions, has the planner take samples of them, and erases those with secrets. */
async function eraseSecrets(): Promise<void> {
  for (const sessionId of ["s", "t"]) {
    await provider.createSession({ sessionId });
    for (let i = 0; i < 30; i++) await provider.logMessages(sessionId, [says(`m${i}`, `harmless ${i} ${filler(i)}`)]);
  }
  await provider.logMessages("s", [calls("short", "hunter1"), says("long", `hunter2 ${filler(20_000)}`)]);
  await provider.startDraft("s", { id: "draft", role: "assistant", parts: [] });
  await provider.extendDraft("s", "draft", 1, [{ kind: "append_text", partId: "p", text: "hunter3" }]);
  await provider.finishDraft("s", "draft", { version: 2 });
  for (const attachmentId of ["hunter7", "kept"]) await upload("s", attachmentId);
  await provider.logMessages("s", [naming("naming", "hunter7"), naming("other", "kept")]);
  await provider.forkConversation("s", "fork", { as: "fork" });
  await query(url, `ANALYZE ${TABLES.join(", ")}`);
  for (const id of ["short", "long", "draft", "naming"]) await provider.eraseMessage("s", id);
  for (const table of TABLES) {
    const rows = await query(url, `SELECT t.* FROM ${table} AS t WHERE NOT t::text LIKE '%kept%'`);
    expect(JSON.stringify(rows), table).not.toMatch(SECRET);
  }
}

/** Uploads bytes whose middle is a secret, but for the attachment `kept`, which is erased by no message. */
async function upload(sessionId: string, attachmentId: string): Promise<void> {
  const isSecret = attachmentId !== "kept";
  const [bytes, name, type] = isSecret ? ["hunter4", "hunter5.txt", "text/hunter6"] : ["kept", "kept.txt", "text/kept"];
  const chunk = Buffer.from(`${filler(200_000)} ${bytes} ${filler(200_000)}`);
  await provider.uploadAttachment(sessionId, { attachmentId, name, mediaType: type }, Readable.from([chunk]));
}

function naming(id: string, attachmentId: string) {
  const attachment = { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
  return { id, role: "user", parts: [{ id: "", type: "file", text: "", attachment }] };
}

function says(id: string, text: string) {
  return { id, role: "user", parts: [{ id: "p", type: "text", text }] };
}

/** A message with the result of a tool, whose words are in the index of everything. */
function calls(id: string, text: string) {
  return { id, role: "user", parts: [{ id: "p", type: "tool_result", text: "", data: { content: text } }] };
}

/** A text that is not compressed, so that what is around it in a file can be found. */
function filler(bytes: number): string {
  return randomBytes(Math.ceil(bytes / 2)).toString("base64");
}

/** The tables and indexes of the database whose files hold a secret, once everything is written to them. */
async function holdersOfSecrets(): Promise<readonly string[]> {
  await query(url, "CHECKPOINT");
  const [row] = await query(url, "SELECT oid FROM pg_database WHERE datname = current_database()");
  const folder = join(server!.process.folder, "base", String(row?.oid));
  const names = readdirSync(folder).filter((name) => {
    const bytes = readFileSync(join(folder, name));
    return SECRETS.some((secret) => bytes.includes(secret));
  });
  const nodes = names.map((name) => Number(name.split(/[._]/)[0]));
  const found = await query(
    url,
    `SELECT DISTINCT coalesce(pg_filenode_relation(0, n)::regclass::text, n::text) AS name
      FROM unnest('{${nodes}}'::oid[]) AS n ORDER BY 1`,
  );
  return found.map(({ name }) => name as string);
}

/** The tables of which row versions, also of what is kept out of line, hold a secret, seen by anybody or not. */
async function tablesWithSecrets(): Promise<readonly unknown[]> {
  const found = await query(
    url,
    "CREATE EXTENSION IF NOT EXISTS pageinspect",
    `SELECT DISTINCT 'session_pool.' || c.relname AS name
      FROM unnest('{${TABLES}}'::regclass[]) AS named(oid) JOIN pg_class AS c ON c.oid = named.oid,
        unnest(ARRAY[c.oid, nullif(c.reltoastrelid, 0)]) AS t(oid),
        generate_series(0, pg_relation_size(t.oid) / 8192 - 1) AS page,
        heap_page_items(get_raw_page(t.oid::regclass::text, page::int)) AS version
      WHERE encode(version.t_data, 'escape') ~ 'hunter[1-7]'`,
  );
  return found.map(({ name }) => name);
}

async function downloaded(sessionId: string, attachmentId: string): Promise<string> {
  const { pieces } = await provider.getAttachment(sessionId, attachmentId, {});
  let text = "";
  for await (const piece of pieces) text += Buffer.from(piece).toString();
  return text;
}

/** A connection of its own, which the test's end closes. */
async function connected(): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

describe.skipIf(!server)("after an erasure in PostgreSQL", () => {
  beforeEach(async () => {
    url = await freshDatabaseUrl(server!);
    database = await PostgresLogDatabase.connect(url, { search: "all" });
    onTestFinished(() => database.close());
    provider = new LogHistoryProvider(database.namespace("default"), { search: "all" });
    await eraseSecrets();
  });

  it("old versions of rows stay until a vacuum clears them away", async () => {
    expect(new Set(await tablesWithSecrets())).toEqual(new Set(TABLES));
    await database.vacuum({ full: false });
    expect(await tablesWithSecrets()).toEqual([]);
  });

  it("a full vacuum leaves nothing in the files of tables and indexes", async () => {
    // A page that was full has been cleared of old versions already, so which files hold them varies.
    expect(await holdersOfSecrets()).not.toEqual([]);
    await database.vacuum({ full: true });
    expect(await holdersOfSecrets()).toEqual([]);
    expect(await provider.getMessageCount("s")).toBe(35);
    expect(await downloaded("fork", "kept")).toContain(" kept ");
    await expect(downloaded("s", "hunter7")).rejects.toMatchObject({ code: "not_found" });
    expect(await provider.getMessage("fork", "short")).toMatchObject({ parts: [{ type: "erased" }] });
  });

  it("a vacuum waits for a reader, whatever the limits of the role, and tells how far it is", async () => {
    await query(url, "ALTER ROLE CURRENT_USER SET statement_timeout = '1s'");
    onTestFinished(async () => void (await query(url, "ALTER ROLE CURRENT_USER RESET statement_timeout")));
    const reader = await connected();
    await reader.query(`BEGIN; DECLARE held CURSOR FOR SELECT * FROM ${MESSAGES}; FETCH 1 FROM held`);
    let pages = 0;
    const vacuuming = database.vacuum({
      full: false,
      onProgress: (_done, of) => {
        pages = of;
      },
    });
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'VACUUM%' AND state = 'active'
      AND clock_timestamp() - query_start > interval '1.5 s'`;
    await poll(async () => (await query(url, waiting)).length === 1, "the vacuum waits for longer than the limit");
    await poll(() => pages > 0, "it tells how many pages there are");
    await reader.query("COMMIT");
    await vacuuming;
    expect(await tablesWithSecrets()).toEqual([]);
  });

  it("a vacuum is refused while transactions may still see old versions, and names them", async () => {
    const other = await connected();
    await other.query("BEGIN; CREATE TABLE prepared (); PREPARE TRANSACTION 'left behind'");
    const reader = await connected();
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    await provider.eraseMessage("t", "m1");
    await expect(database.vacuum({ full: true })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /^Old versions of rows stay, because something may still see them: process \d+ of role session_pool \(idle in transaction since [-\d]+ [:\d]+\), prepared transaction left behind$/,
      ),
    });
    await other.query("ROLLBACK PREPARED 'left behind'");
    await reader.query("COMMIT");
    await database.vacuum({ full: false });
  });

  it("a role that does not own the messages may not vacuum them", async () => {
    await query(url, 'CREATE ROLE "user" LOGIN', schemaScript("ours", "user"));
    const as = new URL(url);
    as.username = "user";
    as.searchParams.set("schema", "ours");
    const ours = await PostgresLogDatabase.connect(as.href);
    onTestFinished(() => ours.close());
    const refused = {
      code: "failed_precondition",
      message: expect.stringMatching(/^Only the owner of "ours"\.messages/),
    };
    for (const full of [false, true]) await expect(ours.vacuum({ full })).rejects.toMatchObject(refused);
  });

  it("partitions are vacuumed, too", async () => {
    const sql = schemaScript("divided", "session_pool").replace(
      /\) WITH \(autovacuum_vacuum_insert_scale_factor = 0\.05\);/,
      ") PARTITION BY HASH (uid);",
    );
    const ofAll = /^-- (CREATE INDEX .*)$/m.exec(sql)?.[1] as string;
    const parts = [0, 1].map(
      (i) =>
        `CREATE TABLE divided.messages_${i} PARTITION OF divided.messages FOR VALUES WITH (MODULUS 2, REMAINDER ${i})`,
    );
    await query(url, sql, ...parts);
    const divided = new URL(url);
    divided.searchParams.set("schema", "divided");
    await database.close();
    const connect = () => PostgresLogDatabase.connect(divided.href, { search: "all" });
    const { code, message } = await connect().then(String, (error) => error);
    expect([code, message]).toEqual([
      "failed_precondition",
      expect.stringContaining(`is divided, while others write; run ${ofAll.slice(0, -1)}`),
    ]);
    await query(url, ofAll);
    database = await connect();
    provider = new LogHistoryProvider(database.namespace("default"), { search: "all" });
    await provider.createSession({ sessionId: "s" });
    await provider.logMessages("s", [says("short", "hunter1")]);
    await provider.eraseMessage("s", "short");
    const frozen = `SELECT bool_and(age(relfrozenxid) < 10) AS all FROM pg_class WHERE relname IN ('messages_0', 'messages_1')`;
    await query(url, ...Array.from({ length: 20 }, () => "SELECT pg_current_xact_id()"));
    expect(await query(url, frozen)).toEqual([{ all: false }]);
    await database.vacuum({ full: true });
    expect(await query(url, frozen)).toEqual([{ all: true }]);
  });
});
