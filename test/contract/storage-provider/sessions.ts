import { describe, expect, it } from "vitest";
import { history, message, refusal, SECOND, sessionWith, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeSessions(subject: StorageProviderSubject): void {
  describe("createSession", () => {
    it("makes an empty session with the given fields", async () => {
      await subject.provider.createSession({ sessionId: "parent" });
      const given = { sessionId: "s", parentId: "parent", title: "A title", metadata: { a: [1, { b: null }] } };
      const made = await subject.provider.createSession(given);
      expect(made).toMatchObject({
        ...given,
        forkPointId: "",
        messageCount: 0,
        inheritedCount: 0,
        reverted: false,
        createTimeMicros: T0,
        updateTimeMicros: T0,
      });
      expect(await subject.other.getSession("s")).toEqual(made);
    });

    it("returns the session to a retry, even on another provider", async () => {
      const given = { sessionId: "s", title: "t", metadata: { a: 1, b: 2 } };
      const made = await subject.provider.createSession(given);
      await subject.provider.logMessages("s", [message("m1")]);
      const again = await subject.other.createSession({ ...given, metadata: { b: 2, a: 1 } });
      expect(again).toEqual({ ...made, messageCount: 1, updateTimeMicros: again.updateTimeMicros });
    });

    it("compares what the caller set with the session as it is now", async () => {
      await subject.provider.createSession({ sessionId: "s", title: "old" });
      await subject.provider.updateSession("s", { title: "new" });
      expect(await subject.provider.createSession({ sessionId: "s" })).toMatchObject({ title: "new" });
      expect(await subject.provider.createSession({ sessionId: "s", title: "new" })).toMatchObject({ title: "new" });
      await refusal(subject.provider.createSession({ sessionId: "s", title: "old" }), "already_exists");
    });

    it("returns the session to a retry after its parent was deleted or made again", async () => {
      await subject.provider.createSession({ sessionId: "parent" });
      const made = await subject.provider.createSession({ sessionId: "s", parentId: "parent" });
      await subject.provider.deleteSession("parent");
      expect(await subject.other.createSession({ sessionId: "s", parentId: "parent" })).toEqual(made);
      await subject.provider.createSession({ sessionId: "parent" });
      expect(await subject.other.createSession({ sessionId: "s", parentId: "parent" })).toEqual(made);
    });

    it("treats an absent Struct as an empty one", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      expect(await subject.provider.createSession({ sessionId: "s", metadata: {} })).toMatchObject({ sessionId: "s" });
    });

    it.each([
      ["another title", { title: "other" }],
      ["other metadata", { metadata: { a: 2 } }],
      ["another parent", { parentId: "parent" }],
    ])("refuses an id that is taken by a session with %s", async (_, given) => {
      await subject.provider.createSession({ sessionId: "parent" });
      await subject.provider.createSession({ sessionId: "s", title: "t", metadata: { a: 1 } });
      await refusal(subject.provider.createSession({ sessionId: "s", ...given }), "already_exists");
      expect(await subject.provider.getSession("s")).toMatchObject({ title: "t", metadata: { a: 1 }, parentId: "" });
    });

    it("refuses an unknown parent, and makes nothing", async () => {
      await refusal(subject.provider.createSession({ sessionId: "s", parentId: "nobody" }), "not_found");
      await refusal(subject.provider.getSession("s"), "not_found");
    });

    it("makes one session when many ask for the same id at once", async () => {
      const titles = ["a", "b", "c", "d", "e", "f"];
      const asked = titles.map((title, i) =>
        (i % 2 ? subject.other : subject.provider).createSession({ sessionId: "s", title }),
      );
      const outcomes = await Promise.allSettled(asked);
      const made = outcomes.filter(({ status }) => status === "fulfilled");
      expect(made).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "already_exists" });
      }
    });
  });

  describe("getSession", () => {
    it("has the exact count and the time of the last message, whoever appended", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      await subject.provider.getSession("s");
      subject.nowMicros += 3 * SECOND;
      await subject.other.logMessages("s", [message("m1"), message("m2")]);
      expect(await subject.provider.getSession("s")).toMatchObject({
        messageCount: 2,
        createTimeMicros: T0,
        updateTimeMicros: T0 + 3 * SECOND,
      });
    });

    it("refuses an unknown session, and names it", async () => {
      expect((await refusal(subject.provider.getSession("nobody"), "not_found")).message).toContain("nobody");
    });
  });

  describe("updateSession", () => {
    it("changes what is given and leaves the rest", async () => {
      await subject.provider.createSession({ sessionId: "s", title: "t", metadata: { a: 1 } });
      expect(await subject.provider.updateSession("s", { title: "new" })).toMatchObject({
        title: "new",
        metadata: { a: 1 },
      });
      const changed = await subject.provider.updateSession("s", { metadata: { b: 2 } });
      expect(changed).toMatchObject({ title: "new", metadata: { b: 2 } });
      expect(await subject.other.getSession("s")).toEqual(changed);
    });

    it("empties title and metadata", async () => {
      await subject.provider.createSession({ sessionId: "s", title: "t", metadata: { a: 1 } });
      const { title, metadata } = await subject.provider.updateSession("s", { title: "", metadata: {} });
      expect([title, metadata ?? {}]).toEqual(["", {}]);
    });

    it("raises the revision, moves the update time and changes no message", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      const before = await subject.provider.getSession("s");
      subject.nowMicros += SECOND;
      const after = await subject.provider.updateSession("s", { title: "new" });
      expect(after.revision).toBeGreaterThan(before.revision);
      expect(after).toMatchObject({ messageCount: 2, updateTimeMicros: T0 + SECOND });
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
    });

    it("refuses another revision than the expected one, and names the current one", async () => {
      const { revision } = await subject.provider.createSession({ sessionId: "s", title: "t" });
      const changed = await subject.provider.updateSession("s", { title: "a" }, { expectedRevision: revision });
      const late = subject.other.updateSession("s", { title: "b" }, { expectedRevision: revision });
      expect((await refusal(late, "aborted")).message).toContain(String(changed.revision));
      expect(await subject.provider.getSession("s")).toMatchObject({ title: "a", revision: changed.revision });
    });

    it("raises no revision when nothing changes, but compares the expected one", async () => {
      const { revision } = await subject.provider.createSession({ sessionId: "s", title: "t", labels: { a: "1" } });
      const same = { title: "t", labels: { a: "1" } };
      expect(await subject.provider.updateSession("s", same, { expectedRevision: revision })).toMatchObject({
        revision,
      });
      await refusal(subject.other.updateSession("s", same, { expectedRevision: revision + 1 }), "aborted");
      await refusal(subject.other.updateSession("s", {}, { expectedRevision: revision + 1 }), "aborted");
    });

    it("lets one of two callers win that expect the same revision", async () => {
      const { revision } = await subject.provider.createSession({ sessionId: "s" });
      const outcomes = await Promise.allSettled([
        subject.provider.updateSession("s", { title: "a" }, { expectedRevision: revision }),
        subject.other.updateSession("s", { title: "b" }, { expectedRevision: revision }),
      ]);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "aborted" } });
    });

    it("keeps the revision through appends", async () => {
      const { revision } = await subject.provider.createSession({ sessionId: "s" });
      await subject.provider.logMessages("s", [message("m1")]);
      await subject.provider.updateSession("s", { title: "a" }, { expectedRevision: revision });
      expect(await subject.provider.getSession("s")).toMatchObject({ title: "a", messageCount: 1 });
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.updateSession("nobody", { title: "t" }), "not_found");
    });
  });

  describe("deleteSession", () => {
    it("removes the session and its messages, for every provider", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.other.getSessionMessages("s");
      await subject.provider.deleteSession("s");
      for (const provider of [subject.provider, subject.other]) {
        await refusal(provider.getSession("s"), "not_found");
        await refusal(provider.getSessionMessages("s"), "not_found");
        await refusal(provider.logMessages("s", [message("m2")]), "not_found");
        await refusal(provider.deleteSession("s"), "not_found");
      }
    });

    it("frees the id at once, for a session that has nothing of the old one", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      await subject.provider.deleteSession("s");
      expect(await subject.other.createSession({ sessionId: "s", title: "new" })).toMatchObject({ messageCount: 0 });
      await subject.provider.logMessages("s", [message("m2", { role: "assistant" })]);
      expect(await subject.other.getSessionMessages("s")).toMatchObject([{ id: "m2", role: "assistant", position: 0 }]);
    });

    it("leaves the parent's name with its children", async () => {
      await subject.provider.createSession({ sessionId: "parent" });
      await subject.provider.createSession({ sessionId: "child", parentId: "parent" });
      await subject.provider.deleteSession("parent");
      expect(await subject.provider.getSession("child")).toMatchObject({ parentId: "parent" });
    });
  });
}
