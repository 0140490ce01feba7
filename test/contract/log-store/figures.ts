import { describe, expect, it } from "vitest";
import type { DraftRef, LogStore } from "../../../src/storage/history/log-store.js";
import { created, replaced } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

const MINUTE_MS = 60_000;

/** The figures of a database. A database without figures skips these cases. */
export function describeFigures(subject: LogStoreSubject): void {
  describe("figures", () => {
    it("are those of an empty database at first", async (context) => {
      expect(await figures(context)).toMatchObject({ sessions: 0, openDrafts: 0, unsweptAgeMs: 0 });
    });

    it("count the living sessions and their open drafts, in all namespaces", async (context) => {
      const { store } = subject;
      await created(store, "a", { drafts: [draft("a.d1"), draft("a.d2", "finished")] });
      await created(store, "b");
      await created(subject.database.namespace("other"), "c", { drafts: [draft("c.d1"), draft("c.d2")] });
      await replaced(store, await created(store, "d", { drafts: [draft("d.d1")] }), { deleted: true });
      expect(await figures(context)).toMatchObject({ sessions: 3, openDrafts: 3 });
    });

    it("tell how long ago the oldest mark of a sweep was set", async (context) => {
      const { store } = subject;
      const nowMs = await store.timeMs();
      const range = (log: string, markedAtMs: number) => ({ log, first: 1, last: 2, markedAtMs });
      await created(store, "a", { dropped: [range("a.1", nowMs - MINUTE_MS)] });
      await created(subject.database.namespace("other"), "b", { dropped: [range("b.1", nowMs - 2 * MINUTE_MS)] });
      await expectAge(context, 2 * MINUTE_MS, nowMs, store);
    });

    it("tell how long ago the first session expired, if no mark is older", async (context) => {
      const { store } = subject;
      const nowMs = await store.timeMs();
      await created(store, "a", { expireTimeMicros: (nowMs - MINUTE_MS) * 1000 });
      await created(store, "b", { expireTimeMicros: (nowMs + MINUTE_MS) * 1000 });
      await expectAge(context, MINUTE_MS, nowMs, store);
    });

    it("leave out what no sweep acts on: what is not marked yet, forked, or being restored", async (context) => {
      const { store } = subject;
      const markedAtMs = (await store.timeMs()) - MINUTE_MS;
      await created(store, "a", { dropped: [{ log: "a.1", first: 1, last: 2 }] });
      const { sessionId } = await created(store, "b", { dropped: [{ log: "b.1", first: 1, last: 2, markedAtMs }] });
      await store.raiseForks(sessionId);
      await replaced(store, await created(store, "c"), { deleted: true, restoring: true, markedAtMs });
      expect(await figures(context)).toMatchObject({ unsweptAgeMs: 0 });
    });
  });

  async function figures({ skip }: { skip(reason: string): never }) {
    const { database } = subject;
    return database.figures === undefined ? skip("this store has no figures") : database.figures();
  }

  /** The store's clock may advance while the figures are read. */
  async function expectAge(
    context: { skip(reason: string): never },
    ageMs: number,
    sinceMs: number,
    store: LogStore,
  ): Promise<void> {
    const { unsweptAgeMs } = await figures(context);
    const passedMs = (await store.timeMs()) - sinceMs;
    expect(unsweptAgeMs).toBeGreaterThanOrEqual(ageMs);
    expect(unsweptAgeMs).toBeLessThanOrEqual(ageMs + passedMs);
  }
}

function draft(log: string, end?: DraftRef["end"]): DraftRef {
  return { log, messageId: log, timestampMicros: null, discardWhenAbandoned: false, ...(end && { end }) };
}
