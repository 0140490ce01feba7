import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../../src/domain/chat-message.js";
import type { SessionCursor } from "../../../src/domain/page.js";
import type { Session } from "../../../src/domain/session.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { message, messageAt, numbered, refusal, SECOND, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeSessionLists(subject: StorageProviderSubject): void {
  const make = async (sessionId: string, parentId?: string) => {
    subject.nowMicros += SECOND;
    await subject.provider.createSession({ sessionId, parentId });
  };

  describe("listSessions", () => {
    it("returns none when there are none", async () => {
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

    it("lists only the children of one session, even if that session is deleted", async () => {
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

    it.each([1, 2, 3, 7, 8])("continues page by page, %i at a time, also among equal update times", async (limit) => {
      const ids = numbered(7, "s");
      for (const sessionId of ids) await subject.provider.createSession({ sessionId });
      const listed = await allOf(subject.provider, "", limit);
      expect(listed).toEqual([...ids].reverse());
    });

    it("neither skips nor repeats sessions that are not updated meanwhile", async () => {
      for (const id of ["a", "b", "c", "d", "e"]) await make(id);
      const first = await subject.provider.listSessions({ parentId: "", limit: 2 });
      subject.nowMicros += SECOND;
      await subject.provider.updateSession("b", { title: "t" });
      await subject.provider.deleteSession("d");
      await make("f");
      expect(first.sessions.map(({ sessionId }) => sessionId)).toEqual(["e", "d"]);
      expect(await allOf(subject.other, "", 2, first.next)).toEqual(["c", "a"]);
    });

    it.each(["basic", "full"] as const)(
      "ends a page before the limit of bytes, but with at least one session, and continues (%s view)",
      async (view) => {
        for (const [sessionId, kib] of [
          ["a", 60],
          ["b", 1],
          ["c", 3],
          ["d", 1],
          ["e", 1],
        ] as const) {
          subject.nowMicros += SECOND;
          await subject.provider.createSession({ sessionId, metadata: { text: "x".repeat(kib * 1024) } });
        }
        const narrow = subject.open({ limits: { pageBytes: 4 * 1024 } });
        const pages: string[] = [];
        for (let cursor: SessionCursor | undefined; ; ) {
          const { sessions, next } = await narrow.listSessions({ parentId: "", limit: 100, view, cursor });
          pages.push(sessions.map(({ sessionId }) => sessionId).join(""));
          if (next === undefined) break;
          cursor = next;
        }
        expect(pages).toEqual(["ed", "c", "b", "a"]);
      },
    );

    it.each([[[]], [["k=v"]], [["k=v", "l="]]])(
      "lists ids that UTF-8 and UTF-16 order differently once each, with the labels %j",
      async (labels) => {
        const ids = ["\u{ffff}", "😀", "\u{e000}", "é", "e\u0301", "z", "Z", "10", "9", " "];
        for (const sessionId of ids) await subject.provider.createSession({ sessionId, labels: { k: "v", l: "" } });
        const listed: string[] = [];
        for (let cursor: SessionCursor | undefined; ; ) {
          const { sessions, next } = await subject.other.listSessions({ parentId: "", labels, limit: 1, cursor });
          listed.push(...sessions.map(({ sessionId }) => sessionId));
          if (next === undefined) break;
          cursor = next;
        }
        expect(listed.toSorted()).toEqual(ids.toSorted());
      },
    );

    it("has no next page when the last one is full", async () => {
      for (const id of ["a", "b"]) await make(id);
      expect((await subject.provider.listSessions({ parentId: "", limit: 2 })).next).toBeUndefined();
    });
  });

  describe("listSessions in full view", () => {
    const full = async (limit = 100) =>
      (await subject.other.listSessions({ parentId: "", view: "full", limit })).sessions;
    const previews = async () =>
      Object.fromEntries((await full()).map((one) => [one.sessionId, [one.messageCount, one.lastMessage?.messageId]]));

    it("returns what getSession returns, and the last message", async () => {
      await sessionWith(subject.provider, "s", ["m1", message("m2", { role: "assistant" })]);
      const [listed] = await full();
      const { lastMessage, ...session } = listed as Session;
      expect(session).toEqual(await subject.provider.getSession("s"));
      const { timestampMicros } = (await subject.provider.getMessage("s", "m2")) as ChatMessage;
      expect(lastMessage).toEqual({ messageId: "m2", role: "assistant", timestampMicros, text: "text of m2" });
    });

    it("returns neither in basic view", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      for (const view of ["basic", undefined] as const) {
        const { sessions } = await subject.other.listSessions({ parentId: "", view, limit: 1 });
        const shown = sessions.map(({ sessionId, messageCount, lastMessage }) => [
          sessionId,
          messageCount,
          lastMessage,
        ]);
        expect(shown).toEqual([["s", undefined, undefined]]);
      }
    });

    it("returns the last message wherever it is stored", async () => {
      await make("empty");
      await sessionWith(subject.provider, "s", ["m1", "m2", "m3"]);
      await subject.provider.forkConversation("s", "fork", { as: "fork", upToMessageId: "m2" });
      await subject.provider.forkConversation("s", "grown", { as: "fork", upToMessageId: "m1" });
      await subject.provider.logMessages("grown", [message("g")]);
      await subject.provider.forkConversation("s", "cut", { as: "fork" });
      await subject.provider.truncateMessages("cut", "m1");
      await subject.provider.forkConversation("s", "cleared", { as: "fork" });
      await subject.provider.truncateMessages("cleared", null);
      await sessionWith(subject.provider, "reverted", ["m1", "m2"]);
      await subject.provider.truncateMessages("reverted", "m1", { keepForUnrevert: true });
      await sessionWith(subject.provider, "older", [messageAt("m2", 2), messageAt("m3", 3), messageAt("m1", 1)]);
      expect(await previews()).toEqual({
        ...{ empty: [0, undefined], s: [3, "m3"], fork: [2, "m2"], grown: [2, "g"], cut: [1, "m1"] },
        ...{ cleared: [0, undefined], reverted: [1, "m1"], older: [3, "m3"] },
      });
      expect((await full()).filter(({ reverted }) => reverted).map(({ sessionId }) => sessionId)).toEqual(["reverted"]);
    });

    it("sees an append of another provider at once", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await full();
      await subject.provider.logMessages("s", [message("m2"), message("m3")]);
      expect(await previews()).toEqual({ s: [3, "m3"] });
    });

    it("continues page by page, with more sessions than are processed together", async () => {
      const ids = numbered(60, "s");
      for (const id of ids) await sessionWith(subject.provider, id, [`last of ${id}`]);
      const { next } = await subject.provider.listSessions({ parentId: "", view: "full", limit: 55 });
      const rest = await subject.provider.listSessions({ parentId: "", view: "full", limit: 55, cursor: next });
      const all = [...(await full(55)), ...rest.sessions];
      expect(all.map(({ lastMessage }) => lastMessage?.messageId).sort()).toEqual(
        ids.map((id) => `last of ${id}`).sort(),
      );
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
