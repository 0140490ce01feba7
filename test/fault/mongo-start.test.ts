import { BSON, MongoClient } from "mongodb";
import { afterAll, describe, expect, it } from "vitest";
import { compareCodePoints, NEWEST_FIRST, titleKey, titleWords } from "../../src/domain/session-order.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { FeedTable } from "../../src/storage/history/log-store.js";
import { INDEXES, indexStatements } from "../../src/storage/mongodb/mongo-indexes.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { SCHEMA_VERSION } from "../../src/storage/mongodb/mongo-schema.js";
import { created } from "../contract/log-store/fixtures.js";
import { naming } from "../contract/storage-provider/attachments.js";
import { databaseNameOf } from "../support/mongo-database.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { answeredBefore, answeredNow, releasedStore } from "../support/released-store.js";

/** The indexes that a database of schema 3 does not have. */
const NEW_IN_4: ReadonlySet<string> = new Set([
  ...["named_target", "log_named", "uid_slot", "uid_state_size", "namespace_state_seen", "log_seq_size"],
]);

const server = await startMongoServer();
afterAll(() => server?.stop());

async function withDatabase(work: (url: string, client: MongoClient) => Promise<void>): Promise<void> {
  const url = freshDatabaseUrl(server ?? { uri: "" });
  const client = new MongoClient(url);
  try {
    await work(url, client);
  } finally {
    await client.db().dropDatabase();
    await client.close();
  }
}

describe.skipIf(!server)("MongoLogDatabase.connect", () => {
  it("creates the indexes and the version, even when several processes do so at once or again", async () => {
    await withDatabase(async (url, client) => {
      for (let round = 0; round < 2; round++) {
        const databases = await Promise.all(Array.from({ length: 5 }, () => MongoLogDatabase.connect(url)));
        await Promise.all(databases.map((database) => database.close()));
      }
      for (const { collection, name, key, unique, ifPresent } of INDEXES) {
        const found = (await client.db().collection(collection).listIndexes().toArray()).find(
          (one) => one.name === name,
        );
        expect({ key: found?.key, unique: found?.unique === true }).toEqual({ key, unique });
        const filter = ifPresent === undefined ? undefined : { [ifPresent]: { $exists: true } };
        expect(found?.partialFilterExpression).toEqual(filter);
      }
      const found = await client.db().collection("schema").find().sort({ _id: 1 }).toArray();
      expect(found).toEqual([
        { _id: "feed", feed_id: expect.any(String) },
        { _id: "version", version: SCHEMA_VERSION },
      ]);
    });
  });

  it("refuses a newer version's database, and changes nothing in it", async () => {
    await withDatabase(async (url, client) => {
      await client
        .db()
        .collection<{ _id: string; version: number }>("schema")
        .insertOne({ _id: "version", version: SCHEMA_VERSION + 1 });
      await expect(MongoLogDatabase.connect(url)).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringMatching(/has schema 7, made by a newer version; this one knows 6/),
      });
      expect((await client.db().listCollections().toArray()).map(({ name }) => name)).toEqual(["schema"]);
    });
  });

  it("upgrades a database of version 0.1.0, reads its records, and keeps that version from using it", async () => {
    await withDatabase(async (url, client) => {
      const database = await MongoLogDatabase.connect(url);
      const store = database.namespace("default");
      await created(store, "living");
      await created(store, "deleted");
      const time = new Date("2026-01-02");
      const dropped = [{ log: "living.1", first: 3, last: 4, time }];
      const sessions = client.db().collection<{ _id: string }>("sessions");
      const old = { side_log: "living.side", dropped, delete_time: null, sweep_time: time };
      const unset = { named_logs: "", marked_time: "" } as const;
      await sessions.updateOne({ _id: "living" }, { $set: old, $unset: unset });
      const dead = { side_log: null, dropped: [], tombstone: "deleted", delete_time: time, sweep_time: time };
      await sessions.updateOne({ _id: "deleted" }, { $set: dead, $unset: unset });
      const schema = client.db().collection<{ _id: string; version: number }>("schema");
      await schema.updateOne({ _id: "version" }, { $set: { version: 1 } });
      await database.close();

      const next = await MongoLogDatabase.connect(url);
      expect(await schema.findOne({ _id: "version" })).toMatchObject({ version: SCHEMA_VERSION });
      const found = await next.namespace("default").listSweepable(time.getTime(), 9);
      expect([...found].sort((a, b) => (a.uid < b.uid ? -1 : 1))).toMatchObject([
        { uid: "deleted", deleted: true, markedAtMs: null },
        {
          uid: "living",
          deleted: false,
          namedLogs: [{ log: "living.side", purpose: "older" }],
          dropped: [{ log: "living.1", first: 3, last: 4 }],
        },
      ]);
      await next.close();
    });
  });

  it("upgrades a database of version 0.2.0, which then has owners beside what it had", async () => {
    await withDatabase(async (url, client) => {
      for (const line of releasedStore("mongodb.ejson").trim().split("\n")) {
        const { collection, document } = BSON.EJSON.parse(line, { relaxed: false });
        await client.db().collection(collection).insertOne(document);
      }
      const database = await MongoLogDatabase.connect(url);
      const store = database.namespace("default");
      const before = answeredBefore("mongodb.answers.jsonl");
      expect(await answeredNow(store)).toEqual(before);
      const labels = ["topic=travel"];
      const all = await store.listRecords({ parentId: "", owner: "" }, { limit: 99 });
      expect(all.map(({ sessionId }) => sessionId).sort()).toEqual(Object.keys(before).sort());
      expect(await store.listRecords({ parentId: "", owner: "", labels }, { limit: 99 })).toHaveLength(3);
      const byTitle = await store.queries?.find(
        { parentId: "", order: { by: "title", descending: false } },
        { limit: 99 },
      );
      const keys = (records: typeof all) => records.map(({ title }) => titleKey(title));
      expect(keys(byTitle?.records ?? [])).toEqual(keys(all).toSorted(compareCodePoints));
      for (const { title, uid } of all) {
        const titled = { parentId: "", titleWords: titleWords(title), order: NEWEST_FIRST };
        expect((await store.queries?.find(titled, { limit: 99 }))?.records.map((one) => one.uid)).toContain(uid);
      }
      expect(await store.usage({ owner: "" })).toEqual({ sessions: all.length, bytes: 0, uncounted: all.length });
      const feed = store.feed as FeedTable;
      expect((await feed.read({ place: 0 }, 99)).changes).toEqual([]);
      await new LogHistoryProvider(store).updateSession("trip", { owner: "ada" });
      const { changes } = await feed.read({ place: 0 }, 99);
      const uid = all.find(({ sessionId }) => sessionId === "trip")?.uid as string;
      expect(changes).toMatchObject([
        { kind: "left", uid, past: { owner: "", labels: expect.arrayContaining([feed.digest(uid, "topic=travel")]) } },
        { kind: "state", madeAt: 0, record: { uid, owner: "ada" } },
      ]);
      expect(await store.listRecords({ parentId: "", owner: "ada", labels }, { limit: 99 })).toHaveLength(1);
      const schema = client.db().collection<{ _id: string; version: number }>("schema");
      expect(await schema.findOne({ _id: "version" })).toMatchObject({ version: SCHEMA_VERSION });
      await database.close();
    });
  });

  it.each([0, 3])(
    "upgrades a database of schema 3 that has %i of the new indexes, and keeps attachments then",
    async (made) => {
      await withDatabase(async (url, client) => {
        const schema = client.db().collection<{ _id: string; version: number }>("schema");
        const older = INDEXES.filter((index) => !NEW_IN_4.has(index.name));
        const added = INDEXES.filter((index) => NEW_IN_4.has(index.name));
        expect(added).toHaveLength(6);
        for (const { collection, name, key, unique, ifPresent } of [...older, ...added.slice(0, made)]) {
          const filter = ifPresent !== undefined && { partialFilterExpression: { [ifPresent]: { $exists: true } } };
          await client
            .db()
            .collection(collection)
            .createIndex(key as never, { name, unique, ...filter });
        }
        for (const line of releasedStore("mongodb.ejson").trim().split("\n")) {
          const { collection, document } = BSON.EJSON.parse(line, { relaxed: false });
          if (collection !== "schema") await client.db().collection(collection).insertOne(document);
        }
        await schema.insertOne({ _id: "version", version: 3 });
        const database = await MongoLogDatabase.connect(url);
        expect(await schema.findOne({ _id: "version" })).toMatchObject({ version: SCHEMA_VERSION });
        expect(await answeredNow(database.namespace("default"))).toEqual(answeredBefore("mongodb.answers.jsonl"));
        const provider = new LogHistoryProvider(database.namespace("default"));
        await provider.uploadAttachment("trip", { attachmentId: "a" }, bytes());
        const parts = [{ id: "", type: "file", text: "", attachment: naming("a") }];
        await provider.logMessages("trip", [{ id: "shows", role: "user", parts }]);
        const { attachments } = await provider.listAttachments("trip", { limit: 9 });
        expect(attachments).toMatchObject([{ attachmentId: "a", messageIds: ["shows"] }]);
        await database.close();
      });
    },
  );

  it("is upgraded again when the process before has made only some of the indexes", async () => {
    await withDatabase(async (url, client) => {
      const schema = client.db().collection<{ _id: string; version: number }>("schema");
      await schema.insertOne({ _id: "version", version: 2 });
      const [first] = INDEXES.filter(({ name }) => name === "namespace_owner_update");
      await client
        .db()
        .collection("sessions")
        .createIndex({ ...first?.key } as never, { name: first?.name ?? "" });
      await (await MongoLogDatabase.connect(url)).close();
      const keys = await client.db().collection("sessions").listIndexes().toArray();
      const wanted = INDEXES.filter(({ collection }) => collection === "sessions").map(({ name }) => name);
      expect(keys.map(({ name }) => name)).toEqual(expect.arrayContaining(wanted));
      expect(await schema.findOne({ _id: "version" })).toMatchObject({ version: SCHEMA_VERSION });
    });
  });

  it("refuses a different index of the same name, and keeps it", async () => {
    await withDatabase(async (url, client) => {
      await client.db().collection("messages").createIndex({ log: 1, seq: 1 }, { name: "log_seq" });
      await expect(MongoLogDatabase.connect(url)).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringContaining("Key log_seq of collection messages"),
      });
      const keys = await client.db().collection("messages").listIndexes().toArray();
      expect(keys.map(({ name }) => name)).toContain("log_seq");
    });
  });

  it("keeps indexes and documents that it does not know", async () => {
    await withDatabase(async (url, client) => {
      const sessions = client.db().collection("sessions");
      await sessions.createIndex({ title: 1 }, { name: "mine" });
      const database = await MongoLogDatabase.connect(url);
      await created(database.namespace("default"), "u");
      await database.close();
      expect((await sessions.listIndexes().toArray()).map(({ name }) => name)).toContain("mine");
    });
  });

  it("uses the database that the URL names, and reports its name without the password", async () => {
    await withDatabase(async (url) => {
      const database = await MongoLogDatabase.connect(url);
      const name = new URL(url).pathname.slice(1);
      expect(database.name).toBe(`mongodb://${new URL(url).host}/${name}`);
      expect(databaseNameOf(database)).toBe(name);
      await database.close();
    });
  });

  it("keeps its read and write concerns, whatever the URL says", async () => {
    await withDatabase(async (url) => {
      const careless = `${url}${url.includes("?") ? "&" : "?"}w=0&readPreference=secondaryPreferred&readConcernLevel=local`;
      const database = await MongoLogDatabase.connect(careless);
      const store = database.namespace("default");
      await created(store, "u", { sessionId: "s" });
      expect(await store.createRecord({ ...(await recordLike(store)), uid: "other" })).toBe("exists");
      await database.close();
    });
  });
});

describe("MongoLogDatabase.connect without a server", () => {
  it("says what is wrong with the URL", async () => {
    await expect(MongoLogDatabase.connect("mongodb://")).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("names the server that does not answer, without the password", async () => {
    const url = "mongodb://user:secret@127.0.0.1:1/db";
    const error = await MongoLogDatabase.connect(url, { serverSelectionTimeoutMs: 200 }).catch((cause) => cause);
    expect(error).toMatchObject({ code: "unavailable", message: "MongoDB at 127.0.0.1:1 does not answer" });
  });

  it("prints the statements of all indexes", () => {
    expect(indexStatements()).toHaveLength(INDEXES.length + 1);
    expect(indexStatements().at(-1)).toMatch(/"terms_time"}\) \/\/ only for --search$/);
    expect(indexStatements()).toContain('db.messages.createIndex({"log":1,"seq":1}, {"name":"log_seq","unique":true})');
  });
});

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("bytes");
}

async function recordLike(store: ReturnType<MongoLogDatabase["namespace"]>) {
  const record = await store.readRecord("s");
  if (!record) throw new Error("No record");
  const { forks: _forks, ...rest } = record;
  return rest;
}
