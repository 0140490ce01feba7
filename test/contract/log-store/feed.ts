import { describe, expect, it } from "vitest";
import type { FeedChange, FeedTable } from "../../../src/storage/history/log-store.js";
import { created, entry, record, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

/** The feed, where a store has one. */
export function describeFeed(subject: LogStoreSubject): void {
  const feed = () => subject.store.feed as FeedTable;
  const feedIt = (name: string, work: () => Promise<void>) =>
    it(name, async (test) => {
      if (subject.store.feed === undefined) return test.skip("the store has no feed");
      await work();
    });
  const end = async () => (await feed().ends()).last;
  const nameOf = (change: FeedChange) =>
    `${change.kind} ${change.kind === "state" ? change.record.sessionId : change.sessionId}`;
  /** Everything after a place, in pages of this size, once nothing is behind any more. */
  const changesAfter = async (place: number, limit = 100) => {
    const found: FeedChange[] = [];
    for (let cursor: Parameters<FeedTable["read"]>[0] = { place }; ; ) {
      const page = await feed().read(cursor, limit);
      found.push(...page.changes);
      if (page.next !== null) cursor = page.next;
      else if (page.isBehind) await new Promise((resolve) => setTimeout(resolve, 5));
      else return found;
      if (page.next === null) cursor = { place: Math.max(cursor.place, page.last) };
    }
  };
  const named = async (place: number, limit?: number) => (await changesAfter(place, limit)).map(nameOf);

  describe("feed", () => {
    feedIt("keeps a namespace listed whose last session was swept, until its departures are pruned", async () => {
      const record = await created(subject.store, "u1", { sessionId: "s" });
      await replaced(subject.store, record, { deleted: true });
      await subject.store.deleteRecord("u1");
      const [name] = await subject.database.listNamespaces();
      expect(name).toBeDefined();
      const other = subject.database.namespace(name as string);
      await other.feed?.prune((await feed().ends()).nowMs + 1);
      expect(await subject.database.listNamespaces()).toEqual([]);
    });

    feedIt("has each session once, at the place of its last change, in any size of pages", async () => {
      const start = await end();
      for (const uid of ["u1", "u2", "u3"]) await created(subject.store, uid, { sessionId: uid });
      const first = (await subject.store.readRecord("u1")) as NonNullable<FeedChange & { kind: "state" }>["record"];
      await replaced(subject.store, first, { sessionRevision: 1 });
      for (const limit of [1, 2, 100]) {
        expect(await named(start, limit)).toEqual(["state u2", "state u3", "state u1"]);
      }
      const places = (await changesAfter(start)).map(({ place }) => place);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(await named(await end())).toEqual([]);
      const other = subject.database.namespace("other").feed as FeedTable;
      expect((await other.read({ place: 0 }, 10)).changes).toEqual([]);
    });

    feedIt("says when a session was made, and when one was deleted and another made with its id", async () => {
      const start = await end();
      const one = await created(subject.store, "u1", { sessionId: "s", owner: "ada", labels: { k: "v" } });
      const made = (await changesAfter(start))[0] as FeedChange & { kind: "state" };
      expect(made.madeAt).toBe(made.place);
      const titled = await replaced(subject.store, one, { sessionRevision: 1, title: "t" });
      const changed = (await changesAfter(start))[0] as FeedChange & { kind: "state" };
      expect(changed.madeAt).toBe(made.place);
      expect(changed.place).toBeGreaterThan(made.place);
      await replaced(subject.store, titled, { deleted: true });
      await created(subject.store, "u2", { sessionId: "s" });
      const [gone, next] = (await changesAfter(start)) as [FeedChange, FeedChange & { kind: "state" }];
      expect([nameOf(gone), nameOf(next), next.record.uid]).toEqual(["deleted s", "state s", "u2"]);
      expect(gone).toMatchObject({
        uid: "u1",
        past: { owner: feed().digest("u1", "ada"), labels: [feed().digest("u1", "k=v")] },
      });
      expect(JSON.stringify(gone)).not.toContain("ada");
    });

    feedIt("says what a session had before its owner or its labels changed", async () => {
      const one = await created(subject.store, "u1", { sessionId: "s", labels: { k: "v" } });
      const start = await end();
      const owned = await replaced(subject.store, one, { sessionRevision: 1, owner: "ada" });
      await replaced(subject.store, owned, { sessionRevision: 2, labels: { k: "w" } });
      const pasts = (await changesAfter(start)).flatMap((change) => (change.kind === "left" ? [change.past] : []));
      const labels = [feed().digest("u1", "k=v")];
      expect(pasts).toEqual([
        { owner: "", labels },
        { owner: feed().digest("u1", "ada"), labels },
      ]);
    });

    feedIt("says nothing of what callers cannot notice, and of sessions that are being restored", async () => {
      const one = await created(subject.store, "u1", { sessionId: "s" });
      await subject.store.createRecord(record("u2", { sessionId: "hidden", deleted: true, restoring: true }));
      const start = await end();
      await subject.store.addFork("u1", 1);
      await subject.store.raiseForks("s");
      await replaced(subject.store, one, { dropped: [{ log: "u1.0", first: 1, last: 2, markedAtMs: 5 }] });
      expect(await named(start)).toEqual([]);
      const hidden = await subject.store.readRecordByUid("u2");
      if (hidden === null) throw new Error("The record is missing");
      const { forks: _forks, ...living } = hidden;
      await subject.store.publishRecord({ ...living, deleted: false, restoring: undefined });
      expect(await named(start)).toEqual(["state hidden"]);
    });

    feedIt("moves with an append after the slack, and also when the clock was set back", async () => {
      await created(subject.store, "u1", { sessionId: "s" });
      let start = await end();
      // The record says that it was updated long ago.
      await subject.store.append("u1.1", 1, [entry("u1.1", 1)]);
      await subject.store.touchRecords?.(new Map([["u1", T0 + 1]]));
      expect(await named(start)).toEqual(["state s"]);
      if (subject.harness.hasOwnClock) return;
      subject.advance(-3_600_000);
      for (const seq of [2, 3]) {
        start = await end();
        await subject.store.append("u1.1", seq, [entry("u1.1", seq)]);
        expect(await named(start)).toEqual(["state s"]);
      }
    });

    feedIt("removes old rows, says so, and never gives a place again", async () => {
      const one = await created(subject.store, "u1", { sessionId: "s" });
      const start = await end();
      await replaced(subject.store, one, { deleted: true });
      const [gone] = await changesAfter(start);
      const { nowMs, first } = await feed().ends();
      expect(await feed().prune(nowMs - 60_000)).toBe(0);
      expect((await feed().ends()).first).toBe(first);
      expect(await feed().prune(nowMs + 1)).toBe(1);
      expect((await feed().ends()).first).toBe(gone?.place);
      await created(subject.store, "u2", { sessionId: "s" });
      expect(await named(gone?.place as number)).toEqual(["state s"]);
      await feed().settle();
    });
  });
}
