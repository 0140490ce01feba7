import { describe, expect, it } from "vitest";
import { ERASED_PARTS } from "../../../src/domain/erasure.js";
import type { EngineOptions } from "../../../src/storage/history/log-history-provider.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { history, message, refusal, sessionWith, sweepAway } from "./fixtures.js";
import { PARTS, SECRET } from "./stored-erasures.js";
import type { StorageProviderSubject } from "./subject.js";

const DAY_MS = 86_400_000;
const FUTURE = Date.UTC(2200, 0, 1) * 1000;
const DELTA = { kind: "append_text", partId: "", text: "x" } as const;

export function describeBin(subject: StorageProviderSubject): void {
  const keeps = () => subject.store === undefined || subject.store().bin !== undefined;
  /** A case that a store without a bin skips. */
  const binIt = (text: string, run: () => Promise<void>) =>
    it(text, async ({ skip }) => (keeps() ? run() : skip("The store keeps no bin")));
  const open = (options: EngineOptions = {}) => subject.open({ undeleteMs: DAY_MS, ...options });
  const listed = async (provider: StorageOperations, given = {}) => {
    const { sessions } = await provider.listDeletedSessions({ limit: 10, ...given });
    return sessions.map(({ sessionId, title }) => title || sessionId);
  };
  /** Moves every clock a little, also that of a store which has one of its own. */
  const later = async (given = 2) => {
    // A logical clock of a server counts seconds.
    const ms = subject.store?.().knownTimeMs ? 1100 : given;
    subject.nowMicros += ms * 1000;
    await new Promise((resolve) => setTimeout(resolve, ms));
  };
  const isStored = async () => (await subject.stored?.())?.includes(SECRET) ?? false;

  describe("undeleteSession", () => {
    binIt("brings a session back as it was, with one revision more, in any process", async () => {
      const keeping = open();
      const fields = { title: "t", metadata: { k: [1] }, labels: { a: "1" }, owner: "ada", expireTimeMicros: FUTURE };
      await keeping.createSession({ sessionId: "s", ...fields });
      for (const id of ["m1", "m2", "m3"]) await keeping.logMessages("s", [message(id)]);
      await keeping.truncateMessages("s", "m2", { keepForUnrevert: true });
      const before = await keeping.getSession("s");
      await keeping.deleteSession("s");
      await refusal(subject.other.getSession("s"), "not_found");
      expect(await subject.other.scanSessions("", 10)).toMatchObject({ keys: [] });
      const { updateTimeMicros: _before, ...same } = before;
      const { updateTimeMicros, ...after } = await subject.other.undeleteSession("s");
      expect(after).toEqual({ ...same, revision: before.revision + 1 });
      expect(updateTimeMicros).toBeGreaterThanOrEqual(before.updateTimeMicros);
      const { sessions } = await keeping.listSessions({ parentId: "", labels: ["a=1"], owner: "ada", limit: 5 });
      expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["s"]);
      expect(await keeping.restoreMessages("s")).toBe(1);
      await keeping.logMessages("s", [message("m4")]);
      expect(await history(subject.other, "s")).toEqual(["m1", "m2", "m3", "m4"]);
    });

    binIt("answers a retry, also after appends, until the session is changed in another way", async () => {
      const keeping = open();
      await sessionWith(keeping, "s", ["m1"]);
      await keeping.deleteSession("s");
      const { revision } = await keeping.undeleteSession("s");
      expect(await subject.other.undeleteSession("s")).toMatchObject({ revision });
      await keeping.logMessages("s", [message("m2")]);
      expect(await subject.other.undeleteSession("s")).toMatchObject({ revision, messageCount: 2 });
      await keeping.updateSession("s", { title: "changed" });
      await refusal(subject.other.undeleteSession("s"), "already_exists");
    });

    binIt("brings back the last one with the id, and refuses while another session has it", async () => {
      const keeping = open();
      for (const title of ["first", "second", "third"]) {
        await keeping.createSession({ sessionId: "s", title });
        await keeping.deleteSession("s");
      }
      await keeping.createSession({ sessionId: "s", title: "now" });
      await refusal(keeping.undeleteSession("s"), "already_exists");
      expect(await keeping.getSession("s")).toMatchObject({ title: "now" });
      await subject.provider.deleteSession("s");
      expect(await keeping.undeleteSession("s")).toMatchObject({ title: "third" });
      await keeping.deleteSession("s");
      expect(await listed(keeping)).toEqual(["third", "second", "first"]);
    });

    binIt("takes the id of a session that has expired", async () => {
      const keeping = open();
      await keeping.createSession({ sessionId: "s", title: "first" });
      await keeping.deleteSession("s");
      await keeping.createSession({ sessionId: "s", expireTimeMicros: 1 });
      expect(await keeping.undeleteSession("s")).toMatchObject({ title: "first" });
    });

    binIt("finds nothing that was deleted without a time, never was, or has expired", async () => {
      const keeping = open();
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.provider.deleteSession("s");
      for (const id of ["s", "never"]) await refusal(keeping.undeleteSession(id), "not_found");
      await keeping.createSession({ sessionId: "expired" });
      await keeping.updateSession("expired", { expireTimeMicros: 1 });
      await sweepAway(subject);
      await refusal(keeping.undeleteSession("expired"), "not_found");
      const living = await keeping.createSession({ sessionId: "living" });
      await refusal(keeping.undeleteSession("living"), "already_exists");
      expect(await keeping.getSession("living")).toEqual(living);
    });

    binIt("has ended drafts and tickets for good", async () => {
      const keeping = open();
      await sessionWith(keeping, "s", ["m1"]);
      const mark = await keeping.getTicketMark("s");
      await keeping.startDraft("s", message("d"));
      await keeping.extendDraft("s", "d", 1, [DELTA]);
      await keeping.deleteSession("s");
      await keeping.undeleteSession("s");
      expect(await keeping.listDrafts("s")).toEqual([]);
      await expect(keeping.extendDraft("s", "d", 2, [DELTA])).rejects.toThrow();
      const access = { ticket: { sessionId: "s", ...mark } };
      await refusal(keeping.getSession("s", { access }), "unauthenticated");
      expect(await history(keeping, "s")).toEqual(["m1"]);
    });

    binIt("shows an owner only what is the owner's", async () => {
      const keeping = open();
      const [ada, bob] = ["ada", "bob"].map((owner) => ({ access: { owner } })) as [object, object];
      await keeping.createSession({ sessionId: "s", title: "of ada", owner: "ada" });
      await keeping.deleteSession("s");
      await keeping.createSession({ sessionId: "s", title: "of bob", owner: "bob" });
      await refusal(keeping.undeleteSession("s", ada), "already_exists");
      await keeping.deleteSession("s");
      expect(await listed(keeping, ada)).toEqual(["of ada"]);
      expect(await listed(keeping, { owner: "bob" })).toEqual(["of bob"]);
      expect(await listed(keeping, { owner: "" })).toEqual([]);
      await refusal(keeping.undeleteSession("s", { access: { owner: "carol" } }), "not_found");
      expect(await keeping.undeleteSession("s", ada)).toMatchObject({ title: "of ada" });
      await refusal(keeping.undeleteSession("s", bob), "already_exists");
    });

    binIt("keeps forks as they are, and what the session itself was forked from", async () => {
      const keeping = open();
      await sessionWith(keeping, "source", ["m1", "m2"]);
      await keeping.forkConversation("source", "fork", { as: "fork" });
      await keeping.logMessages("fork", [message("m3")]);
      await keeping.forkConversation("fork", "child", { as: "fork" });
      for (const id of ["source", "fork"]) await keeping.deleteSession(id);
      await sweepAway(subject);
      await keeping.logMessages("child", [message("m4")]);
      expect(await history(keeping, "child")).toEqual(["m1", "m2", "m3", "m4"]);
      await keeping.undeleteSession("fork");
      await subject.provider.deleteSession("child");
      await sweepAway(subject);
      expect(await history(keeping, "fork")).toEqual(["m1", "m2", "m3"]);
      await keeping.undeleteSession("source");
      expect(await history(keeping, "source")).toEqual(["m1", "m2"]);
    });
  });

  describe("the bin", () => {
    binIt("is listed by the newest delete, in pages, with both times and the fields of lists", async () => {
      const keeping = open();
      for (const id of ["a", "b", "c"]) await sessionWith(keeping, id, ["m1", "m2"]);
      for (const id of ["b", "c", "a"]) {
        await keeping.deleteSession(id);
        await later();
      }
      const first = await keeping.listDeletedSessions({ limit: 2, view: "full" });
      expect(first.sessions).toMatchObject([
        { sessionId: "a", messageCount: 2, lastMessage: { messageId: "m2" } },
        { sessionId: "c" },
      ]);
      const [{ deleteTimeMicros = 0, purgeTimeMicros = 0 } = {}] = first.sessions;
      expect(Math.abs(purgeTimeMicros - deleteTimeMicros - DAY_MS * 1000)).toBeLessThan(10);
      const rest = await subject.other.listDeletedSessions({ limit: 2, cursor: first.next });
      expect(rest.sessions.map(({ sessionId }) => sessionId)).toEqual(["b"]);
      expect(rest.next).toBeUndefined();
      await keeping.undeleteSession("c");
      expect(await listed(keeping)).toEqual(["a", "b"]);
    });

    binIt("is left alone by sweeps, and swept once its time is over", async () => {
      const short = open({ undeleteMs: 20 });
      await sessionWith(short, "short", [message("m1", { parts: PARTS })]);
      await sessionWith(open(), "long", ["m1"]);
      await open().deleteSession("long");
      expect(await sweepAway(subject)).toMatchObject({ sessions: 0 });
      await short.deleteSession("short");
      await later(25);
      await refusal(short.undeleteSession("short"), "not_found");
      expect(await listed(short)).toEqual(["long"]);
      expect(await sweepAway(subject)).toMatchObject({ sessions: 1 });
      expect((await subject.store?.().scanRecords("", 10))?.map(({ sessionId }) => sessionId)).toEqual(["long"]);
      await open().undeleteSession("long");
      expect(await sweepAway(subject)).toMatchObject({ sessions: 0 });
      expect(await history(subject.other, "long")).toEqual(["m1"]);
    });

    binIt("loses title and metadata when its time is over, even while forks need the messages", async () => {
      const short = open({ undeleteMs: 20 });
      await short.createSession({ sessionId: "s", title: SECRET, metadata: { k: SECRET } });
      await short.logMessages("s", [message("m1")]);
      await short.forkConversation("s", "fork", { as: "fork", title: "fork" });
      await short.updateSession("fork", { metadata: {} });
      await short.deleteSession("s");
      await later(25);
      await sweepAway(subject);
      const records = (await subject.store?.().scanRecords("", 10)) ?? [];
      expect(JSON.stringify(records)).not.toContain(SECRET);
      expect(await history(subject.other, "fork")).toEqual(["m1"]);
    });

    binIt("keeps nothing beyond the expiry or the retention of a session", async () => {
      const keeping = open();
      await keeping.createSession({ sessionId: "expiring", expireTimeMicros: FUTURE });
      await open({ undeleteMs: FUTURE }).deleteSession("expiring");
      const [{ purgeTimeMicros } = {}] = (await keeping.listDeletedSessions({ limit: 1 })).sessions;
      expect(purgeTimeMicros).toBe(FUTURE);
      await keeping.createSession({ sessionId: "old" });
      await keeping.deleteSession("old");
      await later();
      const retaining = open({ retentionMs: 1 });
      for (const id of ["expiring", "old"]) await refusal(retaining.undeleteSession(id), "not_found");
      expect(await listed(retaining)).toEqual([]);
    });
  });

  describe("an erasure", () => {
    binIt("of a message reaches sessions in the bin, which come back without it", async () => {
      const keeping = open();
      await sessionWith(keeping, "s", ["m1", message("secret", { parts: PARTS })]);
      await keeping.forkConversation("s", "fork", { as: "fork" });
      for (const id of ["s", "fork"]) await keeping.deleteSession(id);
      await subject.other.eraseMessage("s", "secret");
      expect(await isStored()).toBe(false);
      for (const id of ["s", "fork"]) {
        await keeping.undeleteSession(id);
        expect(await history(keeping, id)).toEqual(["m1", "secret"]);
        expect((await keeping.getMessage(id, "secret"))?.parts).toEqual(ERASED_PARTS);
      }
    });

    binIt("of an owner empties the bin of the owner's sessions, and deletes the living ones for good", async () => {
      const keeping = open();
      for (const id of ["binned", "living"]) {
        await keeping.createSession({ sessionId: id, owner: "ada", title: SECRET });
        await keeping.logMessages(id, [message("secret", { parts: PARTS })]);
      }
      await keeping.deleteSession("binned");
      const erased: string[] = [];
      const onSession = (sessionId: string) => void erased.push(sessionId);
      expect(await keeping.eraseOwner("ada", { onSession })).toMatchObject({ sessions: 2, copies: 2 });
      expect(erased.sort()).toEqual(["binned", "living"]);
      expect(await isStored()).toBe(false);
      expect(await listed(keeping)).toEqual([]);
      for (const id of ["binned", "living"]) await refusal(keeping.undeleteSession(id), "not_found");
      expect(JSON.stringify((await subject.store?.().scanRecords("", 10)) ?? [])).not.toContain(SECRET);
    });
  });

  describe("quotas", () => {
    binIt("do not count the bin, and refuse to bring back what has no room", async () => {
      const keeping = open({ quotas: { namespace: { sessions: 1 } } });
      await keeping.createSession({ sessionId: "a" });
      await keeping.deleteSession("a");
      await keeping.createSession({ sessionId: "b" });
      await refusal(keeping.undeleteSession("a"), "resource_exhausted");
      await keeping.deleteSession("b");
      expect(await keeping.undeleteSession("a")).toMatchObject({ sessionId: "a" });
    });
  });
}
