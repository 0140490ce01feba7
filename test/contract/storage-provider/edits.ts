import { describe, expect, it } from "vitest";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { history, message, messageAt, messages, numbered, refusal, SECOND, sessionWith, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeEdits(subject: StorageProviderSubject): void {
  describe("truncateMessages", () => {
    it("keeps the message and everything before it, and returns how many it removed", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      expect(await subject.provider.truncateMessages("s", "m2")).toBe(3);
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
    });

    it("removes nothing after the last message, and raises no revision", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const { revision } = await subject.provider.getSession("s");
      expect(await subject.other.truncateMessages("s", "m2")).toBe(0);
      expect(await subject.provider.getSession("s")).toMatchObject({ revision, messageCount: 2, reverted: false });
    });

    it("raises the revision and moves the update time", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const { revision } = await subject.provider.getSession("s");
      subject.nowMicros += SECOND;
      await subject.provider.truncateMessages("s", "m1");
      const after = await subject.other.getSession("s");
      expect(after.revision).toBeGreaterThan(revision);
      expect(after).toMatchObject({ messageCount: 1, updateTimeMicros: T0 + SECOND, reverted: false });
    });

    it("refuses a message that the session does not have, and changes nothing", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await sessionWith(subject.provider, "t", ["other"]);
      const error = await refusal(subject.provider.truncateMessages("s", "other"), "invalid_argument");
      expect(error.message).toContain("other");
      await refusal(subject.provider.truncateMessages("nobody", "m1"), "not_found");
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2"]);
    });

    it("refuses a message that was removed before", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.truncateMessages("s", "m1");
      await refusal(subject.other.truncateMessages("s", "m2"), "invalid_argument");
    });

    it("sees messages that another provider appended just before", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await subject.other.logMessages("s", messages("m3", "m4"));
      expect(await subject.provider.truncateMessages("s", "m3")).toBe(1);
      expect(await history(subject.other, "s")).toEqual(["m1", "m2", "m3"]);
    });

    it("lets appends continue after what remains", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      await subject.provider.truncateMessages("s", "m2");
      expect(await subject.other.logMessages("s", [message("a")])).toEqual({ messageIds: ["a"], position: 2 });
      expect(await subject.provider.logMessages("s", [message("b")])).toEqual({ messageIds: ["b"], position: 3 });
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2", "a", "b"]);
    });

    it("frees the removed ids, also for other content", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.truncateMessages("s", "m1");
      const again = message("m2", { role: "assistant" });
      expect(await subject.other.logMessages("s", [again])).toEqual({ messageIds: ["m2"], position: 1 });
      expect(await subject.provider.getMessage("s", "m2")).toMatchObject({ role: "assistant" });
      await subject.provider.truncateMessages("s", "m1");
      await subject.provider.logMessages("s", [message("m2")]);
      expect(await subject.other.getMessage("s", "m2")).toMatchObject({ role: "user", position: 1 });
    });

    it("can cut among inherited messages and among older messages", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20), messageAt("m3", 30)]);
      await subject.provider.logMessages("s", [messageAt("a", 15), messageAt("b", 16)]);
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      expect(await subject.provider.truncateMessages("fork", "a")).toBe(3);
      expect(await subject.provider.truncateMessages("s", "b")).toBe(2);
      expect(await history(subject.other, "fork")).toEqual(["m1", "a"]);
      expect(await history(subject.other, "s")).toEqual(["m1", "a", "b"]);
    });

    it("removes all messages, including inherited ones, when none is to be kept", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.logMessages("fork", [message("f1")]);
      expect(await subject.provider.truncateMessages("fork", null)).toBe(4);
      expect(await subject.other.getSession("fork")).toMatchObject({ messageCount: 0, inheritedCount: 3 });
      expect(await history(subject.other, "s")).toEqual(numbered(3));
      expect(await subject.other.logMessages("fork", messages("m2", "x"))).toEqual({
        messageIds: ["m2", "x"],
        position: 0,
      });
      expect(await history(subject.provider, "fork")).toEqual(["m2", "x"]);
    });

    it("removes nothing from an empty session, and raises no revision", async () => {
      await sessionWith(subject.provider, "s");
      const { revision } = await subject.provider.getSession("s");
      expect(await subject.other.truncateMessages("s", null)).toBe(0);
      expect(await subject.provider.getSession("s")).toMatchObject({ revision, reverted: false });
      await refusal(subject.provider.truncateMessages("nobody", null), "not_found");
    });

    it("accepts messages of any time after all others have gone", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 50)]);
      await subject.provider.truncateMessages("s", null);
      await subject.other.logMessages("s", [messageAt("a", -100)]);
      await subject.provider.logMessages("s", [messageAt("b", -200)]);
      expect(await history(subject.other, "s")).toEqual(["b", "a"]);
    });

    it("is refused when the session does not have the expected revision, and changes nothing", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      const { revision } = await subject.provider.getSession("s");
      await subject.other.updateSession("s", { title: "new" });
      for (const upTo of ["m1", "m3", null]) {
        const error = await refusal(
          subject.provider.truncateMessages("s", upTo, { expectedRevision: revision }),
          "aborted",
        );
        expect(error.message).toContain(String(revision + 1));
      }
      expect(await history(subject.other, "s")).toEqual(numbered(3));
      await subject.provider.logMessages("s", [message("m4")]);
      expect(await subject.provider.truncateMessages("s", "m1", { expectedRevision: revision + 1 })).toBe(3);
      expect(await history(subject.other, "s")).toEqual(["m1"]);
    });

    it("is refused when it would remove another number of messages than expected, and changes nothing", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.startDraft("s", { id: "d", role: "assistant", parts: [] });
      const cut = (upTo: string | null, expectedRemovedCount: number) =>
        subject.provider.truncateMessages("s", upTo, { expectedRemovedCount });
      await subject.other.logMessages("s", [message("m4")]);
      for (const [upTo, expected] of [
        ["m1", 2],
        ["m4", 1],
        [null, 3],
      ] as const)
        await refusal(cut(upTo, expected), "aborted");
      expect((await refusal(cut("m2", 1), "aborted")).message).toContain("2 messages");
      expect(await history(subject.other, "s")).toEqual(numbered(4));
      expect(await subject.other.listDrafts("s")).toHaveLength(1);
      expect(await cut("m4", 0)).toBe(0);
      expect(await cut("m1", 3)).toBe(3);
      expect(await cut(null, 1)).toBe(1);
    });

    it("removes only what was expected while others append", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const append = async () => {
        for (const id of numbered(8, "a")) await subject.other.logMessages("s", [message(id)]);
      };
      const cut = () =>
        subject.provider.truncateMessages("s", "m1", { expectedRemovedCount: 1 }).catch(({ code }) => code);
      const [outcome] = await Promise.all([cut(), append()]);
      const kept = outcome === 1 ? ["m1"] : ["m1", "m2"];
      expect(await history(subject.provider, "s")).toEqual([...kept, ...numbered(8, "a")]);
    });

    it("gives later messages no time before that of the last remaining message", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 50), messageAt("m2", 100)]);
      await subject.provider.truncateMessages("s", "m1");
      await subject.provider.logMessages("s", [message("a")]);
      expect(await subject.other.getMessage("s", "a")).toMatchObject({ timestampMicros: T0 + 50 * SECOND });
    });
  });

  describe("concurrent edits and appends", () => {
    it("leave a history that some order of the calls explains", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      const appended = numbered(12, "a");
      const append = async () => {
        for (const id of appended) await subject.other.logMessages("s", [message(id)]);
      };
      const [, removed] = await Promise.all([append(), subject.provider.truncateMessages("s", "m2")]);
      const ids = await history(subject.provider, "s");
      expect(ids.slice(0, 2)).toEqual(["m1", "m2"]);
      expect(ids.slice(2)).toEqual(appended.slice(removed - 1));
      expect(ids.length).toBe(3 + 12 - removed);
    });

    it("by two providers that expect the same revision take effect once", async () => {
      await sessionWith(subject.provider, "s", numbered(6));
      const { revision } = await subject.provider.getSession("s");
      const cut = (provider: StorageOperations, upTo: string | null) =>
        provider.truncateMessages("s", upTo, { expectedRevision: revision }).catch(({ code }) => code);
      const outcome = await Promise.all([cut(subject.provider, "m4"), cut(subject.other, null)]);
      expect(outcome).toBeOneOf([
        [2, "aborted"],
        ["aborted", 6],
      ]);
      expect(await history(subject.provider, "s")).toEqual(outcome[0] === 2 ? numbered(4) : []);
    });

    it("by two providers all take effect", async () => {
      await sessionWith(subject.provider, "s", numbered(6));
      // If the other truncate came first, m4 is gone.
      const outcome = await Promise.all([
        subject.provider.truncateMessages("s", "m4").catch(({ code }) => code),
        subject.other.truncateMessages("s", "m2"),
      ]);
      expect(outcome).toBeOneOf([
        [2, 2],
        ["invalid_argument", 4],
      ]);
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2"]);
    });
  });
}
