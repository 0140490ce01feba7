import { describe, expect, it } from "vitest";
import type { SessionCursor } from "../../../src/domain/page.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { StorageProviderSubject } from "../storage-provider.js";
import { numbered, refusal, SECOND } from "./fixtures.js";

export function describeSessionLists(subject: StorageProviderSubject): void {
  const make = async (sessionId: string, parentId?: string) => {
    subject.nowMicros += SECOND;
    await subject.provider.createSession({ sessionId, parentId });
  };

  describe("listSessions", () => {
    it("answers none when there are none", async () => {
      expect(await subject.provider.listSessions({ parentId: "", limit: 10 })).toEqual({ sessions: [] });
    });

    it("lists the most recently updated first, without their counts", async () => {
      for (const id of ["a", "b", "c"]) await make(id);
      subject.nowMicros += SECOND;
      await subject.provider.updateSession("a", { title: "t" });
      const { sessions, next } = await subject.other.listSessions({ parentId: "", limit: 10 });
      expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["a", "c", "b"]);
      expect(sessions.map(({ messageCount }) => messageCount)).toEqual([undefined, undefined, undefined]);
      expect(next).toBeUndefined();
    });

    it("lists the children of one session only, deleted parents' too", async () => {
      await make("parent");
      for (const id of ["c1", "c2"]) await make(id, "parent");
      await make("grandchild", "c1");
      expect(await allOf(subject.provider, "parent", 10)).toEqual(["c2", "c1"]);
      await subject.provider.deleteSession("parent");
      expect(await allOf(subject.provider, "parent", 10)).toEqual(["c2", "c1"]);
      expect(await allOf(subject.provider, "nobody", 10)).toEqual([]);
    });

    it("leaves out deleted sessions", async () => {
      for (const id of ["a", "b"]) await make(id);
      await subject.provider.deleteSession("a");
      expect(await allOf(subject.provider, "", 10)).toEqual(["b"]);
    });

    it.each([1, 2, 3, 7, 8])("goes on page by page, %i at a time, also among equal update times", async (limit) => {
      const ids = numbered(7, "s");
      for (const sessionId of ids) await subject.provider.createSession({ sessionId });
      const listed = await allOf(subject.provider, "", limit);
      expect(listed).toEqual([...ids].reverse());
    });

    it("neither skips nor repeats what is not updated meanwhile", async () => {
      for (const id of ["a", "b", "c", "d", "e"]) await make(id);
      const first = await subject.provider.listSessions({ parentId: "", limit: 2 });
      subject.nowMicros += SECOND;
      await subject.provider.updateSession("b", { title: "t" });
      await subject.provider.deleteSession("d");
      await make("f");
      expect(first.sessions.map(({ sessionId }) => sessionId)).toEqual(["e", "d"]);
      expect(await allOf(subject.other, "", 2, first.next)).toEqual(["c", "a"]);
    });

    it("has no next page when the last one is full", async () => {
      for (const id of ["a", "b"]) await make(id);
      expect((await subject.provider.listSessions({ parentId: "", limit: 2 })).next).toBeUndefined();
    });
  });

  describe("a deleted session", () => {
    it("is unknown to every operation that needs it", async () => {
      await make("s");
      await subject.provider.deleteSession("s");
      await refusal(subject.provider.getMessageCount("s"), "not_found");
      await refusal(subject.provider.getMessage("s", "m1"), "not_found");
      await refusal(subject.provider.listMessages("s", { limit: 1 }), "not_found");
      await refusal(subject.provider.loadSession("s", { limit: 1 }), "not_found");
      await refusal(subject.provider.truncateMessages("s", "m1"), "not_found");
      await refusal(subject.provider.restoreMessages("s"), "not_found");
      await refusal(subject.provider.forkConversation("s", "t", { as: "fork" }), "not_found");
      await refusal(subject.provider.forkConversation("s", "t", { as: "copy" }), "not_found");
    });
  });
}

async function allOf(provider: StorageOperations, parentId: string, limit: number, from?: SessionCursor) {
  const ids: string[] = [];
  let cursor = from;
  do {
    const page = await provider.listSessions({ parentId, limit, cursor });
    expect(page.sessions.length).toBeLessThanOrEqual(limit);
    ids.push(...page.sessions.map(({ sessionId }) => sessionId));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}
