import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseSearch } from "../../src/domain/search.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import type { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { openMongoDatabase } from "../support/mongo-database.js";
import { startMongoServer } from "../support/mongo-server.js";

const server = await startMongoServer();
let database: MongoLogDatabase;

beforeAll(async () => {
  if (server) database = await openMongoDatabase(server, { search: true });
});
afterAll(async () => {
  await database?.close();
  await server?.stop();
});

const message = (id: string) => ({
  ...{ id, role: "user", usage: { inputTokens: 1 } },
  parts: [
    { id: "", type: "text", text: `word ${id}` },
    { id: "", type: "tool_use", text: "", data: { id, name: "bash" } },
  ],
});
const BATCH = ["b1", "b2", "b3", "b4", "b5"].map(message);

/**
 * A server that dies between two documents of an ordered insert leaves the same data as a shorter insert. The writer
 * gets no answer.
 */
describe.skipIf(!server).each([1, 2, 4])("a batch whose writer died when %i of 5 messages were stored", (stored) => {
  async function halfWritten() {
    const store = database.namespace(`half ${stored} ${Math.random()}`);
    const survivor = new LogHistoryProvider(store, { search: true });
    await survivor.createSession({ sessionId: "s" });
    await survivor.logMessages("s", [message("a1"), message("a2")]);
    const dying = new LogHistoryProvider(dyingStore(store, stored));
    await expect(dying.logMessages("s", BATCH)).rejects.toThrow("died");
    return { store, survivor };
  }

  it("is never shown in part", async () => {
    const { store, survivor } = await halfWritten();
    for (const provider of [survivor, new LogHistoryProvider(store, { search: true })]) {
      expect(await provider.getMessageCount("s")).toBe(2);
      expect((await provider.getSessionMessages("s", {})).map(({ id }) => id)).toEqual(["a1", "a2"]);
      expect(await provider.getMessage("s", "b1")).toBeNull();
      const { hits } = await provider.searchMessages({ terms: parseSearch("word"), limit: 10 });
      expect(hits.map(({ messageId }) => messageId)).toEqual(["a2", "a1"]);
      for (const by of ["model", "tool"] as const) {
        const { rows } = await provider.sumUsage({ groupBy: [{ by }], limit: 9 });
        expect(rows.map(({ calls }) => calls)).toEqual([2]);
      }
    }
  });

  it("does not keep the session from accepting appends again", async () => {
    const { survivor } = await halfWritten();
    const call = { deadlineMs: Date.now() + 600_000 };
    expect(await survivor.logMessages("s", [message("next")], call)).toEqual({ messageIds: ["next"], position: 2 });
    expect((await survivor.getSessionMessages("s", {})).map(({ id }) => id)).toEqual(["a1", "a2", "next"]);
  });

  it("is stored once by a retry with the same ids, and not again by a second retry", async () => {
    const { store, survivor } = await halfWritten();
    const ids = BATCH.map(({ id }) => id);
    expect(await survivor.logMessages("s", BATCH)).toEqual({ messageIds: ids, position: 2 });
    expect(await new LogHistoryProvider(store).logMessages("s", BATCH)).toEqual({ messageIds: ids, position: 2 });
    expect((await survivor.getSessionMessages("s", {})).map(({ id }) => id)).toEqual(["a1", "a2", ...ids]);
  });
});

/** Returns a store that stores this many entries of a batch and then fails as a process that dies. */
function dyingStore(store: LogStore, stored: number): LogStore {
  return new Proxy(store, {
    get(target, property) {
      if (property !== "append") {
        const member = target[property as keyof LogStore];
        return typeof member === "function" ? member.bind(target) : member;
      }
      const append: LogStore["append"] = async (log, seq, entries, call) => {
        await target.append(log, seq, entries.slice(0, stored), call);
        throw new Error("The process died");
      };
      return append;
    },
  });
}
