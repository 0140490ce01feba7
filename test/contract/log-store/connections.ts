import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { LogStore, SessionRecord } from "../../../src/storage/history/log-store.js";
import { poll } from "../../support/poll.js";
import { created, entries, entry, next, own, record } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

const PROCESSES = 8;
const WRITERS = 16;
/** Trying one place after the other takes two statements for each, and 16 writers take most places first. */
const MOST_STATEMENTS = 40;

export function describeConnections(subject: LogStoreSubject): void {
  describe("a new database that many processes open at once", () => {
    const openAll = async () =>
      (await subject.openTogether(PROCESSES)).map((database) => database.namespace("default"));

    it("opens for all of them, and all see what each of them writes", async (context) => {
      if (!subject.harness.openTogether) return context.skip("the harness cannot open a database more than once");
      const stores = await openAll();
      expect(stores).toHaveLength(PROCESSES);
      await Promise.all(stores.map((store, i) => created(store, `u${i}`)));
      await Promise.all(stores.map((store, i) => store.append(`u${i}.1`, 1, [entry(`u${i}.1`, 1)])));
      for (const store of stores) {
        expect(await store.scanRecords("", 100)).toHaveLength(PROCESSES);
        expect(await store.readLast(stores.map((_, i) => `u${i}.1`))).not.toContain(null);
      }
    });

    it("gives a session id, a revision and a place in a log to exactly one of them", async (context) => {
      if (!subject.harness.openTogether) return context.skip("the harness cannot open a database more than once");
      const stores = await openAll();
      const outcomes = await Promise.all(
        stores.map((store, i) => store.createRecord(record(`u${i}`, { sessionId: "s" }))),
      );
      expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
      const [first] = stores as [LogStore];
      const before = (await first.readRecord("s")) as SessionRecord;
      const titled = stores.map((store, i) => store.replaceRecord(next(before, { title: `${i}` }), before.revision));
      expect((await Promise.all(titled)).filter((one) => one !== null)).toHaveLength(1);
      const { log } = before;
      const appends = stores.map((store, i) => store.append(log, 1, [entry(log, 1, { id: `by ${i}` })]));
      expect((await Promise.all(appends)).filter((stored) => stored === 1)).toHaveLength(1);
    });
  });

  describe("a seal among 16 writers", () => {
    it(`takes at most ${MOST_STATEMENTS} statements`, async (context) => {
      const { harness } = subject;
      if (!harness.openTogether) return context.skip("the harness cannot open a database more than once");
      if (!harness.sentDuring) return context.skip("the harness does not tell which statements a database is sent");
      const [one, two] = await subject.openTogether(2);
      if (!one || !two) throw new Error("openTogether opened fewer databases than it was asked for");
      const writing = one.namespace("default");
      await own(writing, "u.1");
      const progress = { accepted: 0 };
      const writers = Array.from({ length: WRITERS }, (_, i) => writeUntilSealed(writing, `${i}`, progress));
      await poll(() => progress.accepted > WRITERS, "the writers are busy");
      let count: number | "unnamed" = "unnamed";
      const sent = await harness.sentDuring(two, async () => {
        count = await two.namespace("default").seal("u.1");
      });
      await Promise.all(writers);
      expect(await writing.tail("u.1")).toMatchObject({ last: { seq: count }, state: "sealed" });
      expect(sent.length).toBeGreaterThan(0);
      expect(sent.length).toBeLessThanOrEqual(MOST_STATEMENTS);
    });
  });
}

/** Appends at the end of the log, without reading the end as long as it is not refused, until the log is sealed. */
async function writeUntilSealed(store: LogStore, writer: string, progress: { accepted: number }): Promise<void> {
  for (let seq = 1, round = 0; ; round++) {
    await setImmediate();
    const batch = entries("u.1", seq, seq + 2, (at) => ({ id: `${writer} ${round} ${at}` }));
    const stored = await store.append("u.1", seq, batch);
    if (stored === batch.length) {
      progress.accepted++;
      seq += batch.length;
      continue;
    }
    const { last, state } = await store.tail("u.1");
    if (state === "sealed") return;
    const { entries: rest } = await store.readRange("u.1", (last?.seq ?? 0) + 1, (last?.seq ?? 0) + 3);
    seq = (rest.at(-1)?.seq ?? last?.seq ?? 0) + 1;
  }
}
