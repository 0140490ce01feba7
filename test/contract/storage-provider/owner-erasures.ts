import { describe, expect, it } from "vitest";
import { ERASED_PARTS } from "../../../src/domain/erasure.js";
import { history, message, messageAt, refusal, sessionWith } from "./fixtures.js";
import { PARTS, SECRET, STORED_CASES } from "./stored-erasures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeOwnerErasures(subject: StorageProviderSubject): void {
  const secret = (given = {}) => message("secret", { parts: PARTS, ...given });
  const own = (sessionId: string, owner = "ada") => subject.provider.updateSession(sessionId, { owner });
  const partsOf = async (sessionId: string, id = "secret") => (await subject.other.getMessage(sessionId, id))?.parts;
  const isStored = async () => (await subject.stored?.())?.includes(SECRET) ?? false;
  const left = async () => {
    const { sessions } = await subject.other.listSessions({ parentId: "", limit: 100 });
    return sessions.map(({ sessionId }) => sessionId).sort();
  };

  describe("eraseOwner", () => {
    it("deletes and overwrites the owner's sessions, and leaves all others as they are", async () => {
      for (const id of ["a", "b"]) await sessionWith(subject.provider, id, ["m1", secret()]);
      for (const id of ["a", "b"]) await own(id);
      await sessionWith(subject.provider, "bob", [message("secret")]);
      await own("bob", "bob");
      await sessionWith(subject.provider, "nobody", [message("secret")]);
      const before = await subject.other.getSession("bob");
      expect(await subject.provider.eraseOwner("ada")).toEqual({ sessions: 2, copies: 4 });
      expect(await left()).toEqual(["bob", "nobody"]);
      expect(await isStored()).toBe(false);
      for (const id of ["bob", "nobody"]) expect(await partsOf(id)).toEqual(message("secret").parts);
      expect(await subject.other.getSession("bob")).toEqual(before);
    });

    it("needs no second call, and finds nothing then", async () => {
      await sessionWith(subject.provider, "a", [secret()]);
      await own("a");
      await subject.provider.eraseOwner("ada");
      expect(await subject.other.eraseOwner("ada")).toEqual({ sessions: 0, copies: 0 });
      expect(await subject.other.eraseOwner("nobody")).toEqual({ sessions: 0, copies: 0 });
    });

    it("reaches sessions that were deleted or have expired, and drafts", async () => {
      for (const id of ["deleted", "expired", "drafting"]) {
        await sessionWith(subject.provider, id, [secret()]);
        await own(id);
      }
      await subject.provider.deleteSession("deleted");
      await subject.provider.updateSession("expired", { expireTimeMicros: 1 });
      await subject.provider.startDraft("drafting", { ...secret(), id: "draft" });
      expect(await subject.other.eraseOwner("ada")).toMatchObject({ sessions: 3 });
      expect(await isStored()).toBe(false);
      expect(await left()).toEqual([]);
    });

    it("continues a call that failed, whether or not it had deleted the sessions", async () => {
      for (const id of ["a", "b", "c"]) await sessionWith(subject.provider, id, [secret()]);
      for (const id of ["a", "b", "c"]) await own(id);
      await subject.provider.forkConversation("a", "fork", { as: "fork" });
      await own("fork", "bob");
      for (const passes of [1, 2]) {
        const stopped = new AbortController();
        let told = 0;
        const onProgress = () => {
          told += 1;
          if (told === passes) stopped.abort();
        };
        const { signal } = stopped;
        await refusal(subject.provider.eraseOwner("ada", { signal, onProgress }), "canceled");
      }
      const { revision } = await subject.other.getSession("fork");
      expect(await subject.other.eraseOwner("ada")).toMatchObject({ sessions: 3, copies: 3 });
      expect(await isStored()).toBe(false);
      expect(await partsOf("fork")).toEqual(ERASED_PARTS);
      expect((await subject.other.getSession("fork")).revision).toBe(revision);
    });

    it("reaches what others forked, shared or copied, also after the owner had deleted it", async () => {
      await sessionWith(subject.provider, "a", [messageAt("m1", 10), secret({ timestampMicros: subject.nowMicros })]);
      await own("a");
      await sessionWith(subject.provider, "copy", [messageAt("t1", 5), messageAt("t2", 15)]);
      await sessionWith(subject.provider, "copy of copy");
      await subject.provider.forkConversation("a", "copy", { as: "copy" });
      await subject.provider.forkConversation("copy", "copy of copy", { as: "copy" });
      for (const as of ["fork", "share"] as const) {
        await subject.provider.forkConversation("a", as, { as });
        await own(as, "bob");
      }
      await subject.provider.deleteSession("a");
      const sessions = ["fork", "share", "copy", "copy of copy"];
      const revisions = async () =>
        Promise.all(sessions.map(async (id) => (await subject.other.getSession(id)).revision));
      const before = await revisions();
      expect(await subject.other.eraseOwner("ada")).toEqual({ sessions: 1, copies: 6 });
      for (const id of sessions) {
        for (const erased of ["m1", "secret"]) expect([id, await partsOf(id, erased)]).toEqual([id, ERASED_PARTS]);
      }
      for (const id of ["t1", "t2"]) expect(await partsOf("copy", id)).toEqual(message(id).parts);
      expect(await isStored()).toBe(false);
      for (const [i, revision] of (await revisions()).entries()) expect(revision).toBeGreaterThan(before[i] as number);
    });

    it("leaves messages of others in the sessions that wrote them", async () => {
      await sessionWith(subject.provider, "template", ["m1", message("m2")]);
      await subject.provider.forkConversation("template", "a", { as: "fork" });
      await own("a");
      await subject.provider.logMessages("a", [secret()]);
      await subject.provider.forkConversation("template", "b", { as: "fork" });
      expect(await subject.provider.eraseOwner("ada")).toEqual({ sessions: 1, copies: 1 });
      for (const id of ["template", "b"]) {
        expect(await history(subject.other, id)).toEqual(["m1", "m2"]);
        expect(await partsOf(id, "m2")).toEqual(message("m2").parts);
      }
    });

    it("leaves alone a message that another session wrote under the id of the owner's", async () => {
      await sessionWith(subject.provider, "a", [secret()]);
      await own("a");
      await subject.provider.deleteSession("a");
      subject.nowMicros += 1000;
      await sessionWith(subject.provider, "a", [message("secret")]);
      await subject.provider.forkConversation("a", "fork", { as: "fork" });
      await subject.provider.eraseOwner("ada");
      for (const id of ["a", "fork"]) expect(await partsOf(id)).toEqual(message("secret").parts);
      expect(await isStored()).toBe(false);
    });

    it("says how far it has come: a pass over the owner's sessions, then one over the others", async () => {
      await sessionWith(subject.provider, "a", [secret()]);
      await own("a");
      await sessionWith(subject.provider, "bob");
      const told: object[] = [];
      await subject.provider.eraseOwner("ada", { onProgress: (progress) => told.push(progress) });
      expect(told).toEqual([
        { round: 1, sessions: 2, copies: 1 },
        { round: 2, sessions: 2, copies: 1 },
      ]);
    });
  });

  describe("eraseOwner overwrites", () => {
    it.each(STORED_CASES)("$name", async ({ options, arrange }) => {
      const provider = options ? subject.open(options) : subject.provider;
      await sessionWith(provider, "s", ["m1"]);
      await own("s");
      await arrange(provider, subject);
      if (subject.stored) expect(await isStored()).toBe(true);
      expect((await subject.other.eraseOwner("ada")).copies).toBeGreaterThan(0);
      if (subject.stored) expect(await isStored()).toBe(false);
    });
  });
}
