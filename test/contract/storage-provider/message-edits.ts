import { describe, expect, it } from "vitest";
import type { MessageChange } from "../../../src/domain/chat-message.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import {
  history,
  message,
  messageAt,
  numbered,
  pages,
  refusal,
  SECOND,
  sessionWith,
  sweepAway,
  T0,
} from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** New content that differs from one update to the next. */
function text(words: string): MessageChange {
  return { parts: [{ id: "p", type: "text", text: words }] };
}

/** The texts of all messages. */
async function texts(
  provider: StorageOperations,
  sessionId: string,
  options: { includeAncestors?: boolean } = {},
): Promise<readonly (string | undefined)[]> {
  return (await provider.getSessionMessages(sessionId, options)).map(({ parts }) => parts[0]?.text);
}

const old = (...ids: readonly string[]) => ids.map((id) => `text of ${id}`);

export function describeMessageEdits(subject: StorageProviderSubject): void {
  describe("updateMessage", () => {
    it("gives a message new content at the same place and time, and returns it", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1), messageAt("m2", 2), messageAt("m3", 3)]);
      const answer = await subject.provider.updateMessage("s", "m2", {
        role: "assistant",
        metadata: { edited: true },
        ...text("new"),
      });
      expect(answer).toMatchObject({
        id: "m2",
        sessionId: "s",
        role: "assistant",
        timestampMicros: T0 + 2 * SECOND,
        parts: [{ id: "p", type: "text", text: "new" }],
        metadata: { edited: true },
        position: 1,
        originSessionId: "s",
      });
      expect(await subject.other.getMessage("s", "m2")).toEqual(answer);
      expect((await subject.other.listMessages("s", { limit: 10 })).messages[1]).toEqual(answer);
      expect((await subject.other.loadSession("s", { limit: 2 })).messages[0]).toEqual(answer);
      expect(await texts(subject.provider, "s")).toEqual(["text of m1", "new", "text of m3"]);
      expect(await history(subject.other, "s")).toEqual(numbered(3));
    });

    it("keeps the fields that the change does not name", async () => {
      await sessionWith(subject.provider, "s", [message("m1", { metadata: { a: 1 } })]);
      await subject.provider.updateMessage("s", "m1", { role: "tool" });
      expect(await subject.other.getMessage("s", "m1")).toMatchObject({
        role: "tool",
        metadata: { a: 1 },
        parts: [{ text: "text of m1" }],
      });
      await subject.other.updateMessage("s", "m1", text("new"));
      await subject.provider.updateMessage("s", "m1", { metadata: { b: null } });
      const after = await subject.other.getMessage("s", "m1");
      expect(after).toMatchObject({ role: "tool", parts: [{ text: "new" }] });
      expect(after?.metadata).toEqual({ b: null });
      await subject.provider.updateMessage("s", "m1", { parts: [], metadata: {} });
      expect((await subject.other.getMessage("s", "m1"))?.parts).toEqual([]);
      expect((await subject.other.getMessage("s", "m1"))?.metadata ?? {}).toEqual({});
    });

    it("updates the same message again and again, at any place", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      for (let round = 1; round <= 3; round++) {
        for (const id of ["m1", "m4", "m2", "m2"]) {
          const by = round % 2 === 0 ? subject.provider : subject.other;
          await by.updateMessage("s", id, text(`${id} ${round}`));
          await by.updateMessage("s", id, text(`${id} ${round}!`));
        }
        await subject.provider.logMessages("s", [message(`a${round}`)]);
      }
      expect(await texts(subject.other, "s")).toEqual([
        "m1 3!",
        "m2 3!",
        "text of m3",
        "m4 3!",
        ...old("a1", "a2", "a3"),
      ]);
      expect(await subject.provider.getMessage("s", "m4")).toMatchObject({ position: 3, parts: [{ text: "m4 3!" }] });
    });

    it("merges ranges when there are too many, and keeps everything in place", async () => {
      const provider = subject.open({ maxSegments: 4, mergeSegments: 2, chunk: 2 });
      const ids = numbered(12);
      await sessionWith(provider, "s", ids);
      for (const id of ids.filter((_, i) => i % 2 === 0)) await provider.updateMessage("s", id, text(`new ${id}`));
      for (const id of ["m2", "m5", "m8", "m11"]) await provider.deleteMessage("s", id);
      const left = ids.filter((id) => !["m2", "m5", "m8", "m11"].includes(id));
      expect(await history(subject.other, "s")).toEqual(left);
      const isNew = (id: string) => Number(id.slice(1)) % 2 === 1;
      expect(await texts(subject.other, "s")).toEqual(left.map((id) => (isNew(id) ? `new ${id}` : `text of ${id}`)));
    });

    it("raises the revision and moves the update time", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const { revision } = await subject.provider.getSession("s");
      subject.nowMicros += SECOND;
      await subject.provider.updateMessage("s", "m1", text("new"));
      const after = await subject.other.getSession("s");
      expect(after).toMatchObject({ messageCount: 2, revision: revision + 1, updateTimeMicros: T0 + SECOND });
    });

    it("changes nothing when the message has that content already, so that a retry is safe", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const first = await subject.provider.updateMessage("s", "m1", { ...text("new"), metadata: { a: 1 } });
      const { revision } = await subject.provider.getSession("s");
      subject.nowMicros += SECOND;
      expect(await subject.other.updateMessage("s", "m1", { ...text("new"), metadata: { a: 1 } })).toEqual(first);
      expect(await subject.other.updateMessage("s", "m1", {})).toEqual(first);
      expect(await subject.provider.getSession("s")).toMatchObject({ revision, updateTimeMicros: T0 });
      await subject.provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      await subject.provider.updateMessage("s", "m1", text("new"));
      expect(await subject.other.restoreMessages("s")).toBe(1);
    });

    it("leaves forks, shares, copies and what children show as they were", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await sessionWith(subject.provider, "copy");
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.forkConversation("s", "share", { as: "share" });
      await subject.provider.forkConversation("s", "copy", { as: "copy" });
      await subject.provider.createSession({ sessionId: "child", parentId: "s" });
      await subject.provider.updateMessage("s", "m1", text("new"));
      for (const id of ["fork", "share", "copy"]) expect(await texts(subject.other, id)).toEqual(old("m1", "m2"));
      expect(await texts(subject.other, "child", { includeAncestors: true })).toEqual(old("m1", "m2"));
      await subject.provider.forkConversation("s", "later", { as: "fork" });
      expect(await texts(subject.other, "later")).toEqual(["new", "text of m2"]);
    });

    it("changes an inherited message only in the fork, and keeps its origin", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      const answer = await subject.provider.updateMessage("fork", "m2", text("new"));
      expect(answer).toMatchObject({ sessionId: "fork", originSessionId: "s", position: 1 });
      expect(await texts(subject.other, "fork")).toEqual(["text of m1", "new", "text of m3"]);
      expect(await texts(subject.other, "s")).toEqual(old("m1", "m2", "m3"));
      expect(await subject.other.getSession("fork")).toMatchObject({ inheritedCount: 3, forkPointId: "m3" });
      await subject.provider.deleteSession("s");
      await subject.provider.updateMessage("fork", "m2", text("newer"));
      expect(await texts(subject.other, "fork")).toEqual(["text of m1", "newer", "text of m3"]);
    });

    it("ends the undo of a revert", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.truncateMessages("s", "m2", { keepForUnrevert: true });
      await subject.provider.updateMessage("s", "m1", text("new"));
      expect(await subject.other.getSession("s")).toMatchObject({ reverted: false });
      await refusal(subject.other.restoreMessages("s"), "failed_precondition");
      expect(await texts(subject.other, "s")).toEqual(["new", "text of m2"]);
    });

    it("survives a later revert that is undone", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.updateMessage("s", "m3", text("new"));
      await subject.provider.truncateMessages("s", null, { keepForUnrevert: true });
      await subject.other.restoreMessages("s");
      expect(await texts(subject.provider, "s")).toEqual(["text of m1", "text of m2", "new"]);
    });

    it("keeps the order by time, for older messages, for lists by time and for messages without a timestamp", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20), messageAt("m3", 30)]);
      await subject.provider.updateMessage("s", "m2", text("new"));
      await subject.other.logMessages("s", [messageAt("a", 15), messageAt("b", 20)]);
      await subject.provider.updateMessage("s", "a", text("newer"));
      expect(await history(subject.other, "s")).toEqual(["m1", "a", "m2", "b", "m3"]);
      const between = { limit: 10, sinceMicros: T0 + 15 * SECOND, untilMicros: T0 + 30 * SECOND };
      expect(await pages(subject.other, "s", between)).toEqual([["a", "m2", "b"]]);
      await subject.provider.updateMessage("s", "m3", text("new"));
      await subject.other.logMessages("s", [message("c")]);
      expect(await subject.provider.getMessage("s", "c")).toMatchObject({ timestampMicros: T0 + 30 * SECOND });
    });

    it("keeps page tokens valid, even that of the message itself", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const first = await subject.provider.listMessages("s", { limit: 2 });
      const newest = await subject.provider.listMessages("s", { limit: 2, newestFirst: true });
      for (const id of ["m2", "m4", "m1", "m2"]) await subject.other.updateMessage("s", id, text(`new ${id}`));
      await subject.other.updateMessage("s", "m2", text("newer"));
      expect(await pages(subject.provider, "s", { limit: 2, cursor: first.next })).toEqual([["m3", "m4"], ["m5"]]);
      const back = { limit: 2, newestFirst: true, cursor: newest.next };
      expect(await pages(subject.provider, "s", back)).toEqual([["m3", "m2"], ["m1"]]);
    });

    it("compares a repeated append with the current content of the message", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await subject.provider.updateMessage("s", "m1", text("new"));
      await refusal(subject.other.logMessages("s", [message("m1")]), "already_exists");
      const repeated = message("m1", { parts: [{ id: "p", type: "text", text: "new" }] });
      expect(await subject.other.logMessages("s", [repeated])).toEqual({ messageIds: ["m1"], position: 0 });
    });

    it("refuses an unknown message, another revision, another time and a message beyond its limit", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1)]);
      await sessionWith(subject.provider, "t", ["other"]);
      await subject.provider.createSession({ sessionId: "child", parentId: "s" });
      const change = text("new");
      await refusal(subject.provider.updateMessage("nobody", "m1", change), "not_found");
      for (const [session, id] of [
        ["s", "other"],
        ["child", "m1"],
      ] as const) {
        const error = await refusal(
          subject.provider.updateMessage(session, id, change, { expectedRevision: 9 }),
          "not_found",
        );
        expect(error.message).toContain(id);
      }
      const aborted = await refusal(
        subject.provider.updateMessage("s", "m1", change, { expectedRevision: 2 }),
        "aborted",
      );
      expect(aborted.message).toContain("the session's revision is 1");
      const otherTime = { ...change, timestampMicros: T0 };
      await refusal(subject.provider.updateMessage("s", "m1", otherTime), "invalid_argument");
      const narrow = subject.open({ limits: { messageBytes: 100 } });
      await refusal(narrow.updateMessage("s", "m1", text("x".repeat(70))), "invalid_argument");
      expect(await texts(subject.other, "s")).toEqual(old("m1"));
      expect(await subject.other.getSession("s")).toMatchObject({ revision: 1 });
      const same = { ...change, timestampMicros: T0 + SECOND };
      await subject.provider.updateMessage("s", "m1", same, { expectedRevision: 1 });
      await refusal(subject.provider.updateMessage("s", "m1", same, { expectedRevision: 1 }), "aborted");
    });

    it("lets the sweep remove only content that nothing shows", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      for (const words of ["one", "two", "three"]) await subject.provider.updateMessage("s", "m2", text(words));
      await subject.provider.deleteMessage("s", "m1");
      expect(await sweepAway(subject)).toEqual({ sessions: 0, ranges: 0 });
      expect(await texts(subject.other, "s")).toEqual(["three", "text of m3"]);
      expect(await texts(subject.other, "fork")).toEqual(old("m1", "m2", "m3"));
      await subject.provider.deleteSession("fork");
      const { sessions, ranges } = await sweepAway(subject);
      expect(sessions).toBe(1);
      expect(ranges).toBeGreaterThan(0);
      expect(await texts(subject.other, "s")).toEqual(["three", "text of m3"]);
    });
  });

  describe("deleteMessage", () => {
    it("removes one message, and later positions decrease by one", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      const { revision } = await subject.provider.getSession("s");
      subject.nowMicros += SECOND;
      await subject.provider.deleteMessage("s", "m2");
      expect(await history(subject.other, "s")).toEqual(["m1", "m3", "m4"]);
      expect(await subject.other.getMessage("s", "m2")).toBeNull();
      expect(await subject.other.getMessage("s", "m3")).toMatchObject({ position: 1 });
      expect(await subject.other.getMessageCount("s")).toBe(3);
      const after = await subject.other.getSession("s");
      expect(after).toMatchObject({ messageCount: 3, revision: revision + 1, updateTimeMicros: T0 + SECOND });
      expect(await subject.other.logMessages("s", [message("a")], { expectedPosition: 3 })).toMatchObject({
        position: 3,
      });
    });

    it("removes the first, the last and the only one", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20), messageAt("m3", 30)]);
      await subject.provider.deleteMessage("s", "m3");
      await subject.other.logMessages("s", [message("a")]);
      expect(await subject.provider.getMessage("s", "a")).toMatchObject({ timestampMicros: T0 + 20 * SECOND });
      await subject.other.deleteMessage("s", "m1");
      await subject.other.deleteMessage("s", "a");
      await subject.provider.deleteMessage("s", "m2");
      expect(await subject.other.getSession("s")).toMatchObject({ messageCount: 0 });
      await subject.other.logMessages("s", [messageAt("b", -100)]);
      await subject.provider.logMessages("s", [messageAt("c", -200)]);
      expect(await history(subject.other, "s")).toEqual(["c", "b"]);
    });

    it("frees the id, for other content too", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await subject.provider.deleteMessage("s", "m1");
      expect(await subject.other.logMessages("s", [message("m1", { role: "tool" })])).toMatchObject({ position: 1 });
      await subject.provider.updateMessage("s", "m1", text("new"));
      await subject.other.deleteMessage("s", "m1");
      await subject.provider.logMessages("s", [message("m1")]);
      expect(await texts(subject.other, "s")).toEqual(old("m2", "m1"));
    });

    it("fails with not_found when the message is gone, even at another revision or when an earlier try removed it", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await subject.provider.deleteMessage("s", "m1", { expectedRevision: 1 });
      const error = await refusal(subject.other.deleteMessage("s", "m1", { expectedRevision: 1 }), "not_found");
      expect(error.message).toContain("m1");
      await refusal(subject.other.deleteMessage("s", "m2", { expectedRevision: 1 }), "aborted");
      await refusal(subject.other.deleteMessage("nobody", "m1"), "not_found");
      expect(await history(subject.provider, "s")).toEqual(["m2"]);
    });

    it("leaves forks, shares, copies and what children show as they were", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await sessionWith(subject.provider, "copy");
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.forkConversation("s", "share", { as: "share" });
      await subject.provider.forkConversation("s", "copy", { as: "copy" });
      await subject.provider.createSession({ sessionId: "child", parentId: "s" });
      await subject.provider.deleteMessage("s", "m2");
      for (const id of ["fork", "share", "copy"]) expect(await history(subject.other, id)).toEqual(numbered(3));
      expect(await texts(subject.other, "child", { includeAncestors: true })).toEqual(old("m1", "m2", "m3"));
      await subject.other.deleteMessage("fork", "m3");
      expect(await history(subject.provider, "fork")).toEqual(["m1", "m2"]);
      expect(await history(subject.provider, "s")).toEqual(["m1", "m3"]);
      expect(await subject.provider.getSession("fork")).toMatchObject({ inheritedCount: 3, forkPointId: "m3" });
    });

    it("ends the undo of a revert", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.truncateMessages("s", "m2", { keepForUnrevert: true });
      await subject.provider.deleteMessage("s", "m1");
      await refusal(subject.other.restoreMessages("s"), "failed_precondition");
      expect(await history(subject.other, "s")).toEqual(["m2"]);
    });

    it("keeps page tokens valid, except that of the message itself", async () => {
      await sessionWith(subject.provider, "s", numbered(6));
      const { next } = await subject.provider.listMessages("s", { limit: 3 });
      for (const id of ["m1", "m4"]) await subject.other.deleteMessage("s", id);
      expect(await pages(subject.provider, "s", { limit: 3, cursor: next })).toEqual([["m5", "m6"]]);
      await subject.other.deleteMessage("s", "m3");
      await refusal(subject.provider.listMessages("s", { limit: 3, cursor: next }), "failed_precondition");
    });
  });

  describe("concurrent edits of messages", () => {
    it("and appends by two providers all take effect once", async () => {
      await sessionWith(subject.provider, "s", numbered(8));
      const update = async (provider: StorageOperations, id: string) => {
        for (const round of [1, 2]) await provider.updateMessage("s", id, text(`${id} ${round}`));
      };
      await Promise.all([
        update(subject.provider, "m1"),
        update(subject.other, "m2"),
        subject.other.deleteMessage("s", "m4"),
        subject.provider.deleteMessage("s", "m8"),
        subject.other.logMessages("s", [message("a1")]),
        subject.provider.logMessages("s", [message("a2")]),
      ]);
      const ids = await history(subject.provider, "s");
      expect(ids.slice(0, 6)).toEqual(["m1", "m2", "m3", "m5", "m6", "m7"]);
      expect(ids.slice(6).toSorted()).toEqual(["a1", "a2"]);
      expect((await texts(subject.other, "s")).slice(0, 3)).toEqual(["m1 2", "m2 2", "text of m3"]);
      expect((await subject.other.getSession("s")).revision).toBe(7);
    });

    it("of one message leave what one of two updates says, and only one of two deletes finds it", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await Promise.all([
        subject.provider.updateMessage("s", "m2", text("one")),
        subject.other.updateMessage("s", "m2", text("two")),
      ]);
      expect((await texts(subject.provider, "s"))[1]).toBeOneOf(["one", "two"]);
      const remove = (provider: StorageOperations) =>
        provider.deleteMessage("s", "m2").then(
          () => "deleted",
          ({ code }) => code,
        );
      const outcomes = await Promise.all([remove(subject.provider), remove(subject.other)]);
      expect(outcomes.toSorted()).toEqual(["deleted", "not_found"]);
    });

    it("that expect the same revision take effect once", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      const edit = (provider: StorageOperations, words: string) =>
        provider.updateMessage("s", "m2", text(words), { expectedRevision: 1 }).then(
          () => words,
          ({ code }) => code,
        );
      const outcomes = await Promise.all([edit(subject.provider, "one"), edit(subject.other, "two")]);
      expect(outcomes).toContain("aborted");
      expect(outcomes).toContain((await texts(subject.provider, "s"))[1]);
    });
  });
}
