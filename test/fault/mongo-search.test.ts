import { type Document, MongoClient } from "mongodb";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NewChatMessage } from "../../src/domain/chat-message.js";
import { parseSearch } from "../../src/domain/search.js";
import { MOST_WORDS } from "../../src/storage/history/indexed-words.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SEARCH_INDEX } from "../../src/storage/mongodb/mongo-indexes.js";
import { MongoLogDatabase, type MongoOptions } from "../../src/storage/mongodb/mongo-log-database.js";
import { MARKS } from "../../src/storage/mongodb/search-words.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";

const server = await startMongoServer();
let url: string;
let opened: MongoLogDatabase[];

beforeEach(() => {
  if (server) url = freshDatabaseUrl(server);
  opened = [];
});
afterEach(async () => {
  for (const database of opened) await database.close();
});
afterAll(() => server?.stop());

async function open(options: MongoOptions = {}): Promise<MongoLogDatabase> {
  const database = await MongoLogDatabase.connect(url, options);
  opened.push(database);
  return database;
}

function providerOf(database: MongoLogDatabase, namespace = "default"): LogHistoryProvider {
  return new LogHistoryProvider(database.namespace(namespace), { search: true });
}

async function say(provider: LogHistoryProvider, sessionId: string, ...texts: readonly string[]): Promise<void> {
  const parts = (text: string) => [{ id: "", type: "text", text }];
  const messages = texts.map((text) => ({ id: text.slice(0, 40), role: "user", parts: parts(text) }));
  await provider.logMessages(sessionId, messages);
}

async function found(database: MongoLogDatabase, q: string, namespace?: string): Promise<readonly string[]> {
  const page = await providerOf(database, namespace).searchMessages({ terms: parseSearch(q), limit: 1000 });
  return page.hits.map(({ messageId }) => messageId);
}

/** A message with nothing but a call of a tool. */
function calling(id: string): NewChatMessage {
  return { id, role: "assistant", parts: [{ id: "", type: "tool_use", text: "", data: { name: "look", input: id } }] };
}

/** As `found`, in all that can be searched. */
async function everything(database: MongoLogDatabase, q: string): Promise<readonly string[]> {
  const provider = new LogHistoryProvider(database.namespace("default"), { search: "all" });
  return (await provider.searchMessages({ terms: parseSearch(q), limit: 9 })).hits.map(({ messageId }) => messageId);
}

/** Resolves to all documents of the messages collection, including seals. */
async function documents(): Promise<readonly Document[]> {
  const client = await MongoClient.connect(url);
  try {
    return await client.db().collection("messages").find().toArray();
  } finally {
    await client.close();
  }
}

describe.skipIf(!server)("searching messages on MongoDB", () => {
  it("adds an index and words only when searching is on", async () => {
    const plain = await open();
    await providerOf(plain).createSession({ sessionId: "s" });
    await say(providerOf(plain), "s", "word");
    expect((await documents())[0]).not.toHaveProperty("terms");
    const keys = async () =>
      (await plain.client.db().collection("messages").listIndexes().toArray()).map((key) => key.name);
    expect(await keys()).not.toContain(SEARCH_INDEX.name);
    await expect(found(plain, "word")).rejects.toMatchObject({ code: "unimplemented" });
    await expect(found(await open({ search: "existing" }), "word")).rejects.toMatchObject({ code: "unimplemented" });
    expect(await keys()).not.toContain(SEARCH_INDEX.name);
    await open({ search: true });
    expect(await keys()).toContain(SEARCH_INDEX.name);
    const existing = await open({ search: "existing" });
    await existing.searchBuilt();
    expect(await found(existing, "word")).toEqual(["word"]);
  });

  it("finds messages of before, and of processes that do not search, once they are indexed", async () => {
    const plain = providerOf(await open());
    await plain.createSession({ sessionId: "s" });
    await say(plain, "s", ...Array.from({ length: 250 }, (_, i) => `word ${i}`));
    const notices: string[] = [];
    const searching = await open({ search: true, onNotice: (text) => notices.push(text) });
    const other = await open({ search: true });
    await Promise.all([searching.searchBuilt(), other.searchBuilt()]);
    expect(await found(searching, "word")).toHaveLength(250);
    expect(notices.at(-1)).toMatch(/^Earlier messages are indexed for search: \d+$/);
    await say(plain, "s", "word later");
    expect(await found(searching, "later")).toEqual([]);
    await searching.searchBuilt();
    expect(await found(searching, "later")).toEqual(["word later"]);
    expect((await documents()).filter(({ terms }) => terms === undefined)).toEqual([]);
  });

  it("never mixes namespaces, even when it indexes messages of before", async () => {
    const namespaces = ["a", "A", "a b", "default"];
    const plain = await open();
    for (const namespace of namespaces) {
      await providerOf(plain, namespace).createSession({ sessionId: "s" });
      await say(providerOf(plain, namespace), "s", `word before of ${namespace}`);
    }
    const searching = await open({ search: true });
    await searching.searchBuilt();
    for (const namespace of namespaces) await say(providerOf(searching, namespace), "s", `word of ${namespace}`);
    for (const namespace of namespaces) {
      const expected = [`word of ${namespace}`, `word before of ${namespace}`];
      expect(await found(searching, "word", namespace)).toEqual(expected);
    }
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
    expect(JSON.stringify((await documents()).map(({ terms, words }) => [terms, words]))).not.toContain("secret");
    expect(await found(searching, "secret")).toEqual([]);
  });

  it("is extended when everything is to be searched, and gets no narrower", async () => {
    const searching = await open({ search: true });
    const provider = providerOf(searching);
    await provider.createSession({ sessionId: "s" });
    await provider.logMessages("s", [calling("before")]);
    const wider = await open({ search: "all" });
    await wider.searchBuilt();
    expect(await everything(wider, "before")).toEqual(["before"]);
    // A process that was started before does not know.
    await provider.logMessages("s", [calling("meanwhile"), calling("hidden")]);
    await provider.eraseMessage("s", "hidden");
    await wider.searchBuilt();
    expect(await wider.figures()).toMatchObject({ unindexed: 0 });
    const later = await open({ search: true });
    await providerOf(later).logMessages("s", [calling("later")]);
    expect(await everything(later, "look")).toEqual(["later", "meanwhile", "before"]);
    expect(await found(later, "look")).toEqual([]);
    expect((await documents()).filter(({ terms }) => terms.includes(MARKS.text))).toEqual([]);
    await providerOf(await open()).eraseMessage("s", "later");
    await wider.searchBuilt();
    for (const q of ["hidden", "later"]) expect(await everything(wider, q)).toEqual([]);
    const terms = JSON.stringify((await documents()).map((document) => document.terms));
    expect(terms).not.toMatch(/hidden|later/);
  });

  it("gives no words of before to a document that is erased between reading and writing it", async () => {
    const provider = providerOf(await open({ search: true }));
    await provider.createSession({ sessionId: "s" });
    await provider.logMessages("s", [calling("secret"), calling("other")]);
    const wider = await open({ search: "all", driver: { monitorCommands: true } });
    const erased = new Promise((resolve) => {
      wider.client.once("commandSucceeded", () => resolve(provider.eraseMessage("s", "secret")));
    });
    await wider.searchBuilt();
    await erased;
    await wider.searchBuilt();
    expect(JSON.stringify((await documents()).map(({ terms }) => terms))).not.toContain("secret");
  });

  it("replaces the words of earlier versions, and their index", async () => {
    const plain = await open();
    await providerOf(plain).createSession({ sessionId: "s" });
    await say(providerOf(plain), "s", "使用React开发", "secret");
    const messages = plain.client.db().collection("messages");
    await messages.createIndex({ words: 1, timestamp: -1, log: -1, seq: -1 }, { name: "words_time" });
    await messages.updateMany({}, { $set: { words: ["default 使用react开发", "default secret"] } });
    await providerOf(plain).eraseMessage("s", "secret");
    const searching = await open({ search: true });
    await searching.searchBuilt();
    expect(await found(searching, "react 开发")).toEqual(["使用React开发"]);
    expect(await messages.countDocuments({ words: { $exists: true } })).toBe(0);
    expect(await messages.indexExists("words_time")).toBe(false);
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

  it("asks the index of words, in its order, and reads texts only for phrases and long words", async () => {
    const searching = await open({ search: true, driver: { monitorCommands: true } });
    const sent: Document[] = [];
    searching.client.on("commandStarted", ({ commandName, command }) => {
      if (commandName === "find" && command.hint === SEARCH_INDEX.name && command.sort) sent.push(command);
    });
    for (const q of ["one two thr*", '"one two"']) await found(searching, q);
    const [words, phrase] = sent;
    expect(words?.filter).toEqual({
      $and: [
        { terms: "default one" },
        { terms: "default two" },
        { terms: { $elemMatch: { $gte: "default thr", $lt: "default thr\u{10FFFF}" } } },
      ],
    });
    const order = new Map(Object.entries(SEARCH_INDEX.key).slice(1));
    expect([words?.sort, phrase?.sort]).toEqual([order, order]);
    expect(words?.projection).not.toHaveProperty("body");
    expect(phrase?.projection).toHaveProperty("body");
  });
});
