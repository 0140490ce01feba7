import { afterAll, beforeAll, expect, it } from "vitest";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";
import { SQL } from "../../../../src/storage/sqlite/statements.js";
import { naming } from "../../../contract/log-store/attachment-fixtures.js";
import { entry, fill, own } from "../../../contract/log-store/fixtures.js";
import { openNoted, statementsDuring } from "../../../support/sqlite-statements.js";

let database: SqliteLogDatabase;

beforeAll(async () => {
  database = await openNoted(() => SqliteLogDatabase.open(":memory:"));
});
afterAll(() => database.close());

it("an append costs a statement more for each attachment that it names, and none when it names nothing", async () => {
  const store = database.namespace("default");
  await own(store, "u.1");
  // The first one moves the update time of the session.
  await store.append("u.1", 1, [entry("u.1", 1)]);
  const sent = await statementsDuring(database, async () => {
    await store.append("u.1", 2, [entry("u.1", 2)]);
    await store.append("u.1", 3, [naming("u.1", 3, ["a", "u.2"], ["b", "u.3"])]);
  });
  const plain = [SQL.openEnd, SQL.insertEntry, "COMMIT"];
  const named = [SQL.openEnd, SQL.insertEntry, SQL.insertNaming, SQL.insertNaming, "COMMIT"];
  expect(sent.map(({ text }) => text)).toEqual([...plain, ...named]);
});

it("a deletion of large pieces lets other work run", async () => {
  const store = database.namespace("default");
  await fill(store, "v.1", 1, 1);
  const row = { uid: "v", attachmentId: "a", mediaType: "", name: "", size: 0, sha256: "", createTimeMicros: 0 };
  await store.attachments.begin({ ...row, log: "v.2", seenMs: 0, state: "arriving", pieces: 0 });
  const piece = new Uint8Array(512 * 1024);
  for (let seq = 1; seq <= 5; seq++) await store.attachments.putPiece("v.2", seq, piece);
  const range = { log: "v.2", first: 1, last: 9 };
  expect(await store.deleteEntries(range, 100)).toBe(true);
  expect(await store.attachments.readPieces("v.2", 5, 1)).toHaveLength(1);
  expect(await store.attachments.lastPiece("v.2")).toBe(5);
  expect(await store.deleteEntries(range, 100)).toBe(false);
  expect(await store.attachments.lastPiece("v.2")).toBe(0);
});
