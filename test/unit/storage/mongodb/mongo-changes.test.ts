import { type Db, MongoNetworkError, MongoServerError, ObjectId, Timestamp } from "mongodb";
import { expect, it } from "vitest";
import { MongoChanges } from "../../../../src/storage/mongodb/mongo-changes.js";
import { WriteIds } from "../../../../src/storage/mongodb/write-ids.js";

const NOW = new Timestamp({ t: 5, i: 1 });

/** A database whose change streams give these changes and then fail so. */
function failing(streams: { readonly uids: readonly string[]; readonly error: Error }[]) {
  const watched: object[] = [];
  const db = {
    command: async () => ({ operationTime: NOW }),
    watch: (_pipeline: unknown, options: object) => {
      const stream = streams[watched.length];
      watched.push(options);
      return {
        close: async () => {},
        async *[Symbol.asyncIterator]() {
          for (const uid of stream?.uids ?? []) {
            const fullDocument = { write: new ObjectId() };
            yield { _id: `token of ${uid}`, ns: { coll: "sessions" }, documentKey: { _id: uid }, fullDocument };
          }
          if (stream) throw stream.error;
        },
      };
    },
  };
  return { db: db as unknown as Db, watched };
}

it("goes on behind the last change that it told, when the connection is lost", async () => {
  const lost = new MongoNetworkError("lost");
  const { db, watched } = failing([
    { uids: [], error: lost },
    { uids: ["a", "b"], error: lost },
    { uids: ["c"], error: lost },
  ]);
  const changes = new MongoChanges(db, new WriteIds());
  const told: string[] = [];
  await changes.subscribe((uid) => told.push(uid));
  await expect.poll(() => watched.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(4);
  await changes.close();
  expect(told).toEqual(["a", "b", "c"]);
  expect(watched.slice(0, 4)).toMatchObject([
    { startAtOperationTime: NOW },
    { startAtOperationTime: NOW },
    { resumeAfter: "token of b" },
    { resumeAfter: "token of c" },
  ]);
});

it("begins at the present when the server has forgotten where it was", async () => {
  const forgotten = new MongoServerError({ message: "gone", code: 286 });
  const { db, watched } = failing([{ uids: ["a"], error: forgotten }]);
  const changes = new MongoChanges(db, new WriteIds());
  await changes.subscribe(() => {});
  await expect.poll(() => watched.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
  await changes.close();
  expect(watched[1]).not.toHaveProperty("resumeAfter");
  expect(watched[1]).not.toHaveProperty("startAtOperationTime");
});
