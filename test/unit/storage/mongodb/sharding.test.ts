import { expect, it } from "vitest";
import { INDEXES } from "../../../../src/storage/mongodb/mongo-indexes.js";
import { documentedProgram } from "../../../clients/documented.js";

type Key = Readonly<Record<string, number>>;

it("the documented shard keys are prefixes of all unique indexes, as MongoDB demands", () => {
  const sharded: [collection: string, key: Key][] = [];
  const sh = {
    enableSharding: (database: string) => expect(database).toBe("session_pool"),
    shardCollection: (name: string, key: Key) => sharded.push([name.replace("session_pool.", ""), key]),
  };
  new Function("sh", documentedProgram("js", "sh.shardCollection"))(sh);
  expect(sharded.map(([collection]) => collection)).toEqual([
    "messages",
    "sessions",
    "attachments",
    "attachment_pieces",
  ]);
  for (const [collection, key] of sharded) {
    const unique = INDEXES.filter((index) => index.collection === collection && index.unique);
    // The id of a piece begins with its log, which is the shard key.
    expect(unique.length > 0 || collection === "attachment_pieces").toBe(true);
    const fields = Object.entries(key);
    for (const index of unique) expect(Object.entries(index.key).slice(0, fields.length)).toEqual(fields);
  }
});
