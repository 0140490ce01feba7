import { describe, expect, it } from "vitest";
import type { SessionCursor } from "../../../src/domain/page.js";
import { message, refusal, SECOND } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeLabels(subject: StorageProviderSubject): void {
  const make = async (sessionId: string, labels?: { readonly [key: string]: string }, parentId?: string) => {
    subject.nowMicros += 2 * SECOND;
    return subject.provider.createSession({ sessionId, labels, parentId });
  };
  const listed = async (labels: readonly string[], limit = 10, parentId = "") => {
    const ids: string[] = [];
    let cursor: SessionCursor | undefined;
    do {
      const page = await subject.other.listSessions({ parentId, labels, limit, cursor });
      ids.push(...page.sessions.map(({ sessionId }) => sessionId));
      cursor = page.next;
    } while (cursor !== undefined);
    return ids;
  };

  describe("labels", () => {
    it("are in every answer, and are absent or empty when none are set", async () => {
      const labels = Object.fromEntries([
        ["user", "ada"],
        ["__proto__", ""],
        ["a.b", "$x=\u0000"],
      ]);
      expect((await make("s", labels)).labels).toEqual(labels);
      expect((await subject.other.getSession("s")).labels).toEqual(labels);
      expect((await subject.other.loadSession("s", { limit: 1 })).session.labels).toEqual(labels);
      expect((await subject.other.listSessions({ parentId: "", limit: 1 })).sessions[0]?.labels).toEqual(labels);
      expect((await make("bare", {})).labels ?? {}).toEqual({});
    });

    it("distinguish a retry of createSession from another call, when it sets some", async () => {
      await make("s", { a: "1", b: "2" });
      expect(await make("s", { b: "2", a: "1" })).toMatchObject({ sessionId: "s" });
      expect(await make("s")).toMatchObject({ labels: { a: "1", b: "2" } });
      await refusal(make("s", { a: "1" }), "already_exists");
    });

    it("are replaced as a whole, which is a change of the session", async () => {
      const { revision } = await make("s", { a: "1", b: "2" });
      const changed = await subject.provider.updateSession("s", { labels: { b: "3" } });
      expect(changed).toMatchObject({ labels: { b: "3" }, revision: revision + 1 });
      expect(await subject.provider.updateSession("s", { labels: { b: "3" } })).toEqual(changed);
      expect(await subject.provider.updateSession("s", { title: "t" })).toMatchObject({ labels: { b: "3" } });
      expect((await subject.provider.updateSession("s", { labels: {} })).labels ?? {}).toEqual({});
      expect((await subject.other.getSession("s")).labels ?? {}).toEqual({});
    });

    it("are copied to a fork and a share, which then have their own", async () => {
      await make("s", { a: "1" });
      for (const as of ["fork", "share"] as const) {
        const { session } = await subject.provider.forkConversation("s", as, { as });
        expect(session?.labels).toEqual({ a: "1" });
      }
      await subject.provider.updateSession("s", { labels: {} });
      expect([...(await listed(["a=1"]))].sort()).toEqual(["fork", "share"]);
    });

    it("are not passed on by a copy, nor from a parent to its child", async () => {
      await make("s", { a: "1" });
      await subject.provider.logMessages("s", [message("m1")]);
      await make("target");
      await subject.provider.forkConversation("s", "target", { as: "copy" });
      await make("child", undefined, "s");
      expect(await listed(["a=1"])).toEqual(["s"]);
    });

    it.each([1, 2, 5])("find sessions page by page, %i at a time, the most recently updated first", async (limit) => {
      for (const id of ["a", "b", "c", "d"])
        await make(id, { kind: "chat", odd: id === "b" || id === "d" ? "" : "no" });
      await make("e", { kind: "note" });
      expect(await listed(["kind=chat"], limit)).toEqual(["d", "c", "b", "a"]);
      expect(await listed(["kind=chat", "odd="], limit)).toEqual(["d", "b"]);
      expect(await listed(["odd=", "kind=chat", "kind=chat"], limit)).toEqual(["d", "b"]);
      expect(await listed(["kind=chat", "kind=note"], limit)).toEqual([]);
      subject.nowMicros += 2 * SECOND;
      await subject.provider.updateSession("a", { title: "t" });
      expect(await listed(["kind=chat"], limit)).toEqual(["a", "d", "c", "b"]);
    });

    it("find the children of one session only", async () => {
      for (const id of ["p", "q"]) await make(id, { a: "1" });
      await make("child", { a: "1" }, "p");
      await make("bare", undefined, "p");
      expect(await listed(["a=1"], 1, "p")).toEqual(["child"]);
      expect(await listed(["a=1"], 1, "q")).toEqual([]);
    });

    it("find no deleted session, and are gone when its id is used again", async () => {
      await make("s", { a: "1" });
      await subject.provider.deleteSession("s");
      await make("s");
      expect(await listed(["a=1"])).toEqual([]);
    });
  });
}
