import { describe, expect, it } from "vitest";
import type { Entry } from "../../src/storage/history/log-store.js";
import { cut, idsOf, LATER_MS, sessionOf, withPartOfABatch } from "./rule-schedules/scenes.js";
import { settle, told, World } from "./world.js";

// Races that earlier designs lost (docs/history.md), except for those that rule-schedules/ and sweep-races.test.ts
// show.

/** Leaves what a sealer leaves when it dies half way: seals with a free place before them. */
function leaveHalfASeal(world: World): string {
  const { log } = world.record("a");
  for (const seq of [4, 5]) world.db.insert(log, { seq, id: `\u0000${seq}`, entry: null });
  return log;
}

describe("a seal", () => {
  it("wins against an appender that is always faster", async () => {
    const world = new World("weak");
    const process = await sessionOf(world, "m");
    const { log } = world.record("a");
    const example = world.db.row(log, 1)?.entry as Entry;
    let end = 1;
    let places = 0;
    process.gates.close("placeSeal", () => {
      places++;
      for (let i = 0; i < 100; i++) {
        const seq = end + 1;
        const entry = { ...example, seq, id: `busy ${seq}` };
        if (world.db.insert(log, { seq, id: entry.id, entry }) !== "stored") break;
        end = seq;
      }
      return false;
    });
    expect(await process.simStore.seal(log)).toBe(end);
    expect(world.db.row(log, end + 1)?.entry).toBeNull();
    expect(end).toBeGreaterThan(100);
    expect(places).toBeLessThanOrEqual(181);
  });

  it("that was left half done neither blocks nor loses an append", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    writer.gates.close("insert");
    const answer = writer.say("a", "z");
    await settle();
    leaveHalfASeal(world);
    expect(await told(world.process().truncateMessages("a", "m"))).toBe("1");
    await writer.gates.open("insert");
    expect(await answer).toBe("at 1");
    expect(await idsOf(world, "a")).toBe("m z");
  });

  it("that was left half done cuts a batch, which is written again as a whole", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    leaveHalfASeal(world);
    expect(await writer.say("a", "x", "y", "z")).toBe("at 2");
    expect(await idsOf(world, "a")).toBe("m n x y z");
  });

  it("that was left half done is completed by the next sealer", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    const log = leaveHalfASeal(world);
    expect(await world.process().simStore.seal(log)).toBe(2);
    expect(world.db.row(log, 3)?.entry).toBeNull();
    expect(await writer.say("a", "z")).toBe("at 2");
    expect(await idsOf(world, "a")).toBe("m n z");
  });

  it("may stand for more than ten minutes before the record is replaced", async () => {
    const world = new World("weak");
    await sessionOf(world, "m", "n");
    // It goes on with the head that it has read before the seal.
    const writer = world.process({ clockMs: () => 0 });
    expect(await told(writer.getMessageCount("a"))).toBe("2");
    const editor = world.process();
    editor.gates.close("replaceRecord");
    const removed = cut(editor, "a", "m");
    await settle();
    world.nowMs += LATER_MS;
    expect(await told(world.process().getMessageCount("a"))).toBe("2");
    await editor.gates.open("replaceRecord");
    expect(await removed).toBe("1");
    for (let i = 0; i < 2; i++) await world.process().sweep();
    expect(await writer.say("a", "z")).toBe("at 1");
    expect(await idsOf(world, "a")).toBe("m z");
  });
});

describe("a batch", () => {
  it.each([
    // The batch was not whole when the page was read.
    [100, 1, "m"],
    // The page ends inside the batch, so it looks for the rest, and the writer has continued by then.
    [2, 2, "m x"],
  ])("is not shown in part by a page of %i messages while the writer continues", async (limit, reads, shown) => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m");
    const reader = world.process();
    writer.gates.close("insert");
    const batch = writer.say("a", "x", "y", "z");
    await settle();
    await writer.gates.letOne("insert");
    await writer.gates.letOne("insert");
    let read = 0;
    reader.gates.close("readRange", () => ++read > 0);
    const page = reader.listMessages("a", { limit });
    await settle();
    await reader.gates.letOne("readRange");
    expect(read).toBe(reads);
    await writer.gates.open("insert");
    expect(await batch).toBe("at 1");
    await reader.gates.open("readRange");
    const { messages, next } = await page;
    expect(messages.map(({ id }) => id).join(" ")).toBe(shown);
    const rest = next && (await reader.listMessages("a", { limit, cursor: next })).messages;
    expect(rest?.map(({ id }) => id).join(" ")).toBe(reads === 1 ? undefined : "y z");
  });

  it("that was stored in part and cut by another writer is written again as a whole", async () => {
    const world = new World("weak");
    const writer = await sessionOf(world, "m", "n");
    writer.gates.close("insert");
    const batch = writer.say("a", "x", "y", "z");
    await settle();
    await writer.gates.letOne("insert");
    await writer.gates.letOne("insert");
    expect(await told(world.process().truncateMessages("a", "m"))).toBe("1");
    expect(await idsOf(world, "a")).toBe("m");
    await writer.gates.open("insert");
    expect(await batch).toBe("at 1");
    expect(await idsOf(world, "a")).toBe("m x y z");
  });

  it("whose writer died is never visible, and a retry stores it once", async () => {
    const world = new World("weak");
    await withPartOfABatch(world);
    expect(await idsOf(world, "a")).toBe("m");
    expect(await world.process().say("a", "q")).toBe("at 1");
    expect(await world.process().say("a", "x", "y", "z")).toBe("at 2");
    expect(await idsOf(world, "a")).toBe("m q x y z");
  });
});

describe("a reader", () => {
  it.each([
    ["atomic", "tail", "after", "4"],
    ["weak", "readTop", "before", "2"],
  ] as const)(
    "that reads the record before an edit and the log's end after it sees, on the %s store (%s), the state %s the edit",
    async (kind, tail, _state, shown) => {
      const world = new World(kind);
      const process = await sessionOf(world, "m", "n");
      const reader = world.process();
      await reader.ids("a");
      reader.gates.close(tail);
      const count = told(reader.getMessageCount("a"));
      await settle();
      await process.truncateMessages("a", "m");
      await process.say("a", "x", "y", "z");
      await reader.gates.open(tail);
      expect(await count).toBe(shown);
    },
  );
});

describe.each(["atomic", "weak"] as const)(
  "a reader of the newest messages by one request, on the %s store",
  (kind) => {
    it.each([
      ["before", "readNewest", "2 z y x m"],
      ["after", "answer of readNewest", "1 n m"],
    ] as const)("whose request reaches the database %s it is held up sees one state", async (_when, gate, shown) => {
      const world = new World(kind);
      const process = await sessionOf(world, "m", "n");
      const reader = world.process({ readsNewest: true });
      reader.gates.close(gate);
      const loaded = reader.loadSession("a", { limit: 10 });
      await settle();
      await process.truncateMessages("a", "m");
      await process.say("a", "x", "y", "z");
      await reader.gates.open(gate);
      const { session, messages } = await loaded;
      expect(session.messageCount).toBe(messages.length);
      expect([session.revision, ...messages.map(({ id }) => id).reverse()].join(" ")).toBe(shown);
    });
  },
);
