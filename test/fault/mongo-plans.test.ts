import { type Db, Long, ObjectId } from "mongodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  AttachmentTable,
  FeedTable,
  LogStore,
  RecordBin,
  RecordQueries,
} from "../../src/storage/history/log-store.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { naming, stored } from "../contract/log-store/attachment-fixtures.js";
import { created, entry, next, replaced, T0 } from "../contract/log-store/fixtures.js";
import { commandsOf, type SentCommand } from "../support/mongo-commands.js";
import { databaseNameOf, openMongoDatabase } from "../support/mongo-database.js";
import { explain, servingKey } from "../support/mongo-plan.js";
import { startMongoServer } from "../support/mongo-server.js";

const LENGTH = 10_000;
const LOG = "big.1";
const CHUNK = 5000;

const server = await startMongoServer();
let database: MongoLogDatabase;
let store: LogStore;
/** A database with few messages, for commands that are slow on some servers. */
let small: MongoLogDatabase;
let db: Db;
/**
 * Whether the server's planner stops a scan at the limit, as mongod's does. Other servers' plans only show the bounds
 * of ranges.
 */
let hasPlanner = false;

beforeAll(async () => {
  if (!server) return;
  database = await openMongoDatabase(server);
  small = await openMongoDatabase(server);
  store = database.namespace("default");
  db = database.client.db(databaseNameOf(database));
  for (let first = 1; first <= LENGTH; first += CHUNK) await fillBigLog(first);
  hasPlanner = await stopsAtLimit();
});
afterAll(async () => {
  await small?.close();
  await database?.close();
  await server?.stop();
});

describe.skipIf(!server)("queries of the MongoDB store", () => {
  describe("pages anywhere in a log of 10,000 messages", () => {
    const places = [1, 777, LENGTH / 2, LENGTH - 99];

    it("examine only what they return", async () => {
      for (const first of places) {
        for (const descending of [false, true]) {
          const read = () => store.readRange(LOG, first, first + 99, { descending });
          const limited = () => store.readRange(LOG, 1, first + 99, { descending: true, limit: 100 });
          for (const work of descending ? [read, limited] : [read]) {
            const [plan] = await plansOf(work);
            expect(plan).toMatchObject({ returned: 100 });
            expect(plan?.stages).toContain("IXSCAN");
            expect(plan?.keys).toBeLessThanOrEqual(110);
            expect(plan?.documents).toBeLessThanOrEqual(110);
          }
        }
      }
    });

    it("take one command each", async () => {
      const sent = await commandsOf(database.client, () => store.readRange(LOG, 500, LENGTH, { limit: 100 }));
      expect(sent.map(({ name }) => name)).toEqual(["find"]);
    });
  });

  it("all use an index that has the order asked for", async () => {
    const sent = await everyCommand();
    const unserved = sent.filter((command) => isQuery(command) && servingKey(command) === null);
    expect(unserved).toEqual([]);
    expect(sent.length).toBeGreaterThan(60);
    expect([...new Set(sent.map(({ name }) => name))].sort()).toEqual(
      ["aggregate", "dbStats", "delete", "distinct", "find", "findAndModify", "insert", "update"].sort(),
    );
  });

  it("examine no sessions of other namespaces to list those of one by uid", async () => {
    const others = Array.from({ length: 1000 }, (_, i) => ({ _id: `a${i}`, namespace: "others", session_id: `s${i}` }));
    await db.collection<{ _id: string }>("sessions").insertMany(others);
    await created(store, "u");
    const [sent] = (await commandsOf(database.client, () => store.scanRecords("", 500))) as [SentCommand];
    expect(servingKey(sent)).toBe("namespace_uid");
    const { keys, documents } = await explain(db, sent);
    expect(documents).toBe(1);
    expect(keys).toBeLessThanOrEqual(2);
  });

  it("never scan a collection or sort, according to the server", async (context) => {
    if (!hasPlanner)
      return context.skip(
        "this server's planner uses no index when a filter has further fields, and does not stop at a limit",
      );
    for (const command of (await everyCommand()).filter(({ name }) => name !== "insert" && name !== "dbStats")) {
      const { stages } = await explain(small.client.db(databaseNameOf(small)), command);
      expect({ command, stages: stages.filter((stage) => stage === "COLLSCAN" || stage === "SORT") }).toEqual({
        command,
        stages: [],
      });
      expect(stages.join()).toMatch(/IXSCAN|IDHACK|DISTINCT_SCAN|EXPRESS|EOF/);
    }
  });

  it("examine at most 5 keys to find a time, wherever it falls", async (context) => {
    if (!hasPlanner) return context.skip("this server's planner does not stop at a limit");
    for (const micros of [-1, 1, 500, LENGTH / 2, LENGTH - 1, LENGTH + 5].map((at) => T0 + at)) {
      const plans = await plansOf(() => store.seqAtTime(LOG, 1, LENGTH, micros));
      expect(plans.length).toBeLessThanOrEqual(2);
      expect(plans.reduce((sum, { keys }) => sum + keys, 0)).toBeLessThanOrEqual(5);
    }
  });

  it("examine only the last keys of a log for its end, and about one key for each id", async (context) => {
    if (!hasPlanner) return context.skip("this server's planner does not stop at a limit");
    const [tail] = await plansOf(() => store.tail(LOG));
    expect(tail?.keys).toBeLessThanOrEqual(3);
    const [one] = await plansOf(() => store.findById([LOG], ["m777"]));
    expect(one?.keys).toBeLessThanOrEqual(2);
    const ids = Array.from({ length: 100 }, (_, i) => `m${1 + i * 97}`);
    const [many] = await plansOf(() => store.findById([LOG], ids));
    expect(many).toMatchObject({ returned: 100 });
    expect(many?.keys).toBeLessThanOrEqual(2 * ids.length + 1);
  });
});

async function fillBigLog(first: number): Promise<void> {
  const documents = Array.from({ length: CHUNK }, (_, i) => ({
    _id: new ObjectId(),
    session_id: "big",
    log: LOG,
    seq: first + i,
    id: `m${first + i}`,
    timestamp: Long.fromNumber(T0 + first + i),
    role: "user",
    body: '{"parts":[]}',
  }));
  await db.collection("messages").insertMany(documents);
}

async function stopsAtLimit(): Promise<boolean> {
  const filter = { log: LOG, seq: { $gte: 1, $lte: 100 } };
  const { keys } = await explain(db, {
    name: "find",
    command: { find: "messages", filter, sort: { seq: 1 }, limit: 1 },
  });
  return keys <= 2;
}

async function plansOf(work: () => Promise<unknown>) {
  const sent = await commandsOf(database.client, work);
  return Promise.all(sent.map((command) => explain(db, command)));
}

/** Whether the command has a filter. Inserts and the list of all namespaces have none. */
function isQuery({ name }: SentCommand): boolean {
  return name !== "insert" && name !== "distinct" && name !== "dbStats";
}

/** Resolves to the commands that the store sends for all of its methods. */
async function everyCommand(): Promise<readonly SentCommand[]> {
  const store = small.namespace("default");
  const uid = `u${new ObjectId().toHexString()}`;
  const log = `${uid}.1`;
  return commandsOf(small.client, async () => {
    const made = await created(store, uid, { parentId: "parent", sessionId: uid, labels: { a: "1", b: "" } });
    await store.raiseForks(uid);
    await store.addFork(uid, -1);
    await store.readRecordByUid(uid);
    await store.touchRecords?.(new Map([[uid, T0 + 9]]));
    const filters = ["", "parent"].flatMap((parentId) =>
      [[], ["a=1"], ["a=1", "b="]].flatMap((labels) =>
        [undefined, "", "ada"].map((owner) => ({ parentId, labels, owner })),
      ),
    );
    for (const filter of filters) {
      await store.listRecords(filter, { limit: 10 });
      await store.listRecords(filter, { limit: 10, after: { updateTimeMicros: T0 + 5, sessionId: "s" } });
    }
    await store.addBytes(new Map([[uid, 1]]));
    await store.setBytes(new Map([[uid, 1]]));
    for (const filter of [{}, { owner: "" }, { owner: "ada" }, { key: "k" }]) await store.usage(filter);
    await store.append(log, 1, [entry(log, 1), entry(log, 2)]);
    await store.append(log, 3, [entry(log, 3, { remaining: 1 })]);
    await store.tail(log);
    await store.readRange(log, 1, 9);
    await store.seqAtTime(log, 1, 2, T0 + 2);
    await store.findById([log], ["m1"]);
    await store.entryBytes([
      { log, first: 1, last: 2 },
      { log: `${uid}.2`, first: 1, last: 2 },
    ]);
    await store.findById([log, `${uid}.2`], ["m1", "m2"]);
    const copies = { id: "m2", originSessionId: "s", timestampMicros: T0 + 2 };
    await store.findOwned(uid, "m2");
    await store.listOwned(uid, undefined, 2);
    await store.listOwned(uid, { log, seq: 1, originSessionId: "s" }, 2);
    await store.overwriteEntries(await store.findCopies([{ uid, sessionId: "s" }, made], copies));
    await store.seal(log);
    const cut = await replaced(store, made, {
      dropped: [{ log, first: 2, last: 2 }],
      sessionRevision: 1,
      owner: "ada",
    });
    const dead = await store.replaceRecord(next(cut, { deleted: true }), cut.revision);
    await everyFeedCommand(store.feed as FeedTable);
    await everyQuery(store.queries as RecordQueries);
    await everyBinCommand(store.bin as RecordBin);
    const range = { log, first: 1, last: 2 };
    await store.readUsage([range, { ...range, log: `${uid}.2` }], 10);
    await store.readUsageEnds([range, { ...range, log: `${uid}.2` }]);
    await store.listSweepable(0, 10);
    await store.listDrafting("", 10);
    await store.listExpired({ expireTimeMicros: T0, updateTimeMicros: T0 }, 10);
    await store.readLast([log]);
    await store.scanRecords("", 10);
    await store.listOrphans(10);
    await everyAttachmentCommand(store, `${uid}n`);
    await store.deleteEntries({ log, first: 2, last: 3 }, 10);
    await store.deleteEntries({ uid }, 10);
    if (dead) await store.deleteRecord(uid);
    await store.replaceTodos([], (await store.readTodos()).revision);
    await store.replaceTodos([], (await store.readTodos()).revision);
    await small.figures();
  });
}

/** Every order with every single condition, and with all of them. */
async function everyQuery(queries: RecordQueries): Promise<void> {
  const all = {
    owner: "ada",
    labels: ["a=1", "b="],
    titleWords: ["kyoto", "may"],
    updatedSinceMicros: T0,
    updatedUntilMicros: T0 + 9,
  };
  const single = Object.entries(all).map(([name, value]) => ({ parentId: "", [name]: value }));
  const filters = [{ parentId: "" }, { parentId: "parent" }, ...single, { parentId: "parent", ...all }];
  const orders = (["update_time", "create_time", "title"] as const).flatMap((by) =>
    [false, true].map((descending) => ({ by, descending })),
  );
  for (const filter of filters) {
    await queries.count(filter, 10);
    for (const order of orders) {
      const after = { key: order.by === "title" ? "kyoto" : T0 + 5, sessionId: "s" };
      await queries.find({ ...filter, order }, { limit: 10 });
      await queries.find({ ...filter, order }, { limit: 10, after });
    }
  }
  await queries.sample(10);
}

async function everyBinCommand(bin: RecordBin): Promise<void> {
  for (const filter of [{}, { owner: "ada" }, { sessionId: "s" }]) {
    await bin.list(filter, { limit: 10 });
    await bin.list(filter, { limit: 10, after: { deleteTimeMicros: T0, sessionId: "s" } });
  }
  await bin.listDue(T0, 10);
}

async function everyFeedCommand(feed: FeedTable): Promise<void> {
  const { nowMs } = await feed.ends();
  await feed.read({ place: 0 }, 1);
  for (const key of ["0u", "1u"]) await feed.read({ place: 1, key }, 10);
  await feed.recent(T0);
  await feed.prune(nowMs + 1);
}

async function everyAttachmentCommand(store: LogStore, uid: string): Promise<void> {
  const table = store.attachments as AttachmentTable;
  const target = `${uid}.a`;
  const logs = [`${uid}.7`, `${uid}.8`];
  await stored(store, target, { attachmentId: "a" });
  await store.append(`${uid}.7`, 1, [naming(`${uid}.7`, 1, ["a", target])]);
  await table.readPieces(target, 1, 5);
  await table.lastPiece(target);
  await table.find(uid, ["a", "b"]);
  await table.list(uid, "", 10);
  await table.list(uid, target, 10);
  await table.listSeen("stored", 5000, 10);
  await table.usage(uid);
  await table.namings(target, undefined, 10);
  await table.namings(target, { log: `${uid}.7`, seq: 1 }, 10);
  await table.findNamings(logs, ["a", "b"]);
  await table.listNamings(logs, "", 10);
  await table.targetsIn({ log: `${uid}.7`, first: 1, last: 5 }, 10);
  await table.targetsIn({ foreignTo: uid }, 1);
  await table.change(target, { seenMs: 1, state: "doomed" });
  await table.remove(target);
  await table.clearLate?.(await store.timeMs());
}
