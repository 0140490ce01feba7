import type { Db } from "mongodb";
import { expect, it } from "vitest";
import { type Call, checkCall } from "../../../../src/domain/call.js";
import type { MongoCommands } from "../../../../src/storage/mongodb/mongo-commands.js";
import { MongoSearchIndex } from "../../../../src/storage/mongodb/mongo-search-index.js";

it("an index of words that is stopped does not look for documents again, even if a look has been waiting", async () => {
  let reads = 0;
  let answer: (documents: readonly object[]) => void = () => {};
  const read = (call: Call) => {
    checkCall(call);
    reads += 1;
    if (reads > 1) return Promise.resolve([]);
    return new Promise<readonly object[]>((resolve) => {
      answer = resolve;
    });
  };
  const db = { collection: () => ({}) } as unknown as Db;
  const index = new MongoSearchIndex(db, { read } as unknown as MongoCommands, "text", {});
  const look = index.look();
  const stopped = index.stop();
  answer([]);
  await stopped;
  await look;
  expect(reads).toBe(1);
});
