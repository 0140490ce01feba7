import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../../../src/domain/errors.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { LogDatabase, LogStore } from "../../../../src/storage/history/log-store.js";
import { ownerOf } from "../../../../src/storage/history/record-facts.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";
import { SqliteLogDatabase } from "../../../../src/storage/sqlite/sqlite-log-database.js";
import { TEN_MINUTES_MS } from "../../../simulation/world.js";

const DAY_MS = 86_400_000;
/** More sessions than a sweep reads at a time. */
const MANY = Array.from({ length: 120 }, (_, i) => `bad${i}`);

const message = (id: string) => ({ id, role: "user", parts: [] });
const refused = () => new DomainError("internal", "The database failed");

describe.each([
  ["memory", async (now: () => number) => new MemoryLogDatabase({ now })],
  ["SQLite", (now: () => number) => SqliteLogDatabase.open(":memory:", { now })],
] satisfies [string, (now: () => number) => Promise<LogDatabase>][])(
  "a sweep that fails for some sessions on %s",
  (_, open) => {
    let nowMs: number;
    let database: LogDatabase;
    let store: LogStore;
    let provider: LogHistoryProvider;
    let told: { text: string; error: unknown }[];

    beforeEach(async () => {
      nowMs = DAY_MS;
      database = await open(() => nowMs);
      store = database.namespace("test");
      told = [];
      provider = newProvider();
    });
    afterEach(async () => {
      await provider.close();
      await database.close();
    });

    const newProvider = () =>
      new LogHistoryProvider(store, {
        nowMicros: () => nowMs * 1000,
        random: () => 0,
        retentionMs: DAY_MS,
        onAnomaly: (text, error) => told.push({ text, error }),
      });

    /** Makes sessions, each of which expires in a second. */
    const make = async (...sessionIds: string[]) => {
      const expireTimeMicros = nowMs * 1000 + 1_000_000;
      for (const sessionId of sessionIds) await provider.createSession({ sessionId, expireTimeMicros });
    };

    const makeMarkedTombstones = async (...sessionIds: string[]) => {
      await make(...sessionIds);
      for (const sessionId of sessionIds) await provider.deleteSession(sessionId);
      await provider.sweep();
      nowMs += TEN_MINUTES_MS;
    };

    const records = () => store.scanRecords("", 1000);
    const living = async () => (await records()).filter(({ deleted }) => !deleted).map(({ sessionId }) => sessionId);

    /** From now on, sealing and deleting fail for sessions whose id begins with "bad". Returns which were tried. */
    const failFor = async (error: () => Error) => {
      const ids = new Map((await records()).map(({ uid, sessionId }) => [uid, sessionId]));
      const tried: string[] = [];
      const check = (uid: string) => {
        const sessionId = ids.get(uid) ?? "";
        if (!sessionId.startsWith("bad")) return;
        tried.push(sessionId);
        throw error();
      };
      const { seal, deleteEntries } = store;
      store.seal = async (log, ...more) => {
        check(ownerOf(log));
        return seal.call(store, log, ...more);
      };
      store.deleteEntries = async (target, ...more) => {
        check("uid" in target ? target.uid : ownerOf(target.log));
        return deleteEntries.call(store, target, ...more);
      };
      return tried;
    };

    it("deletes the other expired sessions when the draft of one has lost a row", async () => {
      await make("bad", "good");
      const { version } = await provider.startDraft("bad", message("d"));
      await provider.extendDraft("bad", "d", version, [{ kind: "append_text", partId: "p", text: "x" }]);
      const [draft] = (await store.readRecord("bad"))?.drafts ?? [];
      await store.deleteEntries({ log: draft?.log ?? "", first: 1, last: 1 }, 1);
      nowMs += 1000;
      expect(await newProvider().sweep()).toMatchObject({ failed: 1 });
      expect(await living()).toEqual(["bad"]);
      const { uid } = (await store.readRecord("bad")) ?? {};
      const text = `Session "bad" (uid ${uid}) could not be swept; the next sweep will try again`;
      expect(told).toContainEqual({ text, error: expect.objectContaining({ code: "internal" }) });
    });

    it("tries each of them once, and deletes all other expired sessions, however many fail", async () => {
      await make(...MANY);
      await provider.createSession({ sessionId: "good" });
      const tried = await failFor(refused);
      // By then the retention of all is over as well, so that a store may list those that fail twice.
      nowMs += DAY_MS;
      expect(await provider.sweep()).toMatchObject({ failed: MANY.length });
      expect(new Set(await living())).toEqual(new Set(MANY));
      expect(tried).toHaveLength(MANY.length);
      const named = told.filter(({ text }) => text.startsWith('Session "bad'));
      expect([named.length, told.length]).toEqual([20, 21]);
      expect(told.at(-1)?.text).toBe("More than 20 sessions could not be swept; the others are not named");
    });

    it("tries each of them once, and clears away all other tombstones, however many fail", async () => {
      await makeMarkedTombstones(...MANY, "good");
      const tried = await failFor(refused);
      expect(await provider.sweep()).toMatchObject({ sessions: 1, failed: MANY.length });
      expect(new Set((await records()).map(({ sessionId }) => sessionId))).toEqual(new Set(MANY));
      expect(tried).toHaveLength(MANY.length);
    });

    it("clears away the ended drafts of the others", async () => {
      for (const sessionId of ["bad1", "good", "bad2"]) {
        await provider.createSession({ sessionId });
        await provider.startDraft(sessionId, message("d"));
        await provider.discardDraft(sessionId, "d");
      }
      await provider.sweep();
      nowMs += TEN_MINUTES_MS;
      await failFor(refused);
      expect(await provider.sweep()).toMatchObject({ ranges: 1, failed: 2 });
      expect((await store.readRecord("good"))?.drafts).toEqual([]);
    });

    it("tries them again the next time", async () => {
      await makeMarkedTombstones("bad", "good");
      const { seal, deleteEntries } = store;
      await failFor(refused);
      expect(await provider.sweep()).toMatchObject({ sessions: 1, failed: 1 });
      Object.assign(store, { seal, deleteEntries });
      expect(await provider.sweep()).toMatchObject({ sessions: 1, failed: 0 });
      expect(await records()).toEqual([]);
    });

    it.each(["unavailable", "deadline_exceeded", "canceled"] as const)("ends at once with %s", async (code) => {
      await make("bad1", "bad2");
      nowMs += 1000;
      const tried = await failFor(() => new DomainError(code, "The store or the caller has gone"));
      await expect(provider.sweep()).rejects.toMatchObject({ code });
      expect([tried.length, told]).toEqual([1, []]);
    });

    it("ends at once when the call has ended, whatever the failure was", async () => {
      await make("bad1", "bad2");
      nowMs += 1000;
      const call = new AbortController();
      const tried = await failFor(() => {
        call.abort();
        return refused();
      });
      await expect(provider.sweep({ signal: call.signal })).rejects.toMatchObject({ code: "canceled" });
      expect([tried.length, told]).toEqual([1, []]);
    });
  },
);
