import { describe, expect, it } from "vitest";
import { history, message, messageAt, numbered, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const KEEP = { keepForUnrevert: true };

export function describeRestores(subject: StorageProviderSubject): void {
  describe("restoreMessages", () => {
    it("brings back what a revert removed and returns how many", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      expect(await subject.provider.truncateMessages("s", "m2", KEEP)).toBe(3);
      expect(await subject.other.getSession("s")).toMatchObject({ reverted: true, messageCount: 2 });
      expect(await subject.other.restoreMessages("s")).toBe(3);
      expect(await history(subject.provider, "s")).toEqual(numbered(5));
      expect(await subject.provider.getSession("s")).toMatchObject({ reverted: false, messageCount: 5 });
    });

    it("raises the revision, as the revert does", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      const revisions = [(await subject.provider.getSession("s")).revision];
      await subject.provider.truncateMessages("s", "m1", KEEP);
      revisions.push((await subject.provider.getSession("s")).revision);
      await subject.provider.restoreMessages("s");
      revisions.push((await subject.provider.getSession("s")).revision);
      expect(new Set(revisions).size).toBe(3);
      expect([...revisions].sort((a, b) => a - b)).toEqual(revisions);
    });

    it("undoes several reverts in a row together", async () => {
      await sessionWith(subject.provider, "s", numbered(6));
      await subject.provider.truncateMessages("s", "m4", KEEP);
      await subject.other.truncateMessages("s", "m2", KEEP);
      expect(await subject.provider.restoreMessages("s")).toBe(4);
      expect(await history(subject.other, "s")).toEqual(numbered(6));
    });

    it("brings back what a revert to the start removed", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.truncateMessages("s", "m2", KEEP);
      expect(await subject.other.truncateMessages("s", null, KEEP)).toBe(2);
      expect(await subject.provider.getSession("s")).toMatchObject({ reverted: true, messageCount: 0 });
      expect(await subject.provider.restoreMessages("s")).toBe(3);
      expect(await history(subject.other, "s")).toEqual(numbered(3));
      expect(await subject.other.logMessages("s", [message("m4")])).toMatchObject({ position: 3 });
    });

    it("works once, and lets the history continue", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await subject.provider.truncateMessages("s", "m1", KEEP);
      await subject.provider.restoreMessages("s");
      await refusal(subject.other.restoreMessages("s"), "failed_precondition");
      expect(await subject.other.logMessages("s", [message("m4")])).toMatchObject({ position: 3 });
      expect(await history(subject.provider, "s")).toEqual(numbered(4));
    });

    it("stays possible after changes that affect no message", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await sessionWith(subject.provider, "t", ["m1"]);
      await subject.provider.truncateMessages("s", "m2", KEEP);
      await subject.provider.updateSession("s", { title: "t" });
      expect(await subject.other.truncateMessages("s", "m2")).toBe(0);
      expect(await subject.other.truncateMessages("s", "m2", KEEP)).toBe(0);
      expect(await subject.provider.forkConversation("t", "s", { as: "copy" })).toMatchObject({ copiedCount: 0 });
      expect(await subject.other.logMessages("s", [message("m1")])).toMatchObject({ position: 0 });
      await refusal(subject.other.logMessages("s", [message("x")], { expectedPosition: 7 }), "aborted");
      await subject.other.forkConversation("s", "fork", { as: "fork" });
      expect(await subject.provider.restoreMessages("s")).toBe(1);
      expect(await history(subject.other, "s")).toEqual(numbered(3));
    });

    it.each([
      ["an append", (): Promise<unknown> => subject.other.logMessages("s", [message("x")])],
      ["an older message", (): Promise<unknown> => subject.other.logMessages("s", [messageAt("x", -5)])],
      ["a truncate", (): Promise<unknown> => subject.other.truncateMessages("s", "m1")],
      ["a copy", (): Promise<unknown> => subject.other.forkConversation("t", "s", { as: "copy" })],
    ])("is refused after %s", async (_, change) => {
      await sessionWith(subject.provider, "s", numbered(4));
      await sessionWith(subject.provider, "t", ["t1"]);
      await subject.provider.truncateMessages("s", "m2", KEEP);
      await change();
      const ids = await history(subject.provider, "s");
      expect(await subject.provider.getSession("s")).toMatchObject({ reverted: false });
      await refusal(subject.provider.restoreMessages("s"), "failed_precondition");
      expect(await history(subject.other, "s")).toEqual(ids);
    });

    it("undoes only the revert that came after an append, and not the earlier ones", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      await subject.provider.truncateMessages("s", "m2", KEEP);
      await subject.other.logMessages("s", [message("x")]);
      await subject.provider.truncateMessages("s", "m1", KEEP);
      expect(await subject.other.restoreMessages("s")).toBe(2);
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2", "x"]);
    });

    it("is refused for a session that was never reverted, for a fork of a reverted one, and for an unknown one", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await refusal(subject.provider.restoreMessages("s"), "failed_precondition");
      await subject.provider.truncateMessages("s", "m1", KEEP);
      const { session } = await subject.provider.forkConversation("s", "fork", { as: "fork" });
      expect(session).toMatchObject({ reverted: false });
      await refusal(subject.provider.restoreMessages("fork"), "failed_precondition");
      await refusal(subject.provider.restoreMessages("nobody"), "not_found");
    });

    it("brings back in a fork what its reverts removed", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.logMessages("fork", [message("f1")]);
      await subject.provider.truncateMessages("fork", "m2", KEEP);
      await subject.provider.truncateMessages("s", "m1");
      expect(await subject.other.restoreMessages("fork")).toBe(3);
      expect(await history(subject.other, "fork")).toEqual([...numbered(4), "f1"]);
      expect(await history(subject.other, "s")).toEqual(["m1"]);
    });
  });
}
