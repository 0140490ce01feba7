import { describe, expect, it } from "vitest";
import { parseSearch } from "../../../src/domain/search.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { ADA, BOB, type LimitedCall, withNewTicket } from "./access-callers.js";
import { idsOf, message, numbered, refusal } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const LABELS = { team: "blue" };
const EVERYBODY = {} as LimitedCall;

/** What lists, searches and ancestors show to callers with limited access. */
export function describeAccessLists(subject: StorageProviderSubject): void {
  /** Makes sessions `ada1`, `bob1`, `free1`, `ada2` and so on; those with an even number have labels. */
  const makeMany = async (count: number) => {
    for (const n of numbered(count, "")) {
      for (const owner of ["ada", "bob", undefined]) {
        const labels = Number(n) % 2 === 0 ? LABELS : undefined;
        await subject.provider.createSession({ sessionId: `${owner ?? "free"}${n}`, owner, labels });
      }
    }
  };
  const listed = async (
    filter: { owner?: string; parentId?: string; labels?: readonly string[] },
    call: LimitedCall,
  ) => {
    const pages: (readonly string[])[] = [];
    let cursor: Awaited<ReturnType<StorageOperations["listSessions"]>>["next"];
    do {
      const given = { parentId: "", limit: 2, ...filter, ...call, cursor };
      const { sessions, next } = await subject.other.listSessions(given);
      pages.push(sessions.map(({ sessionId }) => sessionId).sort());
      cursor = next;
    } while (cursor !== undefined);
    return pages;
  };

  describe("listSessions with owners", () => {
    it("has full pages of one owner, however many sessions of others lie between", async () => {
      await makeMany(5);
      for (const [filter, call] of [
        [{}, ADA],
        [{ owner: "ada" }, ADA],
        [{ owner: "ada" }, EVERYBODY],
      ] as const) {
        const pages = await listed(filter, call);
        expect(pages.map(({ length }) => length)).toEqual([2, 2, 1]);
        expect(pages.flat().sort()).toEqual(numbered(5, "ada"));
      }
      expect((await listed({ owner: "" }, EVERYBODY)).flat().sort()).toEqual(numbered(5, "free"));
      expect((await listed({}, EVERYBODY)).flat()).toHaveLength(15);
    });

    it("is empty when a bound caller asks for others", async () => {
      await makeMany(2);
      for (const owner of ["bob", "", "nobody"]) expect(await listed({ owner }, ADA)).toEqual([[]]);
    });

    it("combines owner and label", async () => {
      await makeMany(4);
      for (const [filter, call] of [
        [{}, ADA],
        [{ owner: "ada" }, EVERYBODY],
      ] as const) {
        expect(await listed({ ...filter, labels: ["team=blue"] }, call)).toEqual([["ada2", "ada4"]]);
        expect(await listed({ ...filter, labels: ["team=red"] }, call)).toEqual([[]]);
      }
    });

    it("shows children only below a parent that the caller may see, and only its own", async () => {
      await makeMany(1);
      for (const [sessionId, parentId, owner] of [
        ["c1", "ada1", "ada"],
        ["c2", "ada1", "bob"],
        ["c3", "bob1", "ada"],
      ] as const) {
        await subject.provider.createSession({ sessionId, parentId, owner });
      }
      expect(await listed({ parentId: "ada1" }, ADA)).toEqual([["c1"]]);
      expect(await listed({ parentId: "bob1" }, ADA)).toEqual([[]]);
      expect((await listed({ parentId: "ada1" }, EVERYBODY)).flat().sort()).toEqual(["c1", "c2"]);
    });

    it("follows changes of the owner at once", async () => {
      await makeMany(2);
      await subject.provider.updateSession("ada1", { owner: "bob" });
      expect((await listed({}, ADA)).flat()).toEqual(["ada2"]);
      expect((await listed({}, BOB)).flat().sort()).toEqual(["ada1", "bob1", "bob2"]);
      await subject.provider.deleteSession("ada2");
      expect(await listed({}, ADA)).toEqual([[]]);
    });
  });

  describe("visibleSessions", () => {
    it("names those that exist and that the caller may see", async () => {
      await makeMany(1);
      const ids = ["ada1", "bob1", "free1", "missing", "ada1"];
      const seenBy = async (call: LimitedCall) => [...(await subject.other.visibleSessions(ids, call))].sort();
      expect(await seenBy(ADA)).toEqual(["ada1"]);
      expect(await seenBy(EVERYBODY)).toEqual(["ada1", "bob1", "free1"]);
      expect(await seenBy(await withNewTicket(subject.provider, "bob1"))).toEqual(["bob1"]);
    });
  });

  describe("searchMessages with owners", () => {
    const found = async (
      filter: { owner?: string; sessionId?: string; labels?: readonly string[] },
      call: LimitedCall,
    ) => {
      const searching = subject.open({ search: true });
      const pages: number[] = [];
      const hits: string[] = [];
      let cursor: Awaited<ReturnType<StorageOperations["searchMessages"]>>["next"];
      do {
        const terms = parseSearch("text");
        const page = await searching.searchMessages({ terms, limit: 2, ...filter, ...call, cursor });
        pages.push(page.hits.length);
        hits.push(...page.hits.map(({ sessionId }) => sessionId));
        cursor = page.next;
      } while (cursor !== undefined);
      return { pages, hits: hits.sort() };
    };

    it("finds messages of the caller's sessions alone, on pages that are as full as if nobody else had any", async (context) => {
      if (!subject.searches) return context.skip("the store cannot search");
      await makeMany(3);
      for (const id of ["ada1", "bob1", "free1", "ada2", "bob2", "bob3", "ada3"]) {
        await subject.provider.logMessages(id, [message("m1")]);
      }
      expect(await found({}, ADA)).toEqual({ pages: [2, 1], hits: numbered(3, "ada") });
      expect(await found({ owner: "bob" }, EVERYBODY)).toMatchObject({ hits: numbered(3, "bob") });
      expect(await found({ owner: "" }, EVERYBODY)).toMatchObject({ hits: ["free1"] });
      expect(await found({ owner: "bob" }, ADA)).toEqual({ pages: [0], hits: [] });
      expect(await found({ labels: ["team=blue"] }, ADA)).toMatchObject({ hits: ["ada2"] });
      expect(await found({ sessionId: "ada2" }, ADA)).toMatchObject({ hits: ["ada2"] });
      const ticket = await withNewTicket(subject.provider, "bob1");
      expect(await found({ sessionId: "bob1" }, ticket)).toMatchObject({ hits: ["bob1"] });
      await refusal(found({}, ticket), "permission_denied");
      await refusal(found({ sessionId: "ada1" }, ticket), "not_found");
      await subject.provider.updateSession("ada3", { owner: "bob" });
      expect(await found({}, ADA)).toMatchObject({ hits: ["ada1", "ada2"] });
    });
  });

  describe("include_ancestors", () => {
    const shown = async (sessionId: string, call: LimitedCall, newestFirst = false) => {
      const page = { limit: 99, includeAncestors: true, newestFirst, ...call };
      const [all, { messages }] = [
        await subject.other.getSessionMessages(sessionId, { includeAncestors: true, ...call }),
        await subject.other.listMessages(sessionId, page),
      ];
      expect(idsOf(newestFirst ? messages.toReversed() : messages)).toEqual(idsOf(all));
      return idsOf(all).join(" ");
    };
    /** Makes a session with one message, which has its name. */
    const child = async (sessionId: string, parentId: string, owner: string) => {
      await subject.provider.createSession({ sessionId, parentId, owner });
      await subject.provider.logMessages(sessionId, [message(`in-${sessionId}`)]);
    };

    it("stops at the first ancestor that the caller may not see", async () => {
      await child("a", "", "ada");
      await child("b", "a", "bob");
      await child("c", "b", "ada");
      await child("d", "c", "ada");
      for (const newestFirst of [false, true]) {
        expect(await shown("d", ADA, newestFirst)).toBe("in-c in-d");
        expect(await shown("d", EVERYBODY, newestFirst)).toBe("in-a in-b in-c in-d");
        expect(await shown("d", await withNewTicket(subject.provider, "d"), newestFirst)).toBe("in-d");
      }
      await subject.provider.updateSession("b", { owner: "ada" });
      expect(await shown("d", ADA)).toBe("in-a in-b in-c in-d");
      await subject.provider.updateSession("c", { owner: "bob" });
      expect(await shown("d", ADA)).toBe("in-d");
    });

    it("takes an ancestor that was deleted and made again, even by the caller, for another one", async () => {
      await child("a", "", "bob");
      await child("b", "a", "ada");
      await subject.provider.deleteSession("a");
      await child("a", "", "ada");
      expect(await shown("b", ADA)).toBe("in-b");
    });

    it("shows what a forked ancestor took over only to those who may see that ancestor", async () => {
      await child("a", "", "bob");
      await subject.provider.forkConversation("a", "fork", { as: "fork" });
      await subject.provider.updateSession("fork", { owner: "ada" });
      await child("b", "fork", "ada");
      expect(await shown("b", ADA)).toBe("in-a in-b");
      await subject.provider.updateSession("fork", { owner: "bob" });
      expect(await shown("b", ADA)).toBe("in-b");
    });

    it("refuses a cursor in ancestors that the caller may not see", async () => {
      await child("a", "", "bob");
      await child("b", "a", "ada");
      const list = { includeAncestors: true, limit: 1 };
      const { next, messages } = await subject.provider.listMessages("b", list);
      expect(idsOf(messages)).toEqual(["in-a"]);
      await refusal(subject.other.listMessages("b", { ...list, cursor: next, ...ADA }), "failed_precondition");
    });
  });

  describe("cursors and resume tokens", () => {
    it("of one session open nothing of another", async () => {
      for (const [id, call] of [
        ["hers", ADA],
        ["his", BOB],
      ] as const) {
        await subject.provider.createSession({ sessionId: id }, call);
        for (const name of numbered(3)) await subject.provider.logMessages(id, [message(name)], call);
      }
      const { next } = await subject.provider.listMessages("hers", { limit: 1, ...ADA });
      await refusal(subject.other.listMessages("hers", { limit: 1, cursor: next, ...BOB }), "not_found");
      await refusal(subject.other.listMessages("his", { limit: 1, cursor: next, ...BOB }), "invalid_argument");
      await refusal(subject.other.loadSession("hers", { limit: 1, cursor: next, ...BOB }), "not_found");
      const events = await subject.provider.followMessages("hers", 0, ADA);
      const reader = events[Symbol.asyncIterator]();
      const { at } = (await reader.next()).value;
      await reader.return?.();
      await refusal(subject.other.followMessages("hers", at, BOB), "not_found");
      await refusal(subject.other.followMessages("his", at, BOB), "invalid_argument");
    });
  });
}
