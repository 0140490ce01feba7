import { describe, expect, it } from "vitest";
import { history, message, messageAt, numbered, refusal, sessionWith, sweepAway } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeCopies(subject: StorageProviderSubject): void {
  const copy = (source: string, target: string, upToMessageId?: string) =>
    subject.provider.forkConversation(source, target, { as: "copy", upToMessageId });

  describe("forkConversation as copy", () => {
    it("copies all messages into an empty session", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await sessionWith(subject.provider, "t");
      const result = await copy("s", "t");
      expect(result).toMatchObject({ forkPointId: "m3", copiedCount: 3 });
      expect(result.session).toBeUndefined();
      expect(await history(subject.other, "t")).toEqual(numbered(3));
    });

    it("copies messages up to and including the named one", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await sessionWith(subject.provider, "t");
      expect(await copy("s", "t", "m2")).toMatchObject({ forkPointId: "m2", copiedCount: 2 });
      expect(await history(subject.other, "t")).toEqual(["m1", "m2"]);
    });

    it("merges by timestamp, the target's own first on ties", async () => {
      await sessionWith(subject.provider, "s", [messageAt("s1", 5), messageAt("s2", 10), messageAt("s3", 30)]);
      await sessionWith(subject.provider, "t", [messageAt("t1", 10), messageAt("t2", 20), messageAt("t3", 30)]);
      expect(await copy("s", "t")).toMatchObject({ forkPointId: "s3", copiedCount: 3 });
      expect(await history(subject.other, "t")).toEqual(["s1", "t1", "s2", "t2", "t3", "s3"]);
      expect(await history(subject.other, "s")).toEqual(["s1", "s2", "s3"]);
    });

    it("skips ids that the target has, whatever their content, and returns the last one really copied", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      await sessionWith(subject.provider, "t", [message("m2", { role: "assistant" }), "m4"]);
      expect(await copy("s", "t")).toMatchObject({ forkPointId: "m3", copiedCount: 2 });
      expect(await subject.other.getMessage("t", "m2")).toMatchObject({ role: "assistant" });
      expect(await subject.other.getMessageCount("t")).toBe(4);
    });

    it("copies nothing and returns null when there is nothing to copy", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await sessionWith(subject.provider, "t", numbered(2));
      await sessionWith(subject.provider, "empty");
      const { revision } = await subject.provider.getSession("t");
      expect(await copy("s", "t")).toMatchObject({ forkPointId: null, copiedCount: 0 });
      expect(await copy("empty", "t")).toMatchObject({ forkPointId: null, copiedCount: 0 });
      expect(await subject.other.getSession("t")).toMatchObject({ revision, messageCount: 2 });
    });

    it("copies nothing the second time, so that a retry is harmless", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await sessionWith(subject.provider, "t", ["t1"]);
      await copy("s", "t");
      expect(await copy("s", "t")).toMatchObject({ forkPointId: null, copiedCount: 0 });
      expect(await subject.other.getMessageCount("t")).toBe(4);
    });

    it("shows copied messages as the target's, with their origin", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1)]);
      await sessionWith(subject.provider, "t", [messageAt("t1", 0), messageAt("t2", 2)]);
      await sessionWith(subject.provider, "u", [messageAt("u1", 0)]);
      await copy("s", "t");
      await copy("t", "u");
      const shown = (await subject.other.getSessionMessages("u")).map(
        ({ id, sessionId, originSessionId, position }) => [id, sessionId, originSessionId, position],
      );
      expect(shown).toEqual([
        ["u1", "u", "u", 0],
        ["t1", "u", "t", 1],
        ["m1", "u", "s", 2],
        ["t2", "u", "t", 3],
      ]);
      const [first] = await subject.other.getSessionMessages("t", { limit: 1, offset: 1 });
      expect(first).toEqual({ ...messageAt("m1", 1), sessionId: "t", originSessionId: "s", position: 1 });
    });

    it("recognises the ids it copied", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await sessionWith(subject.provider, "t", ["t1"]);
      await copy("s", "t");
      const { position } = await subject.other.logMessages("t", [message("m1")]);
      expect(await subject.other.getMessage("t", "m1")).toMatchObject({ position });
      await refusal(subject.provider.logMessages("t", [message("m1", { role: "tool" })]), "already_exists");
    });

    it("keeps the target's parent, fork point and inherited count, and raises its revision", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await sessionWith(subject.provider, "t");
      const { revision } = await subject.provider.getSession("t");
      await copy("s", "t");
      const target = await subject.other.getSession("t");
      expect(target).toMatchObject({ parentId: "", forkPointId: "", inheritedCount: 0, messageCount: 2 });
      expect(target.revision).toBeGreaterThan(revision);
    });

    it("keeps copied messages when the source is truncated, deleted and swept", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await sessionWith(subject.provider, "empty");
      await sessionWith(subject.provider, "full", ["x"]);
      await copy("s", "empty");
      await copy("s", "full");
      await subject.provider.truncateMessages("s", "m1");
      await subject.provider.deleteSession("s");
      expect(await sweepAway(subject)).toMatchObject({ sessions: 1 });
      expect(await history(subject.other, "empty")).toEqual(numbered(3));
      expect((await history(subject.other, "full")).toSorted()).toEqual([...numbered(3), "x"]);
    });

    it("works in both directions between two sessions, and back into a fork's source", async () => {
      await sessionWith(subject.provider, "s", [messageAt("s1", 1)]);
      await sessionWith(subject.provider, "t");
      await copy("s", "t");
      await subject.provider.logMessages("t", [messageAt("t1", 2)]);
      await copy("t", "s");
      expect(await history(subject.other, "s")).toEqual(["s1", "t1"]);
      await subject.provider.forkConversation("s", "f", { as: "fork" });
      await subject.provider.logMessages("f", [messageAt("f1", 3)]);
      await copy("f", "s");
      await copy("f", "t");
      expect(await history(subject.other, "s")).toEqual(["s1", "t1", "f1"]);
      expect(await history(subject.other, "t")).toEqual(["s1", "t1", "f1"]);
      for (const id of ["s", "t"]) await subject.provider.deleteSession(id);
      expect(await sweepAway(subject)).toMatchObject({ sessions: 1 });
      expect(await history(subject.other, "f")).toEqual(["s1", "t1", "f1"]);
      await subject.provider.deleteSession("f");
      expect(await sweepAway(subject)).toMatchObject({ sessions: 2 });
    });

    it("merges histories of many segments by timestamp", async () => {
      const source = [9, 3, 7, 1, 5].map((seconds) => messageAt(`s${seconds}`, seconds));
      const target = [8, 2, 6, 4].map((seconds) => messageAt(`t${seconds}`, seconds));
      await sessionWith(subject.provider, "s", source);
      await sessionWith(subject.provider, "t", target);
      expect(await copy("s", "t", "s7")).toMatchObject({ forkPointId: "s7", copiedCount: 4 });
      expect(await history(subject.other, "t")).toEqual(["s1", "t2", "s3", "t4", "s5", "t6", "s7", "t8"]);
    });

    it("is refused when the target does not have the expected revision, and copies nothing", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await sessionWith(subject.provider, "empty");
      await sessionWith(subject.provider, "full", ["t1"]);
      await subject.provider.updateSession("s", { title: "the source's revision does not matter" });
      for (const target of ["empty", "full"]) {
        const { revision } = await subject.provider.getSession(target);
        const copyIf = (expectedRevision: number) =>
          subject.other.forkConversation("s", target, { as: "copy", expectedRevision });
        const error = await refusal(copyIf(revision + 1), "aborted");
        expect(error.message).toContain(String(revision));
        expect(await copyIf(revision)).toMatchObject({ copiedCount: 2 });
        await refusal(copyIf(revision), "aborted");
      }
      expect((await history(subject.other, "full")).toSorted()).toEqual(["m1", "m2", "t1"]);
    });

    it("refuses unknown sessions, an unknown message, and a copy of a session into itself", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await sessionWith(subject.provider, "t");
      await refusal(copy("nobody", "t"), "not_found");
      await refusal(copy("s", "nobody"), "not_found");
      await refusal(copy("s", "t", "m9"), "invalid_argument");
      await refusal(copy("s", "s"), "invalid_argument");
      expect(await subject.other.getMessageCount("t")).toBe(0);
      await refusal(subject.other.getSession("nobody"), "not_found");
    });

    it("loses no appends to the target that happen at the same time", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      await sessionWith(subject.provider, "t");
      const append = async () => {
        for (const id of numbered(10, "t")) await subject.other.logMessages("t", [message(id)]);
      };
      const [, copied] = await Promise.all([append(), copy("s", "t")]);
      expect(copied).toMatchObject({ copiedCount: 5 });
      const ids = await history(subject.provider, "t");
      expect(ids.filter((id) => id.startsWith("t"))).toEqual(numbered(10, "t"));
      expect(ids.filter((id) => id.startsWith("m"))).toEqual(numbered(5));
    });
  });
}
