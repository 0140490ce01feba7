import { randomBytes } from "node:crypto";
import type { Collection, Document } from "mongodb";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PIECE_BYTES } from "../../src/domain/attachment.js";
import { ERASED_BODY } from "../../src/domain/erasure.js";
import { MessageBody } from "../../src/domain/message-body.js";
import { LATE_MS } from "../../src/storage/history/blocked-uid.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { AttachmentTable, LogStore, StoredAttachment } from "../../src/storage/history/log-store.js";
import { MongoAttachmentRows } from "../../src/storage/mongodb/mongo-attachment-rows.js";
import { collectionsOf } from "../../src/storage/mongodb/mongo-collections.js";
import { MongoCommands } from "../../src/storage/mongodb/mongo-commands.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { MongoLogDeletes } from "../../src/storage/mongodb/mongo-log-deletes.js";
import { MongoPieces } from "../../src/storage/mongodb/mongo-pieces.js";
import { created, disown, entry, replaced } from "../contract/log-store/fixtures.js";
import { databaseNameOf } from "../support/mongo-database.js";
import { type MongoProxy, startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";

const server = await startMongoServer();

/** What has arrived at the proxy and waits there. */
let held: { readonly name: string; readonly collection: string; arrived(): void; readonly go: Promise<void> } | null =
  null;
let proxy: MongoProxy;
let database: MongoLogDatabase;
let store: LogStore;
let table: AttachmentTable;
let uid: string;
let log: string;

beforeAll(async () => {
  if (!server) return;
  proxy = await startMongoProxy(Number(new URL(server.uri).port), {
    refuse: async (name, command) => {
      if (held === null || name !== held.name || command[name] !== held.collection) return undefined;
      const { arrived, go } = held;
      held = null;
      arrived();
      await go;
      return undefined;
    },
  });
  const uri = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
  database = await MongoLogDatabase.connect(freshDatabaseUrl({ uri }));
});
beforeEach(async () => {
  if (!server) return;
  const name = randomBytes(6).toString("hex");
  [uid, log] = [`u${name}`, `u${name}.a`];
  store = database.namespace(name);
  table = store.attachments as AttachmentTable;
});
afterAll(async () => {
  await database?.close();
  await proxy?.close();
  await server?.stop();
});

describe.skipIf(!server)("on MongoDB, where a row and its pieces are no single step, an attachment", () => {
  it("that is removed while a piece of it is under way leaves nothing once a sweep clears what came late", async () => {
    await created(store, uid);
    await table.begin(arriving({ attachmentId: "secret id", name: "secret name", mediaType: "secret/type" }));
    const piece = hold("insert", "attachment_pieces");
    const putting = table.putPiece(log, 1, Buffer.from("late"));
    await piece.arrived;
    await table.change(log, { seenMs: 0, state: "doomed" });
    await table.remove(log);
    expect(await table.findLog(log)).toBeNull();
    // What was said of it may be about to be erased.
    expect(JSON.stringify(await rows().findOne({ _id: log } as object))).not.toMatch(/secret/);
    piece.go();
    expect(await putting).toBe("stored");
    await table.clearLate?.((await store.timeMs()) - 600_000);
    expect(await piecesOf(log)).toBe(1);
    await table.clearLate?.(await store.timeMs());
    expect(await piecesOf(log)).toBe(0);
    expect(await rows().countDocuments({ _id: log } as object)).toBe(0);
  });

  it("whose caller gives up while a piece is under way leaves nothing either", async () => {
    const provider = new LogHistoryProvider(store, { sweepAgeMs: 0 });
    await provider.createSession({ sessionId: "s" });
    const gone = new AbortController();
    const piece = hold("insert", "attachment_pieces");
    const call = { signal: gone.signal };
    const uploading = provider.uploadAttachment("s", { attachmentId: "a" }, bytes(), call);
    await piece.arrived;
    gone.abort();
    await expect(uploading).rejects.toMatchObject({ code: "canceled" });
    const of = { namespace: uid.slice(1), state: "removed" };
    await expect.poll(() => rows().countDocuments(of)).toBe(1);
    piece.go();
    await expect.poll(() => pieces().countDocuments({})).toBe(1);
    await provider.sweep();
    expect(await pieces().countDocuments({})).toBe(0);
    expect(await rows().countDocuments(of)).toBe(0);
  });

  it("whose session is swept while a piece is under way leaves nothing either", async () => {
    await created(store, uid);
    await table.begin(arriving());
    const piece = hold("insert", "attachment_pieces");
    const putting = table.putPiece(log, 1, Buffer.from("late"));
    await piece.arrived;
    await disown(store, uid);
    while (await store.deleteEntries({ uid }, 100));
    expect(await store.listOrphans(10)).not.toContain(uid);
    piece.go();
    await putting;
    await table.clearLate?.(await store.timeMs());
    expect(await piecesOf(log)).toBe(0);
    // Nothing of it keeps the namespace for sweeps.
    expect(await rows().countDocuments({ namespace: uid.slice(1) })).toBe(0);
  });

  it("takes a piece back that was under way for so long that its row may have been forgotten", async () => {
    const { db, commands, clock } = parts();
    const collections = collectionsOf(db);
    let lateMs = 0;
    const late = { knownMs: () => clock.knownMs() + lateMs, timeMs: clock.timeMs };
    const own = new MongoAttachmentRows(uid.slice(1), collections.attachments, {
      commands,
      clock: late,
      records: store as never,
    });
    const deletes = new MongoLogDeletes(collections, commands, late);
    const slow = new MongoPieces(collections.pieces, { commands, clock: late, rows: own, deletes });
    await created(store, uid);
    await table.begin(arriving());
    for (const [seq, isRemoved, outcome] of [
      [1, false, "stored"],
      [2, true, "gone"],
    ] as const) {
      const piece = hold("insert", "attachment_pieces");
      const putting = slow.put(log, seq, Buffer.from("late"));
      await piece.arrived;
      lateMs += LATE_MS + 1;
      if (isRemoved) await rows().deleteOne({ _id: log } as object);
      piece.go();
      expect(await putting).toBe(outcome);
    }
    expect(await piecesOf(log)).toBe(1);
  });

  it("whose row arrives when its session is gone for good is swept, too", async () => {
    const provider = new LogHistoryProvider(store, { sweepAgeMs: 0 });
    await created(store, uid);
    await table.begin(arriving());
    await table.putPiece(log, 1, Buffer.from("x"));
    await disown(store, uid);
    expect(await store.listOrphans(10)).toContain(uid);
    await provider.sweep();
    expect(await table.findLog(log)).toBeNull();
    expect(await piecesOf(log)).toBe(0);
  });

  it("cannot be begun or completed in a session that does not live", async () => {
    const made = await created(store, uid);
    await table.begin(arriving());
    await replaced(store, made, { deleted: true });
    const facts = { size: 0, sha256: "", createTimeMicros: 1, seenMs: 1 };
    expect(await table.complete({ log, ...facts })).toBe("gone");
    expect(await table.findLog(log)).toMatchObject({ state: "arriving" });
    expect(await table.begin(arriving({ log: `${uid}.b` }))).toBe("gone");
    expect(await table.begin(arriving({ uid: "unknown", log: "unknown.b" }))).toBe("gone");
    expect(await table.list(uid, "", 10)).toHaveLength(1);
  });

  it("becomes the stored one of its id in only one of many processes", async () => {
    await created(store, uid);
    const logs = Array.from({ length: 8 }, (_, i) => `${uid}.a${i}`);
    await Promise.all(logs.map((one) => table.begin(arriving({ log: one }))));
    const facts = { size: 0, sha256: "", createTimeMicros: 1, seenMs: 1 };
    const stored = await Promise.all(logs.map((one) => table.complete({ log: one, ...facts })));
    expect(new Set(stored.map((one) => one !== "gone" && one.log)).size).toBe(1);
    expect(await table.listSeen("stored", 1, 10)).toHaveLength(1);
    // Once it is doomed, the id is free for the next.
    const [first] = stored as [StoredAttachment];
    await table.change(first.log, { seenMs: 2, state: "doomed" });
    const [other] = logs.filter((one) => one !== first.log) as [string];
    expect(await table.complete({ log: other, ...facts })).toMatchObject({ log: other, state: "stored" });
  });

  it("is indexed by documents that name it, and by no others", async () => {
    await created(store, uid);
    const named = [{ attachmentId: "$a.b", log }];
    const one = entry(`${uid}.1`, 1);
    await store.append(`${uid}.1`, 1, [
      { ...one, body: MessageBody.of({ parts: one.body.parts }, named) },
      entry(`${uid}.1`, 2),
    ]);
    const documents = () =>
      messages()
        .find({ log: `${uid}.1` })
        .sort({ seq: 1 })
        .toArray();
    expect((await documents()).map((document) => document.named)).toEqual([[{ id: "$a.b", log }], undefined]);
    await store.overwriteEntries([{ ...one, body: ERASED_BODY }]);
    expect((await documents()).every((document) => !("named" in document))).toBe(true);
    expect(await table.namings(log, undefined, 10)).toEqual([]);
  });
});

function arriving(more: Partial<StoredAttachment> = {}): StoredAttachment {
  const facts = { attachmentId: "a", mediaType: "text/plain", name: "", size: 0, sha256: "", createTimeMicros: 1 };
  return { ...facts, uid, log, seenMs: 0, state: "arriving", pieces: 0, ...more };
}

/** Holds the next command of this name to a collection back, as a network does. */
function hold(name: string, collection: string): { readonly arrived: Promise<void>; readonly go: () => void } {
  const [arrived, going] = [promised(), promised()];
  held = { name, collection, arrived: arrived.resolve, go: going.promise };
  return { arrived: arrived.promise, go: going.resolve };
}

function promised(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function parts() {
  const db = database.client.db(databaseNameOf(database));
  return { db, commands: new MongoCommands(30_000), clock: { knownMs: Date.now, timeMs: async () => Date.now() } };
}

function rows(): Collection<Document> {
  return parts().db.collection("attachments");
}

function pieces(): Collection<Document> {
  return parts().db.collection("attachment_pieces");
}

function messages(): Collection<Document> {
  return parts().db.collection("messages");
}

function piecesOf(log: string): Promise<number> {
  return pieces().countDocuments({ log });
}

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(PIECE_BYTES);
  // The end never comes, so that only its caller ends the upload.
  await new Promise(() => {});
}
