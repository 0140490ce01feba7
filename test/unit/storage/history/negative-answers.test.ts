import { beforeEach, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { Entry, LogStore } from "../../../../src/storage/history/log-store.js";
import { MAX_ATTEMPTS } from "../../../../src/storage/history/retries.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";
import { next, replaced } from "../../../contract/log-store/fixtures.js";
import { settle, World } from "../../../simulation/world.js";

const IDS = ["m1", "m2", "m3", "m4"];

let store: LogStore;
let provider: LogHistoryProvider;
/** The store call before which the session's entries are moved to another log, once. */
let movedBefore: keyof LogStore | null;

/** Moves the session's entries to another log, as a merge of segments and a sweep do together. */
async function move(): Promise<void> {
  const record = await store.readRecord("s");
  if (record === null) throw new Error("no session");
  const log = `${record.uid}.copy`;
  const { entries } = await store.readRange(record.log, 1, IDS.length);
  const copies = entries.map((entry): Entry => ({ ...entry, log }));
  const named = await replaced(store, record, { namedLogs: [{ log, purpose: "copy" }] });
  await store.append(log, 1, copies);
  const segments = [{ log, first: 1, last: IDS.length }];
  const lastTimestampMicros = entries.at(-1)?.timestampMicros as number;
  await store.replaceRecord(
    next(named, { segments, lastTimestampMicros, log: `${record.uid}.fresh`, namedLogs: [] }),
    named.revision,
  );
  while (await store.deleteEntries({ log: record.log, first: 1, last: IDS.length }, 10));
}

beforeEach(async () => {
  movedBefore = null;
  store = new MemoryLogDatabase().namespace("test");
  const moving = new Proxy(store, {
    get(target, name: keyof LogStore) {
      const member = target[name] as ((...args: unknown[]) => unknown) | undefined;
      if (!member) return undefined;
      return async (...args: unknown[]) => {
        if (name === movedBefore) {
          movedBefore = null;
          await move();
        }
        return member.apply(target, args);
      };
    },
  });
  const writer = new LogHistoryProvider(store);
  await writer.createSession({ sessionId: "s" });
  await writer.logMessages(
    "s",
    IDS.map((id, i) => ({ id, role: "user", parts: [], timestampMicros: i })),
  );
  provider = new LogHistoryProvider(moving);
});

describe("while the messages of a session move to another log", () => {
  const ids = async (options: object) =>
    (await provider.listMessages("s", { limit: 10, ...options })).messages.map(({ id }) => id);

  it.each(["readRecord", "findById"] as const)("a message is found (%s)", async (before) => {
    movedBefore = before;
    expect(await provider.getMessage("s", "m2")).toMatchObject({ id: "m2", position: 1 });
    expect(movedBefore).toBeNull();
  });

  it("a missing message is not found", async () => {
    movedBefore = "findById";
    expect(await provider.getMessage("s", "none")).toBeNull();
  });

  it.each(["tail", "seqAtTime", "readRange"] as const)("a list by time is complete (%s)", async (before) => {
    movedBefore = before;
    expect(await ids({ sinceMicros: 2 })).toEqual(["m3", "m4"]);
    expect(movedBefore).toBeNull();
    expect(await ids({ untilMicros: 2 })).toEqual(["m1", "m2"]);
  });

  it("a page continues after the message of its token", async () => {
    const { next: cursor } = await provider.listMessages("s", { limit: 2 });
    movedBefore = "readRange";
    expect(await ids({ cursor })).toEqual(["m3", "m4"]);
  });

  it("a truncate keeps what it is asked to keep", async () => {
    movedBefore = "findById";
    expect(await provider.truncateMessages("s", "m2")).toBe(2);
    expect(await provider.getMessageCount("s")).toBe(2);
  });

  it.each(["fork", "share"] as const)("a %s up to a message is made", async (as) => {
    movedBefore = "findById";
    expect(await provider.forkConversation("s", "new", { as, upToMessageId: "m2" })).toMatchObject({ copiedCount: 2 });
    expect((await store.readRecord("s"))?.forks).toBe(1);
  });

  it("a copy up to a message is made", async () => {
    await provider.createSession({ sessionId: "target" });
    movedBefore = "findById";
    const copied = await provider.forkConversation("s", "target", { as: "copy", upToMessageId: "m2" });
    expect(copied).toMatchObject({ copiedCount: 2 });
  });
});

it("a look-up that starts over because the record has changed is not reported as missing rows", async () => {
  const world = new World("atomic");
  const anomalies: string[] = [];
  const process = world.process({ onAnomaly: (text) => anomalies.push(text) });
  await process.createSession({ sessionId: "a" });
  process.gates.close("findById");
  const found = process.getMessage("a", "m");
  await settle();
  await world.process().updateSession("a", { title: "new" });
  await process.gates.open("findById");
  expect(await found).toBeNull();
  expect(anomalies).toEqual([]);
});

it.each([
  ["a look-up", async (process: LogHistoryProvider) => expect(await process.getMessage("a", "m")).toBeNull()],
  [
    "an erasure",
    (process: LogHistoryProvider) =>
      expect(process.eraseMessage("a", "m")).rejects.toMatchObject({ code: "not_found" }),
  ],
])("%s does not take a session for damaged that changes during each of its attempts", async (_, answers) => {
  const world = new World("atomic");
  const process = world.process();
  await process.createSession({ sessionId: "a" });
  const { simStore } = process;
  const findById = simStore.findById.bind(simStore);
  let changes = 0;
  simStore.findById = async (...args) => {
    if (++changes <= 2 * MAX_ATTEMPTS + 20) await world.process().updateSession("a", { title: `${changes}` });
    return findById(...args);
  };
  await answers(process);
});
