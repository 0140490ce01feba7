import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NewChatMessage } from "../../../../src/domain/chat-message.js";
import { parseSearch, wordsOf } from "../../../../src/domain/search.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import {
  SqliteLogDatabase,
  type SqliteLogDatabaseOptions,
} from "../../../../src/storage/sqlite/sqlite-log-database.js";

let folder: string;
let path: string;
let opened: SqliteLogDatabase[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-search-"));
  path = join(folder, "pool.db");
  opened = [];
});

afterEach(async () => {
  for (const database of opened) await database.close();
  rmSync(folder, { recursive: true });
});

async function open(options: SqliteLogDatabaseOptions = {}): Promise<SqliteLogDatabase> {
  const database = await SqliteLogDatabase.open(path, options);
  opened.push(database);
  return database;
}

function providerOf(database: SqliteLogDatabase, namespace = "default"): LogHistoryProvider {
  return new LogHistoryProvider(database.namespace(namespace), { search: true });
}

async function say(provider: LogHistoryProvider, sessionId: string, ...texts: readonly string[]): Promise<void> {
  const messages = texts.map((text) => ({
    id: text.slice(0, 40).replaceAll(/\p{Cc}/gu, "-"),
    role: "user",
    parts: [{ id: "", type: "text", text }],
  }));
  await provider.logMessages(sessionId, messages);
}

/** A message with nothing but a call of a tool. */
function calling(id: string): NewChatMessage {
  return { id, role: "assistant", parts: [{ id: "", type: "tool_use", text: "", data: { name: "look", input: id } }] };
}

/** As `found`, in all that can be searched. */
async function everything(database: SqliteLogDatabase, q: string): Promise<readonly string[]> {
  const provider = new LogHistoryProvider(database.namespace("default"), { search: "all" });
  return (await provider.searchMessages({ terms: parseSearch(q), limit: 9 })).hits.map(({ messageId }) => messageId);
}

async function found(database: SqliteLogDatabase, q: string, namespace?: string): Promise<readonly string[]> {
  const page = await providerOf(database, namespace).searchMessages({ terms: parseSearch(q), limit: 1000 });
  return page.hits.map(({ messageId }) => messageId);
}

describe("the index of words", () => {
  it("uses an existing index, and makes none, when only that is wanted", async () => {
    const plain = await open({ search: "existing" });
    await providerOf(plain).createSession({ sessionId: "s" });
    await say(providerOf(plain), "s", "word");
    await expect(found(plain, "word")).rejects.toMatchObject({ code: "unimplemented" });
    const file = new Database(path);
    expect(file.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'search%'").all([])).toEqual([]);
    file.close();
    await (await open({ search: true })).searchBuilt();
    expect(await found(await open({ search: "existing" }), "word")).toEqual(["word"]);
  });

  it("is maintained by processes that do not search, even if they opened the file before it was made", async () => {
    const before = providerOf(await open());
    await before.createSession({ sessionId: "s" });
    await say(before, "s", "word one");
    const searching = await open({ search: true });
    await searching.searchBuilt();
    await say(before, "s", "word two");
    await say(providerOf(await open()), "s", "word three");
    expect(await found(searching, "word")).toEqual(["word three", "word two", "word one"]);
    await before.deleteMessage("s", "word two");
    expect(await found(searching, "word")).toEqual(["word three", "word one"]);
  });

  it("is made only when search is on, and stays when it is off again", async () => {
    const tables = () => {
      const db = new Database(path);
      const names = db.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'search%'").all([]);
      const version = db.prepare("PRAGMA user_version").raw().get([]);
      db.close();
      return { count: names.length, version };
    };
    await (await open()).close();
    const bare = tables();
    expect(bare).toMatchObject({ count: 0 });
    await (await open({ search: true })).close();
    const indexed = tables();
    expect(indexed).toEqual({ count: expect.any(Number), version: bare.version });
    expect(indexed.count).toBeGreaterThan(7);
    await (await open()).close();
    expect(tables()).toEqual(indexed);
  });

  it("gets earlier messages in steps, by any number of processes, and reports its progress", async () => {
    const writer = providerOf(await open());
    const ids = Array.from({ length: 1200 }, (_, i) => `word ${i}`);
    for (const sessionId of ["s", "t", "u"]) {
      await writer.createSession({ sessionId });
      const own = ids.filter((_, i) => i % 3 === "stu".indexOf(sessionId));
      await say(writer, sessionId, ...own);
    }
    const notices: string[] = [];
    const stopped = await open({ search: true });
    await stopped.close();
    const [a, b] = await Promise.all([
      open({ search: true, onNotice: (text) => notices.push(text) }),
      open({ search: true }),
    ]);
    await say(writer, "s", "word meanwhile");
    await writer.deleteSession("u");
    await Promise.all([a.searchBuilt(), b.searchBuilt()]);
    const expected = [...ids.filter((_, i) => i % 3 !== 2), "word meanwhile"];
    expect([...(await found(b, "word"))].sort()).toEqual(expected.sort());
    expect(notices.at(-1)).toMatch(/^Earlier messages are indexed for search: \d+$/);
    const again: string[] = [];
    const later = await open({ search: true, onNotice: (text) => again.push(text) });
    await later.searchBuilt();
    expect(again).toEqual([]);
  });

  it("is extended when everything is to be searched, by whichever process, and gets no narrower", async () => {
    const searching = await open({ search: true });
    const provider = providerOf(searching);
    await provider.createSession({ sessionId: "s" });
    await provider.logMessages("s", [calling("before")]);
    await searching.searchBuilt();
    expect(await everything(searching, "before")).toEqual([]);
    const wider = await open({ search: "all" });
    await wider.searchBuilt();
    expect(await everything(wider, "before")).toEqual(["before"]);
    // A process that was started before follows.
    await provider.logMessages("s", [calling("meanwhile"), calling("secret")]);
    await searching.searchBuilt();
    expect(await everything(wider, "look")).toEqual(["secret", "meanwhile", "before"]);
    expect(await found(searching, "look")).toEqual([]);
    await provider.eraseMessage("s", "secret");
    const later = await open({ search: true });
    expect(await later.figures()).toMatchObject({ unindexed: 0 });
    expect(await everything(await open({ search: "existing" }), "look")).toEqual(["meanwhile", "before"]);
    expect(await everything(later, "secret")).toEqual([]);
  });

  it("makes words again that an earlier version has made by another rule", async () => {
    const plain = await open({ search: true });
    const provider = providerOf(plain);
    await provider.createSession({ sessionId: "s" });
    await say(provider, "s", "使用React开发", "plain");
    await plain.searchBuilt();
    await plain.close();
    opened = [];
    const db = new Database(path);
    db.exec(`DROP TABLE search_index; DELETE FROM search_texts WHERE rowid = (SELECT min(place) FROM search_places);
      INSERT INTO search_texts (rowid, scope, text) SELECT min(place), 'n${Buffer.from("default").toString("hex")}',
        '使用react开发' FROM search_places`);
    db.close();
    const searching = await open({ search: "existing" });
    await searching.searchBuilt();
    expect(await found(searching, "react 开发")).toEqual(["使用React开发"]);
    expect(await found(searching, "plain")).toEqual(["plain"]);
    const vocabulary = new Database(path);
    vocabulary.exec("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, search_texts, row)");
    const words = vocabulary.prepare("SELECT term FROM temp.words").raw().all([]).flat();
    vocabulary.close();
    expect(words).toContain("开发");
  });

  it("holds what many characters without spaces, or one endless word, give it", async () => {
    const database = await open({ search: true });
    const provider = providerOf(database);
    await provider.createSession({ sessionId: "s" });
    const point = (i: number) => String.fromCharCode(0x4e00 + ((i * 7919) % 20_000));
    await say(provider, "s", `${Array.from({ length: 200_000 }, (_, i) => point(i)).join("")}完了`, "x".repeat(1e6));
    const q = Array.from({ length: 80 }, (_, i) => point(i + 77)).join("");
    expect(await found(database, q)).toHaveLength(1);
    expect(await found(database, "完了")).toHaveLength(1);
    expect(await found(database, `${"x".repeat(200)}*`)).toHaveLength(1);
  });

  it("is searched without blocking the event loop", async () => {
    const database = await open({ search: true });
    await providerOf(database).createSession({ sessionId: "s" });
    await say(providerOf(database), "s", "word one");
    let turns = 0;
    const count = () => {
      turns += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    expect(await found(database, "word")).toEqual(["word one"]);
    clearImmediate(counting);
    expect(turns).toBeGreaterThan(0);
  });

  it("never mixes namespaces", async () => {
    const database = await open({ search: true });
    for (const namespace of ["a", "A", "a b", "default"]) {
      const provider = providerOf(database, namespace);
      await provider.createSession({ sessionId: "s" });
      await say(provider, "s", `word of ${namespace}`);
    }
    for (const namespace of ["a", "A", "a b"])
      expect(await found(database, "word", namespace)).toEqual([`word of ${namespace}`]);
    expect(await found(database, "word", "nobody")).toEqual([]);
  });

  it("accepts any text, and lets an insert succeed whose body is not JSON", async () => {
    const database = await open({ search: true });
    const provider = providerOf(database);
    await provider.createSession({ sessionId: "s" });
    const texts = ["nul\u0000inside word", "\u{1F600} word", '"word" * NEAR(', "\u0001word", "\\u0000 word"];
    await say(provider, "s", ...texts.map((text, i) => `${text} ${i}`));
    expect(await found(database, "word")).toHaveLength(texts.length);
    const db = new Database(path);
    const insert = db.prepare(
      "INSERT INTO messages (log, seq, id, timestamp, role, session_id, size, body) VALUES ('x.1', 1, 'm', 1, 'user', 's', 1, 'no JSON')",
    );
    expect(insert.run([]).changes).toBe(1);
    db.close();
  });

  it("holds every word as the other stores read it, whatever its letters", async () => {
    const database = await open({ search: true });
    const provider = providerOf(database);
    await provider.createSession({ sessionId: "s" });
    const expected = new Set<string>();
    for (let block = 0; block < 0x30000; block += 0x1000) {
      const points = Array.from({ length: 0x1000 }, (_, i) => block + i).filter(
        (point) => point >> 11 !== 0xd800 >> 11,
      );
      const text = points.map((point) => `x${String.fromCodePoint(point)}`).join(" ");
      for (const { word } of wordsOf(text)) expected.add(word);
      await provider.logMessages("s", [{ id: `m${block}`, role: "user", parts: [{ id: "", type: "text", text }] }]);
    }
    await database.searchBuilt();
    const db = new Database(path);
    db.exec("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, search_texts, col)");
    const words = db.prepare("SELECT term FROM temp.words WHERE col = 'text'").raw().all([]) as [string][];
    db.close();
    expect(words.map(([term]) => term).sort()).toEqual([...expected].sort());
  });

  it("is brought up to date without a search", async () => {
    await open({ search: true });
    const provider = providerOf(await open());
    await provider.createSession({ sessionId: "s" });
    await say(provider, "s", "word");
    const db = new Database(path);
    const pending = () => (db.prepare("SELECT count(*) FROM search_pending").raw().get([]) as [number])[0];
    await vi.waitFor(() => expect(pending()).toBe(0), { timeout: 30_000 });
    db.close();
  });

  it("is searched as it is when nothing can be added to it", async () => {
    const database = await open({ search: true });
    const provider = providerOf(database);
    await provider.createSession({ sessionId: "s" });
    await say(provider, "s", "word one");
    await database.searchBuilt();
    const db = new Database(path);
    db.exec("CREATE TRIGGER full BEFORE DELETE ON search_pending BEGIN SELECT RAISE(ABORT, 'full'); END");
    db.close();
    await say(provider, "s", "word two");
    expect(await found(database, "word")).toEqual(["word one"]);
  });

  it("keeps nothing of what was swept", async () => {
    const database = await open({ search: true });
    const provider = new LogHistoryProvider(database.namespace("default"), { search: true, sweepAgeMs: -1 });
    await provider.createSession({ sessionId: "s" });
    await say(provider, "s", "one word", "two words");
    await provider.deleteSession("s");
    for (let i = 0; i < 4; i++) await provider.sweep();
    const db = new Database(path);
    const [places] = db.prepare("SELECT count(*) FROM search_places").raw().get([]) as [number];
    const [pending] = db.prepare("SELECT count(*) FROM search_pending").raw().get([]) as [number];
    const [sizes] = db.prepare("SELECT count(*) FROM search_texts_docsize").raw().get([]) as [number];
    db.close();
    expect([places, pending, sizes]).toEqual([0, 0, 0]);
  });
});
