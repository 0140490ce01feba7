import { describe, expect, it } from "vitest";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { history, message, refusal, SECOND, sessionWith, sweepAway } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/**
 * A store with its own clock ignores the clock of the test cases. By every clock, 1970 is in the past and the year 2200
 * in the future.
 */
const PAST = 1;
const FUTURE = Date.UTC(2200, 0, 1) * 1000;
const DELTA = { kind: "append_text", partId: "", text: "x" } as const;

export function describeExpiry(subject: StorageProviderSubject): void {
  const expire = (sessionId: string) => subject.provider.updateSession(sessionId, { expireTimeMicros: PAST });
  const listed = async (limit = 10) => {
    const { sessions } = await subject.other.listSessions({ parentId: "", limit });
    return sessions.map(({ sessionId }) => sessionId);
  };

  describe("expire_time", () => {
    it("is returned, can be moved and can be cleared", async () => {
      const made = await subject.provider.createSession({ sessionId: "s", expireTimeMicros: FUTURE });
      expect(made.expireTimeMicros).toBe(FUTURE);
      const { expireTimeMicros, revision } = await subject.other.updateSession("s", { expireTimeMicros: FUTURE + 1 });
      expect([expireTimeMicros, revision]).toEqual([FUTURE + 1, made.revision + 1]);
      expect((await subject.provider.getSession("s")).expireTimeMicros).toBe(FUTURE + 1);
      expect((await subject.provider.updateSession("s", { title: "t" })).expireTimeMicros).toBe(FUTURE + 1);
      expect((await subject.provider.updateSession("s", { expireTimeMicros: null })).expireTimeMicros).toBeUndefined();
      const again = await subject.other.updateSession("s", { expireTimeMicros: null });
      expect(again).toMatchObject({ revision: made.revision + 3 });
    });

    it("distinguishes a retry of createSession from another call, when it is set", async () => {
      await subject.provider.createSession({ sessionId: "s", expireTimeMicros: FUTURE });
      await subject.provider.createSession({ sessionId: "s", expireTimeMicros: FUTURE });
      await subject.provider.createSession({ sessionId: "s" });
      const other = subject.provider.createSession({ sessionId: "s", expireTimeMicros: FUTURE + 1 });
      await refusal(other, "already_exists");
    });

    it("changes no message, and leaves an unrevert possible", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      await subject.provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      expect(await subject.provider.updateSession("s", { expireTimeMicros: FUTURE })).toMatchObject({
        messageCount: 1,
        reverted: true,
      });
      expect(await subject.other.restoreMessages("s")).toBe(1);
      await subject.other.logMessages("s", [message("m3")]);
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2", "m3"]);
      expect((await subject.provider.getSession("s")).expireTimeMicros).toBe(FUTURE);
    });

    it("ends the drafts of a session once it has passed, even in a provider that has cached them", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const providers = [subject.provider, subject.other];
      for (const [i, provider] of providers.entries()) {
        await provider.startDraft("s", message(`d${i}`));
        expect(await provider.extendDraft("s", `d${i}`, 1, [DELTA])).toBe(2);
      }
      await expire("s");
      for (const [i, provider] of providers.entries()) {
        await refusal(provider.extendDraft("s", `d${i}`, 2, [DELTA]), "not_found");
      }
    });

    it("makes every call answer not_found at once after it has passed, on every provider", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.provider.createSession({ sessionId: "target" });
      await subject.other.logMessages("s", [message("m2")]);
      await expire("s");
      for (const provider of [subject.provider, subject.other]) {
        for (const call of callsOf(provider)) await refusal(call(), "not_found");
      }
      expect(await listed()).toEqual(["target"]);
      expect(await subject.provider.snapshotSession("s")).toBeNull();
      expect((await subject.provider.scanSessions("", 10)).keys.map(({ sessionId }) => sessionId)).toEqual(["target"]);
    });

    it("makes backups treat a source as deleted once it has passed", async () => {
      await sessionWith(subject.provider, "source", ["m1"]);
      await subject.provider.forkConversation("source", "fork", { as: "fork" });
      expect((await subject.provider.snapshotSession("fork"))?.origin).toMatchObject({ sourceLives: true });
      await expire("source");
      for (const provider of [subject.provider, subject.other]) {
        expect((await provider.snapshotSession("fork"))?.origin).toMatchObject({ sourceLives: false });
      }
    });

    it("leaves no session when it has already passed as the session is created", async () => {
      await subject.provider.createSession({ sessionId: "s", expireTimeMicros: PAST });
      await refusal(subject.provider.getSession("s"), "not_found");
    });

    it("frees the id at once, for a session with nothing of the old one", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await expire("s");
      expect(await subject.other.createSession({ sessionId: "s", title: "new" })).toMatchObject({ messageCount: 0 });
      await subject.provider.logMessages("s", [message("m2")]);
      expect(await history(subject.other, "s")).toEqual(["m2"]);
      await sessionWith(subject.provider, "t", ["m1"]);
      await expire("t");
      await subject.provider.forkConversation("s", "t", { as: "fork" });
      expect(await history(subject.other, "t")).toEqual(["m2"]);
    });

    it("is not passed on to forks and shares, which stay", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      await subject.provider.updateSession("s", { expireTimeMicros: FUTURE });
      for (const as of ["fork", "share"] as const) {
        const { session } = await subject.provider.forkConversation("s", as, { as });
        expect(session).toMatchObject({ sessionId: as, expireTimeMicros: undefined });
      }
      await subject.provider.createSession({ sessionId: "child", parentId: "s" });
      await expire("s");
      expect(await sweepAway(subject)).toMatchObject({ sessions: 0 });
      for (const id of ["fork", "share"]) expect(await history(subject.other, id)).toEqual(["m1", "m2"]);
      const all = await subject.other.getSessionMessages("child", { includeAncestors: true });
      expect(all.map(({ id }) => id)).toEqual(["m1", "m2"]);
      for (const id of ["fork", "share", "child"]) await subject.provider.deleteSession(id);
      expect(await sweepAway(subject)).toMatchObject({ sessions: 4 });
    });

    it("leaves pages of lists full, and hides nothing else", async () => {
      const ids = ["a", "b", "c", "d", "e", "f", "g"];
      for (const id of ids) {
        subject.nowMicros += 2 * SECOND;
        await subject.provider.createSession({ sessionId: id, expireTimeMicros: "bdef".includes(id) ? PAST : FUTURE });
      }
      expect(await listed(2)).toEqual(["g", "c"]);
      const { next } = await subject.other.listSessions({ parentId: "", limit: 2 });
      const rest = await subject.other.listSessions({ parentId: "", limit: 2, cursor: next });
      expect([rest.sessions.map(({ sessionId }) => sessionId), rest.next]).toEqual([["a"], undefined]);
    });

    it("ends followers like a delete", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const events = (await subject.other.followMessages("s", 0))[Symbol.asyncIterator]();
      expect((await events.next()).value).toMatchObject({ kind: "appended" });
      const ended = refusal(events.next(), "not_found");
      await expire("s");
      await ended;
    });

    it("makes the sweep delete expired sessions, with forks and without", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "source", ["m1"]);
      await subject.provider.forkConversation("source", "fork", { as: "fork" });
      await subject.provider.createSession({ sessionId: "stays", expireTimeMicros: FUTURE });
      await expire("s");
      await expire("source");
      await subject.provider.sweep();
      // The sessions are not found even at a time before they expired, because their records are tombstones now.
      subject.nowMicros = PAST - 1;
      for (const id of ["s", "source"]) await refusal(subject.other.getSession(id), "not_found");
      expect([...(await listed())].sort()).toEqual(["fork", "stays"]);
    });
  });

  describe("retention", () => {
    const ago = 1000;
    const opened = () => subject.open({ retentionMs: ago });

    it("hides sessions that were not changed for that long, and lets the sweep delete them", async () => {
      const old = await subject.provider.createSession({ sessionId: "s" });
      const retaining = opened();
      subject.nowMicros = Math.max(subject.nowMicros, old.updateTimeMicros) + ago * 1000;
      await refusal(retaining.getSession("s"), "not_found");
      await refusal(retaining.logMessages("s", [message("m1")]), "not_found");
      expect(await subject.provider.getSession("s")).toMatchObject({ sessionId: "s" });
      await retaining.sweep();
      await refusal(subject.provider.getSession("s"), "not_found");
    });

    it("keeps sessions for ever when it is not set", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      subject.nowMicros += 1e15;
      await subject.provider.sweep();
      expect(await subject.provider.getSession("s")).toMatchObject({ sessionId: "s" });
    });
  });
}

function callsOf(provider: StorageOperations): (() => Promise<unknown>)[] {
  return [
    () => provider.getSession("s"),
    () => provider.loadSession("s", { limit: 1 }),
    () => provider.getSessionMessages("s"),
    () => provider.listMessages("s", { limit: 1 }),
    () => provider.listMessages("s", { limit: 1, newestFirst: true }),
    () => provider.getMessage("s", "m1"),
    () => provider.getMessageCount("s"),
    () => provider.logMessages("s", [message("m3")]),
    () => provider.logMessages("s", [message("m1")]),
    () => provider.truncateMessages("s", "m1"),
    () => provider.restoreMessages("s"),
    () => provider.updateSession("s", { expireTimeMicros: null }),
    () => provider.updateSession("s", {}),
    () => provider.deleteSession("s"),
    () => provider.forkConversation("s", "f", { as: "fork" }),
    () => provider.forkConversation("s", "f", { as: "share" }),
    () => provider.forkConversation("s", "target", { as: "copy" }),
    () => provider.forkConversation("target", "s", { as: "copy" }),
    () => provider.createSession({ sessionId: "c", parentId: "s" }),
    () => provider.followMessages("s", undefined),
  ];
}
