import { describe, expect, it } from "vitest";
import type { ForkOptions } from "../../../src/storage/storage-provider.js";
import { history, message, messageAt, messages, numbered, refusal, sessionWith, sweepAway } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeForks(subject: StorageProviderSubject): void {
  const fork = (source: string, target: string, options: Omit<ForkOptions, "as"> = {}) =>
    subject.provider.forkConversation(source, target, { as: "fork", ...options });

  describe("forkConversation as fork", () => {
    it("makes a session with all messages and returns it, the fork point and the number of messages", async () => {
      await subject.provider.createSession({ sessionId: "s", title: "title", metadata: { a: 1 } });
      await subject.provider.logMessages("s", messages("m1", "m2", "m3"));
      const result = await fork("s", "f");
      expect(result).toMatchObject({ forkPointId: "m3", copiedCount: 3 });
      expect(result.session).toMatchObject({
        sessionId: "f",
        parentId: "s",
        forkPointId: "m3",
        title: "title",
        metadata: { a: 1 },
        messageCount: 3,
        inheritedCount: 3,
        reverted: false,
      });
      expect(await subject.other.getSession("f")).toEqual(result.session);
    });

    it("takes messages up to and including the named one", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      expect(await fork("s", "f", { upToMessageId: "m2" })).toMatchObject({ forkPointId: "m2", copiedCount: 2 });
      expect(await history(subject.other, "f")).toEqual(["m1", "m2"]);
    });

    it("shows inherited messages as the fork's own, with their places and origins", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1)]);
      await fork("s", "f");
      await subject.provider.logMessages("f", [messageAt("m2", 2)]);
      await fork("f", "g");
      expect(await subject.other.getSessionMessages("g")).toEqual([
        { ...messageAt("m1", 1), sessionId: "g", originSessionId: "s", position: 0 },
        { ...messageAt("m2", 2), sessionId: "g", originSessionId: "f", position: 1 },
      ]);
      expect(await subject.other.getMessage("g", "m1")).toMatchObject({ sessionId: "g", originSessionId: "s" });
    });

    it("takes the title that is given", async () => {
      await subject.provider.createSession({ sessionId: "s", title: "old" });
      expect((await fork("s", "f", { title: "new" })).session).toMatchObject({ title: "new" });
    });

    it("of an empty session has no fork point", async () => {
      await sessionWith(subject.provider, "s");
      const result = await fork("s", "f");
      expect(result).toMatchObject({ forkPointId: null, copiedCount: 0 });
      expect(result.session).toMatchObject({ forkPointId: "", inheritedCount: 0, messageCount: 0 });
    });

    it("sees what another provider appended just before", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.other.logMessages("s", [message("m2")]);
      expect(await fork("s", "f")).toMatchObject({ copiedCount: 2 });
    });

    it("is independent of its source afterwards", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await fork("s", "f");
      await subject.other.logMessages("s", [message("s4")]);
      await subject.other.logMessages("f", [message("f4")]);
      await subject.provider.truncateMessages("s", "m1");
      await subject.provider.logMessages("s", [message("m2", { role: "assistant" })]);
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2"]);
      expect(await history(subject.provider, "f")).toEqual(["m1", "m2", "m3", "f4"]);
      expect(await subject.other.getMessage("f", "m2")).toMatchObject({ role: "user" });
    });

    it("recognises the ids that it inherited", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await fork("s", "f");
      expect(await subject.other.logMessages("f", [message("m2")])).toEqual({ messageIds: ["m2"], position: 1 });
      await refusal(subject.provider.logMessages("f", [message("m2", { role: "assistant" })]), "already_exists");
      expect(await history(subject.other, "f")).toEqual(numbered(3));
    });

    it("may reuse the ids after its fork point", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await fork("s", "f", { upToMessageId: "m1" });
      expect(await subject.provider.logMessages("f", [message("m2", { role: "assistant" })])).toMatchObject({
        position: 1,
      });
      expect(await subject.other.getMessage("f", "m2")).toMatchObject({ role: "assistant" });
      expect(await subject.other.getMessage("s", "m2")).toMatchObject({ role: "user" });
    });

    it("lives on when its source, and the source's source, are deleted", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await fork("s", "f");
      await subject.provider.logMessages("f", [message("m3")]);
      await fork("f", "g", { upToMessageId: "m3" });
      await subject.provider.deleteSession("s");
      await subject.other.deleteSession("f");
      expect(await sweepAway(subject)).toMatchObject({ sessions: 0 });
      expect(await history(subject.provider, "g")).toEqual(numbered(3));
      expect(await subject.other.logMessages("g", [message("m4")])).toMatchObject({ position: 3 });
      expect(await subject.other.getSession("g")).toMatchObject({
        parentId: "f",
        forkPointId: "m3",
        inheritedCount: 3,
      });
      await subject.provider.deleteSession("g");
      expect(await sweepAway(subject)).toMatchObject({ sessions: 3 });
    });

    it("keeps inherited_count and fork_point_id when it is truncated", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await fork("s", "f");
      await subject.provider.truncateMessages("f", "m1");
      expect(await subject.other.getSession("f")).toMatchObject({
        forkPointId: "m3",
        inheritedCount: 3,
        messageCount: 1,
      });
    });

    it("refuses an unknown source, and a message that the source does not have", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await refusal(fork("nobody", "f"), "not_found");
      await refusal(fork("s", "f", { upToMessageId: "m9" }), "invalid_argument");
      await refusal(subject.other.getSession("f"), "not_found");
    });

    it("refuses an id that is taken, even that of its source", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "f");
      expect((await refusal(fork("s", "f"), "already_exists")).message).toContain("f");
      await refusal(fork("s", "s"), "already_exists");
      expect(await subject.other.getMessageCount("f")).toBe(0);
    });
  });

  describe("a retry of a fork", () => {
    it("returns the fork that the first call made, whatever its title", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      const first = await fork("s", "f", { upToMessageId: "m2" });
      const again = await subject.other.forkConversation("s", "f", { as: "fork", upToMessageId: "m2", title: "t" });
      expect(again).toEqual(first);
    });

    it("returns the fork even if the source has grown, was truncated, or is gone", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await fork("s", "f");
      const copied = { forkPointId: "m3", copiedCount: 3, session: { messageCount: 3 } };
      await subject.provider.logMessages("s", [message("m4")]);
      expect(await fork("s", "f")).toMatchObject(copied);
      await subject.provider.truncateMessages("s", "m1");
      expect(await fork("s", "f")).toMatchObject(copied);
      await subject.provider.deleteSession("s");
      expect(await fork("s", "f")).toMatchObject(copied);
    });

    it("returns the fork in its current state", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await fork("s", "f");
      await subject.provider.logMessages("f", [message("f1")]);
      expect(await fork("s", "f")).toMatchObject({ copiedCount: 2, session: { messageCount: 3, inheritedCount: 2 } });
    });

    it("is a different call with another source, kind or message", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await sessionWith(subject.provider, "t", numbered(3));
      await fork("s", "f");
      await refusal(fork("t", "f"), "already_exists");
      await refusal(fork("s", "f", { upToMessageId: "m2" }), "already_exists");
      await refusal(fork("s", "f", { upToMessageId: "m3" }), "already_exists");
      await refusal(subject.provider.forkConversation("s", "f", { as: "share" }), "already_exists");
    });

    it("is a different call when the source was made again", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await fork("s", "f");
      await subject.provider.deleteSession("s");
      await sessionWith(subject.other, "s", numbered(2));
      await refusal(fork("s", "f"), "already_exists");
    });

    it("makes one fork when it is sent many times at once", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const sent = Array.from({ length: 6 }, (_, i) =>
        (i % 2 ? subject.other : subject.provider).forkConversation("s", "f", { as: "fork" }),
      );
      for (const answer of await Promise.all(sent)) expect(answer).toMatchObject({ copiedCount: 2, forkPointId: "m2" });
      expect(await history(subject.provider, "f")).toEqual(["m1", "m2"]);
      await subject.provider.deleteSession("f");
      await refusal(subject.other.getSession("f"), "not_found");
    });
  });

  describe("a fork and appends to its source at the same time", () => {
    it("takes a state that the source really had", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const append = async () => {
        for (let i = 0; i < 8; i++) await subject.other.logMessages("s", messages(`a${i}`, `b${i}`));
      };
      const forks = async () => {
        for (let i = 0; i < 4; i++) await fork("s", `f${i}`);
      };
      await Promise.all([append(), forks()]);
      const all = await history(subject.provider, "s");
      for (let i = 0; i < 4; i++) {
        const ids = await history(subject.provider, `f${i}`);
        expect(ids).toEqual(all.slice(0, ids.length));
        expect(ids.length % 2).toBe(0);
      }
    });
  });
}
