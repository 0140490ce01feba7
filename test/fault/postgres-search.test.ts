import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { NewChatMessage } from "../../src/domain/chat-message.js";
import { parseSearch } from "../../src/domain/search.js";
import { MOST_WORDS } from "../../src/storage/history/indexed-words.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { PostgresLogDatabase, type PostgresOptions } from "../../src/storage/postgres/postgres-log-database.js";
import { quoted, readPostgresUrl } from "../../src/storage/postgres/postgres-url.js";
import { SEARCH_INDEXES } from "../../src/storage/postgres/search-schema.js";
import { Child } from "../support/child.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, query, startPostgresServer } from "../support/postgres-server.js";

const NAMES = Object.keys(SEARCH_INDEXES).sort();
const INDEXES = NAMES.filter((name) => name !== "messages_lacking_all");

const server = await startPostgresServer({ fast: true });
let url: string;
let messages: string;
let opened: PostgresLogDatabase[];

beforeEach(() => {
  if (!server) return;
  url = freshSchemaUrl(server);
  messages = `${quoted(readPostgresUrl(url).schema)}.messages`;
  opened = [];
});
afterEach(async () => {
  for (const database of opened) await database.close();
});
afterAll(() => server?.stop());

async function open(options: PostgresOptions = {}): Promise<PostgresLogDatabase> {
  const database = await PostgresLogDatabase.connect(`${url}&connections=4`, options);
  opened.push(database);
  return database;
}

function providerOf(database: PostgresLogDatabase, namespace = "default"): LogHistoryProvider {
  return new LogHistoryProvider(database.namespace(namespace), { search: true });
}

async function say(provider: LogHistoryProvider, sessionId: string, ...texts: readonly string[]): Promise<void> {
  const parts = (text: string) => [{ id: "", type: "text", text }];
  await provider.logMessages(
    sessionId,
    texts.map((text) => ({ id: text.slice(0, 40), role: "user", parts: parts(text) })),
  );
}

async function found(database: PostgresLogDatabase, q: string, namespace?: string): Promise<readonly string[]> {
  const page = await providerOf(database, namespace).searchMessages({ terms: parseSearch(q), limit: 1000 });
  return page.hits.map(({ messageId }) => messageId);
}

/** A message with nothing but a call of a tool. */
function calling(id: string): NewChatMessage {
  return { id, role: "assistant", parts: [{ id: "", type: "tool_use", text: "", data: { name: "look", input: id } }] };
}

/** As `found`, in all that can be searched. */
async function everything(database: PostgresLogDatabase, q: string): Promise<readonly string[]> {
  const provider = new LogHistoryProvider(database.namespace("default"), { search: "all" });
  return (await provider.searchMessages({ terms: parseSearch(q), limit: 9 })).hits.map(({ messageId }) => messageId);
}

/** Resolves to one column of one row. */
async function cell(sql: string): Promise<unknown> {
  return Object.values((await query(server!.url, sql))[0] ?? {})[0];
}

/** The indexes of search that can be used, and those that are half made. */
async function indexes(): Promise<readonly string[]> {
  const rows = await query(
    server!.url,
    `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
      WHERE i.indrelid = '${messages}'::regclass ORDER BY 1`,
  );
  return rows
    .map(({ name, valid }) => `${name}${valid ? "" : " (invalid)"}`)
    .filter((name) => NAMES.some((index) => name.startsWith(index)));
}

const withoutWords = () => cell(`SELECT count(*)::int FROM ${messages} WHERE words IS NULL AND id IS NOT NULL`);
const withSecrets = () => cell(`SELECT count(*)::int FROM ${messages} WHERE words::text LIKE '%secret%'`);

describe.skipIf(!server)("searching messages on PostgreSQL", () => {
  it("adds indexes and words only when searching is on", async () => {
    const plain = await open();
    await providerOf(plain).createSession({ sessionId: "s" });
    await say(providerOf(plain), "s", "word");
    expect(await withoutWords()).toBe(1);
    expect(await indexes()).toEqual([]);
    const refused = { code: "unimplemented" };
    await expect(found(plain, "word")).rejects.toMatchObject(refused);
    await expect(found(await open({ search: "existing" }), "word")).rejects.toMatchObject(refused);
    expect(await indexes()).toEqual([]);
    await open({ search: true });
    expect(await indexes()).toEqual(INDEXES);
    const existing = await open({ search: "existing" });
    await existing.searchBuilt();
    expect(await found(existing, "word")).toEqual(["word"]);
  });

  it("finds messages of before, and of processes that do not search, once they are indexed", async () => {
    const plain = await open();
    await providerOf(plain).createSession({ sessionId: "s" });
    await say(providerOf(plain), "s", ...Array.from({ length: 250 }, (_, i) => `word ${i}`));
    const notices: string[] = [];
    const searching = await open({ search: true, onNotice: (text) => notices.push(text) });
    const other = await open({ search: true });
    await Promise.all([searching.searchBuilt(), other.searchBuilt()]);
    expect(await found(searching, "word")).toHaveLength(250);
    expect(notices.at(-1)).toMatch(/^Earlier messages are indexed for search: \d+$/);
    await say(providerOf(plain), "s", "word later");
    expect(await found(searching, "later")).toEqual([]);
    expect(await searching.figures()).toMatchObject({ unindexed: 1 });
    expect(await plain.figures()).not.toHaveProperty("unindexed");
    await searching.searchBuilt();
    expect(await found(searching, "later")).toEqual(["word later"]);
    expect(await searching.figures()).toMatchObject({ unindexed: 0 });
  });

  it("never mixes namespaces, even when it indexes messages of before", async () => {
    const namespaces = ["a", "A", "a b", "a\u0000", "a'\\", "default"];
    const plain = await open();
    for (const namespace of namespaces) {
      await providerOf(plain, namespace).createSession({ sessionId: "s" });
      await say(providerOf(plain, namespace), "s", "word before");
    }
    const searching = await open({ search: true });
    await searching.searchBuilt();
    for (const namespace of namespaces) await say(providerOf(searching, namespace), "s", "word after");
    for (const namespace of namespaces)
      expect(await found(searching, "word", namespace)).toEqual(["word after", "word before"]);
    expect(await found(searching, "b word", "a")).toEqual([]);
    expect(await found(searching, "word", "nobody")).toEqual([]);
  });

  it("keeps no word of an erased message, whichever process erases it", async () => {
    const searching = await open({ search: true });
    const provider = providerOf(searching);
    await provider.createSession({ sessionId: "s" });
    await say(provider, "s", "secret one", "secret two");
    await providerOf(await open()).eraseMessage("s", "secret one");
    await provider.eraseMessage("s", "secret two");
    expect(await withSecrets()).toBe(0);
    expect(await found(searching, "secret")).toEqual([]);
  });

  it("is extended when everything is to be searched, and gets no narrower", async () => {
    const searching = await open({ search: true });
    const provider = providerOf(searching);
    await provider.createSession({ sessionId: "s" });
    await provider.logMessages("s", [calling("before")]);
    const wider = await open({ search: "all" });
    expect(await indexes()).toEqual(NAMES);
    await wider.searchBuilt();
    expect(await everything(wider, "before")).toEqual(["before"]);
    // A process that was started before does not know.
    await provider.logMessages("s", [calling("meanwhile"), calling("secret")]);
    expect(await wider.figures()).toMatchObject({ unindexed: 2 });
    await provider.eraseMessage("s", "secret");
    await wider.searchBuilt();
    expect(await wider.figures()).toMatchObject({ unindexed: 0 });
    const later = await open({ search: true });
    await providerOf(later).logMessages("s", [calling("secret later")]);
    expect(await everything(later, "look")).toEqual(["secret later", "meanwhile", "before"]);
    expect(await found(later, "look")).toEqual([]);
    await providerOf(await open()).eraseMessage("s", "secret later");
    await wider.searchBuilt();
    expect(await withSecrets()).toBe(0);
    expect(await everything(wider, "secret")).toEqual([]);
  });

  it("makes the words of earlier versions again, and drops the index that they need no more", async () => {
    const plain = await open();
    await providerOf(plain).createSession({ sessionId: "s" });
    await say(providerOf(plain), "s", "使用React开发");
    const [schema] = messages.split(".");
    await query(
      server!.url,
      `UPDATE ${messages} SET words = $$'default 使用react开发'$$::tsvector`,
      `CREATE INDEX messages_without_words ON ${messages} (uid, log, seq) WHERE words IS NULL AND id IS NOT NULL`,
    );
    const searching = await open({ search: true });
    await searching.searchBuilt();
    expect(await found(searching, "react 开发")).toEqual(["使用React开发"]);
    expect(await cell(`SELECT to_regclass('${schema}.messages_without_words')`)).toBeNull();
  });

  it("compares all letters of words of any length, and indexes a limited number of words", async () => {
    const searching = await open({ search: true });
    const provider = providerOf(searching);
    await provider.createSession({ sessionId: "s" });
    const long = "x".repeat(100);
    const many = Array.from({ length: MOST_WORDS + 1 }, (_, i) => `w${i}`).join(" ");
    await say(provider, "s", `1 ${long}y`, `2 ${long}z ${"q".repeat(100_000)}`, many);
    expect(await found(searching, `${long}y`)).toHaveLength(1);
    expect(await found(searching, `${long}*`)).toHaveLength(2);
    expect(await found(searching, long)).toEqual([]);
    expect(await found(searching, `w${MOST_WORDS - 1}`)).toHaveLength(1);
    expect(await found(searching, `w${MOST_WORDS}`)).toEqual([]);
  });
});

describe.skipIf(!server)("an index of words for a PostgreSQL database that is in use", () => {
  const NAMESPACES = ["a", "b", "c"];
  const EARLIER = 300;

  /** Stores messages in several namespaces by a process that does not search, some of which are to be erased. */
  async function fill(): Promise<PostgresLogDatabase> {
    const plain = await open();
    for (const namespace of NAMESPACES) {
      const provider = providerOf(plain, namespace);
      await provider.createSession({ sessionId: "s" });
      const texts = Array.from({ length: EARLIER }, (_, i) => `${i % 10 === 3 ? "secret" : "harmless"} ${i}`);
      await say(provider, "s", ...texts);
      await provider.forkConversation("s", "fork", { as: "fork" });
    }
    return plain;
  }

  it("is made by several processes at once, while others write and erase", async () => {
    const plain = await fill();
    let isOver = false;
    const erased = new Set<string>();
    const refound: string[] = [];
    const write = async (namespace: string) => {
      for (let i = 0; !isOver || i < 20; i++) await say(providerOf(plain, namespace), "s", `harmless later ${i}`);
    };
    const erase = async (namespace: string, database: PostgresLogDatabase) => {
      for (let i = 3; i < EARLIER; i += 10) {
        await providerOf(database, namespace).eraseMessage("s", `secret ${i}`);
        erased.add(`${namespace} secret ${i}`);
      }
    };
    const search = async (namespace: string, database: PostgresLogDatabase) => {
      while (!isOver) {
        const before = new Set(erased);
        for (const id of await found(database, "secret", namespace))
          if (before.has(`${namespace} ${id}`)) refound.push(id);
      }
    };
    const writing = NAMESPACES.map(write);
    const searching = await Promise.all([1, 2, 3].map(() => open({ search: true })));
    const watching = NAMESPACES.map((namespace, i) => search(namespace, searching[i] as PostgresLogDatabase));
    // The first erases without words of its own, so the others give its rows words again.
    await Promise.all(
      NAMESPACES.map((namespace, i) => erase(namespace, [plain, ...searching][i] as PostgresLogDatabase)),
    );
    isOver = true;
    await Promise.all([...writing, ...watching]);
    for (const database of searching) await database.searchBuilt();
    expect(refound).toEqual([]);
    expect(await withoutWords()).toBe(0);
    expect(await indexes()).toEqual(INDEXES);
    expect(await withSecrets()).toBe(0);
    for (const namespace of NAMESPACES) {
      expect(await found(searching[0] as PostgresLogDatabase, "secret", namespace)).toEqual([]);
      const harmless = await found(searching[1] as PostgresLogDatabase, "harmless", namespace);
      expect(harmless.filter((id) => !id.includes("later"))).toHaveLength(EARLIER * 0.9);
    }
  });

  it("gives no words to a row that is erased between reading and writing it", async () => {
    await (await open({ search: true })).close();
    await fill();
    const blocker = new pg.Client(server!.url);
    await blocker.connect();
    onTestFinished(() => blocker.end());
    // It lets others read, and makes what they write wait.
    await blocker.query(`BEGIN; LOCK TABLE ${messages} IN EXCLUSIVE MODE`);
    const searching = await open({ search: true });
    const looking = searching.searchBuilt();
    const waiting = `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%unnest%words%'
      AND query LIKE '%${messages}%'`;
    await poll(async () => (await cell(waiting)) === 1, "words wait to be written");
    await blocker.query(`UPDATE ${messages} SET body = replace(body, 'secret', 'erased')`);
    await blocker.query("COMMIT");
    await looking;
    expect(await withoutWords()).toBe(0);
    expect(await withSecrets()).toBe(0);
    expect(await found(searching, "erased", "a")).toHaveLength(EARLIER / 10);
  });

  it("is finished by another process when one is killed in the middle", async () => {
    await fill();
    const blocker = new pg.Client(server!.url);
    await blocker.connect();
    onTestFinished(() => blocker.end());
    // The builder passes over a row that somebody has locked, so it never ends.
    await blocker.query(`BEGIN; SELECT 1 FROM ${messages} WHERE id = 'harmless 7' FOR UPDATE`);
    const { child, httpUrl } = await Child.serve("--storage", url, "--search");
    onTestFinished(() => child.kill("SIGKILL"));
    await poll(async () => (await withoutWords()) === NAMESPACES.length, "all other rows have words");
    child.kill("SIGKILL");
    await child.ended();
    await expect(fetch(httpUrl)).rejects.toThrow();
    const searching = await open({ search: true });
    expect(await searching.figures()).toMatchObject({ unindexed: NAMESPACES.length });
    await blocker.query("COMMIT");
    await searching.searchBuilt();
    expect(await searching.figures()).toMatchObject({ unindexed: 0 });
    expect(await found(searching, '"harmless 7"', "a")).toEqual(["harmless 7"]);
  });

  it("is made again when whoever made it has died half way", async () => {
    await fill();
    const blocker = new pg.Client(server!.url);
    await blocker.connect();
    onTestFinished(() => blocker.end());
    // An index that is made while others write waits for their transactions to end.
    await blocker.query(`BEGIN; UPDATE ${messages} SET role = role WHERE id = 'harmless 7'`);
    const dying = open({ search: true }).catch((error: unknown) => error);
    const making = `SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%${messages}%'`;
    await poll(
      async () => (await cell(making)) !== undefined && (await indexes()).length > 0,
      "an index is being made",
    );
    await query(server!.url, `SELECT pg_terminate_backend(${await cell(making)})`);
    expect(await dying).toBeInstanceOf(Error);
    expect((await indexes()).filter((name) => name.endsWith("(invalid)"))).toHaveLength(1);
    await blocker.query("COMMIT");
    const searching = await open({ search: true });
    expect(await indexes()).toEqual(INDEXES);
    await searching.searchBuilt();
    expect(await found(searching, "harmless", "b")).toHaveLength(EARLIER * 0.9);
  });

  it("counts at most ten thousand messages without words", async () => {
    const plain = await open();
    await providerOf(plain).createSession({ sessionId: "s" });
    await say(providerOf(plain), "s", "word");
    await query(
      server!.url,
      `INSERT INTO ${messages} SELECT uid, log || 'x', i, i::text, timestamp, write, size, role, session_id, origin, body, words
        FROM ${messages}, generate_series(1, 10001) AS i`,
    );
    const blocker = new pg.Client(server!.url);
    await blocker.connect();
    onTestFinished(() => blocker.end());
    const searching = await open({ search: true });
    await blocker.query(`BEGIN; SELECT count(*) FROM (SELECT 1 FROM ${messages} FOR UPDATE) AS locked`);
    const before = (await withoutWords()) as number;
    const { unindexed } = await searching.figures();
    expect(unindexed).toBe(Math.min(before, 10_000));
    await blocker.query("COMMIT");
    await searching.searchBuilt();
    expect(await searching.figures()).toMatchObject({ unindexed: 0 });
  });
});
