import { beforeEach, describe, expect, it } from "vitest";
import type { SessionCursor } from "../../../src/domain/page.js";
import type { SessionOrder } from "../../../src/domain/session-order.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { message, refusal, SECOND } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

type Asked = Omit<Parameters<StorageOperations["listSessions"]>[0], "parentId" | "limit" | "cursor">;

const BY_TITLE: SessionOrder = { by: "title", descending: false };

export function describeSessionQueries(subject: StorageProviderSubject): void {
  const hasQueries = () => subject.store === undefined || subject.store().queries !== undefined;

  describe("listSessions in other orders and with conditions, on a store without queries", () => {
    it("is unimplemented, and says what of it", async ({ skip }) => {
      if (hasQueries()) return skip("the store has queries");
      const asked = { parentId: "", limit: 9, order: BY_TITLE };
      const { message } = await refusal(subject.provider.listSessions(asked), "unimplemented");
      expect(message).toContain("listing sessions in this order or with these conditions");
    });
  });

  describe("listSessions in other orders and with conditions", () => {
    beforeEach(({ skip }) => {
      if (!hasQueries()) skip("the store has no queries");
    });

    const make = async (sessionId: string, title: string, given: object = {}) => {
      subject.nowMicros += SECOND;
      await subject.provider.createSession({ sessionId, title, ...given });
    };
    const idsOf = async (asked: Asked, limit = 2) => {
      const ids: string[] = [];
      for (let cursor: SessionCursor | undefined; ; ) {
        const page = await subject.other.listSessions({ parentId: "", limit, cursor, ...asked });
        ids.push(...page.sessions.map(({ sessionId }) => sessionId));
        if (page.next === undefined) return ids.join("");
        cursor = page.next;
      }
    };

    it("follows titles, times of creation and updates, in both directions", async () => {
      await make("a", "cherry");
      await make("b", "Äpfel");
      await make("c", "Banana");
      await make("d", "banana");
      subject.nowMicros += 100 * SECOND;
      await subject.provider.updateSession("b", { metadata: { x: 1 } });
      expect(await idsOf({ order: BY_TITLE })).toBe("bcda");
      expect(await idsOf({ order: { by: "title", descending: true } })).toBe("adcb");
      expect(await idsOf({ order: { by: "create_time", descending: false } })).toBe("abcd");
      expect(await idsOf({ order: { by: "create_time", descending: true } })).toBe("dcba");
      expect(await idsOf({ order: { by: "update_time", descending: false } })).toBe("acdb");
      await subject.provider.updateSession("b", { title: "zoo" });
      expect(await idsOf({ order: BY_TITLE })).toBe("cdab");
      expect(await idsOf({ titleWords: ["banana"] })).toBe("dc");
      expect(await idsOf({ titleWords: ["apfel"] })).toBe("");
      const { sessions } = await subject.other.listSessions({ parentId: "", limit: 1, titleWords: ["zoo"] });
      const updated = sessions[0]?.updateTimeMicros ?? 0;
      expect(await idsOf({ updatedSinceMicros: updated })).toBe("b");
      expect(await idsOf({ updatedUntilMicros: updated })).toBe("dca");
    });

    it("counts the sessions of all pages, whatever the page, and none that has expired", async () => {
      const expireTimeMicros = subject.nowMicros + 10 * SECOND;
      for (const id of ["a", "b", "c"]) await make(id, "trip", { labels: { k: "v" } });
      await make("d", "trip", { expireTimeMicros });
      await make("e", "other");
      subject.nowMicros += 20 * SECOND;
      const first = await subject.provider.listSessions({
        parentId: "",
        limit: 2,
        titleWords: ["trip"],
        withTotal: true,
      });
      expect(first.total).toEqual({ size: 3, isEstimate: false });
      const query = { parentId: "", limit: 2, titleWords: ["trip"], withTotal: true };
      const second = await subject.provider.listSessions({ ...query, cursor: first.next });
      expect(second.total).toEqual({ size: 3, isEstimate: false });
      expect((await subject.provider.listSessions({ parentId: "", limit: 1, withTotal: true })).total?.size).toBe(4);
      expect((await subject.provider.listSessions({ parentId: "", limit: 1 })).total).toBeUndefined();
      expect(await idsOf({ titleWords: ["trip"], order: BY_TITLE }, 1)).toBe("abc");
    });

    it("has counts and previews in the full view, and only sessions of the caller's owner", async () => {
      await make("a", "trip", { owner: "o" });
      await make("b", "trip", { owner: "p" });
      await subject.provider.logMessages("a", [message("m1")]);
      const asked = {
        parentId: "",
        limit: 9,
        titleWords: ["trip"],
        order: BY_TITLE,
        view: "full",
        withTotal: true,
      } as const;
      const bound = await subject.other.listSessions({ ...asked, access: { owner: "o" } });
      expect(bound).toMatchObject({ sessions: [{ sessionId: "a", messageCount: 1 }], total: { size: 1 } });
      expect(bound.sessions[0]?.lastMessage).toMatchObject({ messageId: "m1" });
      const other = await subject.other.listSessions({ ...asked, owner: "p", access: { owner: "o" } });
      expect(other).toEqual({ sessions: [], total: { size: 0, isEstimate: false } });
    });

    it("finds no deleted session, and the title of a fork", async () => {
      await make("a", "trip");
      await subject.provider.forkConversation("a", "b", { as: "fork", title: "journey" });
      expect(await idsOf({ titleWords: ["journey"] })).toBe("b");
      await subject.provider.deleteSession("a");
      expect(await idsOf({ titleWords: ["trip"] })).toBe("");
      expect(await idsOf({ order: BY_TITLE })).toBe("b");
    });
  });
}
