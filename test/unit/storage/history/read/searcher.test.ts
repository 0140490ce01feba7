import { beforeEach, describe, expect, it } from "vitest";
import { parseSearch } from "../../../../../src/domain/search.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";
import { created, entries, next } from "../../../../contract/log-store/fixtures.js";

/** All messages of a batch of three, after the first message of the session. */
const BATCH = entries("u.1", 2, 4);

let store: LogStore;
/** Called before the next range is read. */
let beforeRead: () => Promise<void>;

beforeEach(async () => {
  store = new MemoryLogDatabase().namespace("default");
  await created(store, "u", { sessionId: "s", log: "u.1" });
  await store.append("u.1", 1, entries("u.1", 1, 1));
  beforeRead = async () => {};
  const readRange = store.readRange.bind(store);
  // The store in memory does not keep `remaining`, because it stores all of a batch or nothing.
  store.readRange = async (...args) => {
    const before = beforeRead;
    beforeRead = async () => {};
    await before();
    const range = await readRange(...args);
    const remainingAt = (seq: number) => BATCH.find((entry) => entry.seq === seq)?.remaining ?? 0;
    return { ...range, entries: range.entries.map((entry) => ({ ...entry, remaining: remainingAt(entry.seq) })) };
  };
});

async function found(): Promise<string> {
  const searching = new LogHistoryProvider(store, { search: true });
  const { hits } = await searching.searchMessages({ terms: parseSearch("message"), limit: 10 });
  return hits.map(({ messageId }) => messageId).join(" ");
}

describe("a search", () => {
  it("finds no message of a batch that is stored only in part", async () => {
    await store.append("u.1", 2, BATCH.slice(0, 2));
    expect(await found()).toBe("m1");
  });

  it("finds the messages of a batch whose end is cut off and swept while it is searching", async () => {
    await store.append("u.1", 2, BATCH);
    beforeRead = async () => {
      const record = await store.readRecordByUid("u");
      if (!record) throw new Error("There is no record");
      const segments = [{ log: "u.1", first: 1, last: 3 }];
      await store.replaceRecord(next(record, { segments, log: "u.2" }), record.revision);
      await store.deleteEntries({ log: "u.1", first: 4, last: 4 }, 1);
    };
    expect(await found()).toBe("m3 m2 m1");
  });
});
