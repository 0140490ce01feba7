import { describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";
import type { SweepReport } from "../../../../src/storage/storage-provider.js";
import { TEN_MINUTES_MS, World } from "../../../simulation/world.js";

const LATER_MS = TEN_MINUTES_MS + 60_000;
const SIX_MINUTES_MS = 0.6 * TEN_MINUTES_MS;

const seqsOf = (world: World, log: string) => world.db.rows(log).map(({ seq }) => seq);

async function sessionIn(world: World): Promise<string> {
  const process = world.process();
  await process.createSession({ sessionId: "a" });
  await process.say("a", "m1", "m2", "m3", "m4");
  return world.record("a").log;
}

describe("a sweep", () => {
  it("removes old ranges of a log, and keeps the others in the log and in the record", async () => {
    const world = new World("atomic");
    const log = await sessionIn(world);
    await world.process().truncateMessages("a", "m3");
    await world.process().sweep();
    world.nowMs += SIX_MINUTES_MS;
    await world.process().truncateMessages("a", "m2");
    await world.process().sweep();
    expect(seqsOf(world, log)).toContain(4);
    world.nowMs += SIX_MINUTES_MS;
    await world.process().sweep();
    expect(seqsOf(world, log)).toEqual([1, 2, 3]);
    expect(world.record("a").dropped).toContainEqual(expect.objectContaining({ log, first: 3, last: 3 }));
    world.nowMs += SIX_MINUTES_MS;
    await world.process().sweep();
    expect(seqsOf(world, log)).toEqual([1, 2]);
    expect(world.record("a").dropped).toEqual([]);
  });

  it("removes nothing of a range until ten minutes after its mark", async () => {
    const world = new World("atomic");
    const log = await sessionIn(world);
    await world.process().truncateMessages("a", "m3");
    await world.process().sweep();
    world.nowMs += TEN_MINUTES_MS - 1000;
    await world.process().sweep();
    expect(seqsOf(world, log)).toContain(4);
  });

  it("keeps a source that is marked later than its fork until ten minutes after its own mark", async () => {
    const world = new World("atomic");
    const process = world.process();
    await sessionIn(world);
    await process.forkConversation("a", "b", { as: "fork" });
    await process.deleteSession("b");
    await world.process().sweep();
    world.nowMs += SIX_MINUTES_MS;
    await process.deleteSession("a");
    await world.process().sweep();
    world.nowMs += SIX_MINUTES_MS;
    expect(await world.process().sweep()).toMatchObject({ sessions: 1 });
    world.nowMs += LATER_MS;
    expect(await world.process().sweep()).toMatchObject({ sessions: 1 });
  });

  it("reports how many sessions and ranges it has removed, while it runs and at the end", async () => {
    const world = new World("atomic");
    await sessionIn(world);
    await world.process().truncateMessages("a", "m3");
    await world.process().createSession({ sessionId: "b" });
    await world.process().deleteSession("b");
    await world.process().sweep();
    world.nowMs += LATER_MS;
    const told: SweepReport[] = [];
    const report = await world.process().sweep({ onProgress: (now) => told.push(now) });
    expect(report).toEqual({ sessions: 1, ranges: 1, attachments: 0, repairedForks: 0, orphans: 0, failed: 0 });
    expect(told.at(-1)).toEqual(report);
  });

  it("gives a tombstone that it marks a new revision, so that no replacement is based on an earlier one", async () => {
    const database = new MemoryLogDatabase({ now: () => 1_000_000 });
    const store = database.namespace("test");
    const provider = new LogHistoryProvider(store, {});
    await provider.createSession({ sessionId: "a" });
    const { uid = "" } = (await store.readRecord("a")) ?? {};
    await provider.deleteSession("a");
    const before = await store.readRecordByUid(uid);
    await provider.sweep();
    const marked = await store.readRecordByUid(uid);
    expect(marked).toMatchObject({ markedAtMs: 1_000_000, revision: (before?.revision ?? 0) + 1 });
    await provider.close();
    await database.close();
  });
});

describe("a repair", () => {
  it("recounts forks, up and down", async () => {
    const database = new MemoryLogDatabase({ now: () => 1_000_000 });
    const store = database.namespace("test");
    const provider = new LogHistoryProvider(store, {});
    const names = Array.from({ length: 101 }, (_, i) => `s${i}`);
    for (const sessionId of names) await provider.createSession({ sessionId });
    await provider.logMessages("s0", [{ role: "user", parts: [] }]);
    for (const target of ["f1", "f2"]) await provider.forkConversation("s0", target, { as: "fork" });
    const forksOf = async (id: string) => (await store.readRecord(id))?.forks;
    const uidOf = async (id: string) => (await store.readRecord(id))?.uid ?? "";
    await store.addFork(await uidOf("s0"), -1);
    for (let i = 0; i < 2; i++) await store.addFork(await uidOf("s100"), 1);
    const told: SweepReport[] = [];
    const report = await provider.sweep({ repair: true, onProgress: (now) => told.push(now) });
    expect([await forksOf("s0"), await forksOf("s100")]).toEqual([2, 0]);
    expect(report).toEqual({ sessions: 0, ranges: 0, attachments: 0, repairedForks: 2, orphans: 0, failed: 0 });
    expect(told).toHaveLength(2);
    expect(await provider.sweep({ repair: true })).toMatchObject({ repairedForks: 0 });
    await provider.close();
    await database.close();
  });

  it("deletes entries whose session is gone, and no others", async () => {
    const world = new World("atomic");
    const log = await sessionIn(world);
    const [row] = world.db.rows(log);
    for (const orphan of ["x1.1", "x2.1"])
      world.db.insert(orphan, { ...row, seq: 1, id: "m1", entry: row?.entry ?? null });
    const told: SweepReport[] = [];
    const report = await world.process().sweep({ repair: true, onProgress: (now) => told.push(now) });
    expect(report).toEqual({ sessions: 0, ranges: 0, attachments: 0, repairedForks: 0, orphans: 2, failed: 0 });
    expect(told.map(({ orphans }) => orphans)).toEqual([1, 2]);
    expect([seqsOf(world, "x1.1"), seqsOf(world, "x2.1"), seqsOf(world, log)]).toEqual([[], [], [1, 2, 3, 4]]);
  });
});
