import { describe, expect, it } from "vitest";
import type { GetMessagesOptions } from "../../../src/storage/storage-provider.js";
import { history, idsOf, message, messageAt, numbered, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeReads(subject: StorageProviderSubject): void {
  describe("getMessage", () => {
    it("returns the message with its place and origin", async () => {
      await sessionWith(subject.provider, "s", ["m1", messageAt("m2", 1)]);
      expect(await subject.other.getMessage("s", "m2")).toEqual({
        ...messageAt("m2", 1),
        sessionId: "s",
        originSessionId: "s",
        position: 1,
      });
    });

    it("returns null for a message that the session does not have, or no longer has", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      await sessionWith(subject.provider, "t", ["other"]);
      expect(await subject.provider.getMessage("s", "other")).toBeNull();
      await subject.provider.truncateMessages("s", "m1");
      expect(await subject.other.getMessage("s", "m2")).toBeNull();
    });

    it("sees at once what another provider appended", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      expect(await subject.other.getMessage("s", "m2")).toBeNull();
      await subject.provider.logMessages("s", [message("m2")]);
      expect(await subject.other.getMessage("s", "m2")).toMatchObject({ position: 1 });
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.getMessage("nobody", "m1"), "not_found");
    });
  });

  describe("getMessageCount", () => {
    it("reflects appends and edits of every provider", async () => {
      await sessionWith(subject.provider, "s");
      expect(await subject.other.getMessageCount("s")).toBe(0);
      await subject.provider.logMessages("s", [message("m1"), message("m2"), message("m3")]);
      expect(await subject.other.getMessageCount("s")).toBe(3);
      await subject.provider.truncateMessages("s", "m1");
      expect(await subject.other.getMessageCount("s")).toBe(1);
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.getMessageCount("nobody"), "not_found");
    });
  });

  describe("getSessionMessages", () => {
    const read = async (options?: GetMessagesOptions) => idsOf(await subject.other.getSessionMessages("s", options));

    it("returns all messages, oldest first", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m2", 2), messageAt("m1", 1), messageAt("m3", 3)]);
      expect(await read()).toEqual(["m1", "m2", "m3"]);
    });

    it("returns no messages for an empty session", async () => {
      await sessionWith(subject.provider, "s");
      expect(await read()).toEqual([]);
      expect(await read({ limit: 3 })).toEqual([]);
      expect(await read({ offset: 1 })).toEqual([]);
    });

    it("returns the last ones with only a limit", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      expect(await read({ limit: 2 })).toEqual(["m4", "m5"]);
      expect(await read({ limit: 5 })).toEqual(numbered(5));
      expect(await read({ limit: 99 })).toEqual(numbered(5));
    });

    it("counts from the oldest with an offset, even 0", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      expect(await read({ limit: 2, offset: 0 })).toEqual(["m1", "m2"]);
      expect(await read({ limit: 2, offset: 3 })).toEqual(["m4", "m5"]);
      expect(await read({ limit: 2, offset: 4 })).toEqual(["m5"]);
      expect(await read({ limit: 2, offset: 5 })).toEqual([]);
      expect(await read({ offset: 2 })).toEqual(["m3", "m4", "m5"]);
    });

    it("has no limit when none is given", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const ids = numbered(2100);
      for (let i = 0; i < ids.length; i += 700) {
        await subject.provider.logMessages(
          "s",
          ids.slice(i, i + 700).map((id) => message(id)),
        );
      }
      expect(await read()).toEqual(ids);
      expect(await read({ limit: 1500 })).toEqual(ids.slice(-1500));
    });

    it("gives the right positions wherever it begins", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const positions = async (options: GetMessagesOptions) =>
        (await subject.other.getSessionMessages("s", options)).map(({ id, position }) => `${id} at ${position}`);
      expect(await positions({})).toEqual(["m1 at 0", "m2 at 1", "m3 at 2", "m4 at 3", "m5 at 4"]);
      expect(await positions({ limit: 2 })).toEqual(["m4 at 3", "m5 at 4"]);
      expect(await positions({ limit: 2, offset: 1 })).toEqual(["m2 at 1", "m3 at 2"]);
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.getSessionMessages("nobody"), "not_found");
    });
  });

  describe("loadSession", () => {
    it("returns the session with its last messages, oldest first, and continues with older ones", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const { session, messages, next } = await subject.other.loadSession("s", { limit: 2 });
      expect(session).toEqual(await subject.provider.getSession("s"));
      expect(idsOf(messages)).toEqual(["m4", "m5"]);
      const older = await subject.provider.loadSession("s", { limit: 2, cursor: next });
      expect(idsOf(older.messages)).toEqual(["m2", "m3"]);
      const oldest = await subject.provider.loadSession("s", { limit: 2, cursor: older.next });
      expect(idsOf(oldest.messages)).toEqual(["m1"]);
      expect(oldest.next).toBeUndefined();
    });

    it("has no next page when it holds all", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const loaded = await subject.provider.loadSession("s", { limit: 2 });
      expect(idsOf(loaded.messages)).toEqual(["m1", "m2"]);
      expect(loaded.next).toBeUndefined();
    });

    it("gives a cursor that listMessages with newestFirst accepts, and accepts one of its cursors", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const { next } = await subject.provider.loadSession("s", { limit: 2 });
      const page = await subject.other.listMessages("s", { limit: 2, newestFirst: true, cursor: next });
      expect(idsOf(page.messages)).toEqual(["m3", "m2"]);
      const older = await subject.provider.loadSession("s", { limit: 2, cursor: page.next });
      expect(idsOf(older.messages)).toEqual(["m1"]);
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.loadSession("nobody", { limit: 1 }), "not_found");
    });
  });

  describe("a history that was edited many times", () => {
    it("reads the same through every operation", async () => {
      await sessionWith(subject.provider, "s", numbered(6));
      await subject.provider.truncateMessages("s", "m4");
      await subject.provider.logMessages("s", [message("a"), message("b")]);
      await subject.other.forkConversation("s", "fork", { as: "fork", upToMessageId: "a" });
      await subject.provider.truncateMessages("s", "a");
      await subject.provider.logMessages("s", [message("c")]);
      const ids = await history(subject.other, "s");
      expect(ids).toEqual(["m1", "m2", "m3", "m4", "a", "c"]);
      expect(await subject.other.getMessageCount("s")).toBe(ids.length);
      for (const [position, id] of ids.entries()) {
        expect(await subject.provider.getMessage("s", id)).toMatchObject({ id, position });
        const [one] = await subject.other.getSessionMessages("s", { limit: 1, offset: position });
        expect(one).toMatchObject({ id, position });
      }
    });
  });
}
