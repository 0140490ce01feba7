import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import { embeddedSize, messageSize } from "../../../src/domain/message-size.js";
import { idsOf, message, messageAt, numbered, pages, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeLists(subject: StorageProviderSubject): void {
  describe("listMessages", () => {
    it.each([1, 2, 3, 7, 8])("reads a history page by page, %i at a time", async (limit) => {
      await sessionWith(subject.provider, "s", numbered(7));
      const ids = numbered(7);
      const oldestFirst = await pages(subject.other, "s", { limit });
      expect(oldestFirst.flat()).toEqual(ids);
      expect(oldestFirst).toHaveLength(Math.ceil(7 / limit));
      const newestFirst = await pages(subject.other, "s", { limit, newestFirst: true });
      expect(newestFirst.flat()).toEqual([...ids].reverse());
      expect(newestFirst).toHaveLength(Math.ceil(7 / limit));
    });

    it("reads a history of many segments", async () => {
      await sessionWith(subject.provider, "s", [messageAt("b", 10), messageAt("d", 30)]);
      await subject.provider.logMessages("s", [messageAt("c", 20)]);
      await subject.provider.logMessages("s", [messageAt("a", 5)]);
      await subject.provider.forkConversation("s", "t", { as: "fork" });
      await subject.provider.logMessages("t", [messageAt("e", 40), messageAt("f", 50)]);
      for (const limit of [1, 2, 4]) {
        expect((await pages(subject.other, "t", { limit })).flat()).toEqual(["a", "b", "c", "d", "e", "f"]);
        const newestFirst = await pages(subject.other, "t", { limit, newestFirst: true });
        expect(newestFirst.flat()).toEqual(["f", "e", "d", "c", "b", "a"]);
      }
    });

    it("skips as many messages as the offset says, from the end at which the list begins", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const list = async (offset: number, newestFirst: boolean) =>
        idsOf((await subject.other.listMessages("s", { limit: 2, offset, newestFirst })).messages);
      expect(await list(0, false)).toEqual(["m1", "m2"]);
      expect(await list(3, false)).toEqual(["m4", "m5"]);
      expect(await list(3, true)).toEqual(["m2", "m1"]);
      expect(await list(5, false)).toEqual([]);
      expect(await list(99, true)).toEqual([]);
    });

    it("continues after a page that began at an offset", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      expect(await pages(subject.provider, "s", { limit: 2, offset: 1 })).toEqual([
        ["m2", "m3"],
        ["m4", "m5"],
      ]);
    });

    it("names no next page when nothing follows", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      for (const options of [{ limit: 4 }, { limit: 4, newestFirst: true }, { limit: 2, offset: 2 }, { limit: 9 }]) {
        expect((await subject.provider.listMessages("s", options)).next).toBeUndefined();
      }
      expect((await subject.provider.listMessages("s", { limit: 3 })).next).toBeDefined();
    });

    it("returns an empty page for an empty session", async () => {
      await sessionWith(subject.provider, "s");
      const page = await subject.provider.listMessages("s", { limit: 5 });
      expect(page.messages).toEqual([]);
      expect(page.next).toBeUndefined();
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.listMessages("nobody", { limit: 5 }), "not_found");
    });

    it("ends a page before the limit of bytes, but with at least one message, and continues", async () => {
      const big = (id: string, kib: number) =>
        message(id, { parts: [{ id: "", type: "text", text: "x".repeat(kib * 1024) }] });
      const given = [big("m1", 1500), big("m2", 1200), big("m3", 1200), big("m4", 3000), big("m5", 10), big("m6", 10)];
      await sessionWith(subject.provider, "s", given);
      for (const newestFirst of [false, true]) {
        const ids = newestFirst ? [...numbered(6)].reverse() : numbered(6);
        const all = await pages(subject.other, "s", { limit: 100, newestFirst });
        expect(all.flat()).toEqual(ids);
        expect(all.length).toBeGreaterThan(2);
      }
      const { messages } = await subject.other.listMessages("s", { limit: 100 });
      const bytes = messages.reduce((sum, one) => sum + embeddedSize(messageSize(one, one)), 0);
      expect(bytes).toBeLessThanOrEqual(DEFAULT_LIMITS.pageBytes);
    });
  });

  describe("include_ancestors", () => {
    const make = async () => {
      await sessionWith(subject.provider, "grand", [messageAt("g1", 1), messageAt("g2", 2)]);
      await subject.provider.createSession({ sessionId: "parent", parentId: "grand" });
      await subject.provider.logMessages("parent", [messageAt("p1", 3)]);
      await subject.provider.createSession({ sessionId: "s", parentId: "parent" });
      await subject.provider.logMessages("s", [messageAt("m1", 0), messageAt("m2", 5)]);
    };

    it("puts the messages of the parent chain in front, with their own sessions' ids and without positions", async () => {
      await make();
      const list = await subject.other.getSessionMessages("s", { includeAncestors: true });
      expect(list.map(({ id, sessionId, position }) => [id, sessionId, position])).toEqual([
        ["g1", "grand", undefined],
        ["g2", "grand", undefined],
        ["p1", "parent", undefined],
        ["m1", "s", 0],
        ["m2", "s", 1],
      ]);
      expect(list.map(({ originSessionId }) => originSessionId)).toEqual(["grand", "grand", "parent", "s", "s"]);
    });

    it("leaves them out unless asked", async () => {
      await make();
      expect(idsOf(await subject.other.getSessionMessages("s"))).toEqual(["m1", "m2"]);
      expect(idsOf((await subject.other.listMessages("s", { limit: 9 })).messages)).toEqual(["m1", "m2"]);
      expect(await subject.other.getMessageCount("s")).toBe(2);
      expect(await subject.other.getMessage("s", "p1")).toBeNull();
    });

    it("shows the chain as it was when the session was made", async () => {
      await make();
      await subject.provider.logMessages("parent", [messageAt("p2", 9), messageAt("p0", 0)]);
      await subject.provider.truncateMessages("grand", "g1");
      await subject.provider.deleteSession("parent");
      const ids = ["g1", "g2", "p1", "m1", "m2"];
      expect(idsOf(await subject.other.getSessionMessages("s", { includeAncestors: true }))).toEqual(ids);
      await subject.provider.deleteSession("grand");
      expect(idsOf(await subject.other.getSessionMessages("s", { includeAncestors: true }))).toEqual(ids);
    });

    it.each([1, 2, 3])("reads all of them page by page, %i at a time, in both directions", async (limit) => {
      await make();
      const ids = ["g1", "g2", "p1", "m1", "m2"];
      const list = { limit, includeAncestors: true };
      expect((await pages(subject.other, "s", list)).flat()).toEqual(ids);
      expect((await pages(subject.other, "s", { ...list, newestFirst: true })).flat()).toEqual([...ids].reverse());
    });

    it("applies limit, offset and times to the whole list, and the offset after the times", async () => {
      await make();
      const read = async (limit: number, offset?: number) =>
        idsOf(await subject.other.getSessionMessages("s", { includeAncestors: true, limit, offset }));
      expect(await read(3)).toEqual(["p1", "m1", "m2"]);
      expect(await read(3, 1)).toEqual(["g2", "p1", "m1"]);
      const { timestampMicros: sinceMicros = 0 } = messageAt("", 2);
      const page = await subject.other.listMessages("s", { limit: 9, offset: 1, includeAncestors: true, sinceMicros });
      expect(idsOf(page.messages)).toEqual(["p1", "m2"]);
    });

    it("gives a fork its source's ancestry", async () => {
      await make();
      await subject.provider.forkConversation("s", "fork", { as: "fork", upToMessageId: "m1" });
      await subject.provider.logMessages("fork", [messageAt("f1", 7)]);
      const list = await subject.other.getSessionMessages("fork", { includeAncestors: true });
      expect(list.map(({ id, sessionId }) => `${sessionId} ${id}`)).toEqual([
        "grand g1",
        "grand g2",
        "parent p1",
        "fork m1",
        "fork f1",
      ]);
    });
  });
}
