import { describe, expect, it } from "vitest";
import { StorageProvider } from "../../../src/storage/storage-provider.js";
import {
  ADA,
  BOB,
  fateOf,
  type LimitedCall,
  makeRich,
  OTHER_OPERATIONS,
  SESSION_OPERATIONS,
  stateOf,
  withNewTicket,
} from "./access-callers.js";
import { message, refusal, SECOND } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** By every clock, also that of a store, 1970 is in the past. */
const PAST = 1;

const OPERATIONS = Object.entries(SESSION_OPERATIONS);

/** What callers with limited access see and change of one session. */
export function describeAccess(subject: StorageProviderSubject): void {
  const searching = () => subject.open({ search: true });
  /** Names of the operations that this store has. */
  const isPossible = ([name]: readonly [string, unknown]) =>
    (name !== "searchMessages" || subject.searches) && (!name.includes("Attachment") || subject.attaches);
  const ownedBy = async (owner: string | undefined, sessionId: string) => {
    await subject.provider.createSession({ sessionId, owner });
    await makeRich(subject.provider, sessionId, subject.attaches);
  };

  /** Sessions that ada may not see, and how each is made. */
  const foreign: Readonly<Record<string, (sessionId: string) => Promise<void>>> = {
    "of another owner": (id) => ownedBy("bob", id),
    "of nobody": (id) => ownedBy(undefined, id),
    "of an owner whose name only begins in the same way": (id) => ownedBy("adam", id),
    "of an owner with other capitals": (id) => ownedBy("Ada", id),
    "that was her own and has another owner now": async (id) => {
      await ownedBy("ada", id);
      await subject.other.updateSession(id, { owner: "bob" });
      await subject.other.startDraft(id, message("d2"));
    },
    "that was her own, was deleted and made again by another": async (id) => {
      await ownedBy("ada", id);
      await subject.other.deleteSession(id);
      await subject.other.createSession({ sessionId: id }, BOB);
      await makeRich(subject.other, id, subject.attaches);
    },
    "that was deleted": async (id) => {
      await ownedBy("ada", id);
      await subject.other.deleteSession(id);
    },
    "that has expired": async (id) => {
      await ownedBy("ada", id);
      await subject.other.updateSession(id, { expireTimeMicros: PAST });
    },
  };

  describe("a caller that is bound to an owner", () => {
    it("is covered by these cases in every operation", () => {
      const operations = Object.getOwnPropertyNames(StorageProvider.prototype).filter((name) => name !== "constructor");
      const covered = [...OPERATIONS.map(([name]) => name.split(" ")[0]), ...OTHER_OPERATIONS];
      expect([...new Set(covered)].sort()).toEqual(operations.sort());
    });

    it("may use its own session in every one", async () => {
      const searcher = searching();
      await subject.provider.createSession({ sessionId: "own" }, ADA);
      await ownedBy("ada", "read");
      for (const [i, [name, operate]] of OPERATIONS.filter(isPossible).entries()) {
        const isRead = /^(get|list|load|search|follow|snapshot)/.test(name);
        const sessionId = isRead ? "read" : `session${i}`;
        if (!isRead) await ownedBy("ada", sessionId);
        const fate = await fateOf(operate(searcher, sessionId, ADA, "own"), sessionId);
        const isRefused = /refused|no message|an owner|from a position/.test(name);
        if (!isRefused) expect(fate, name).toBe("done");
        expect(fate, name).not.toMatch(/^not_found|^unauthenticated/);
        if (name.startsWith("forkConversation by") || name.startsWith("createSession")) {
          await subject.provider.deleteSession("new", ADA);
        }
      }
    });

    it.each(Object.entries(foreign))("gets the same answers for a session %s as for none", async (what, make) => {
      await make("foreign");
      const isThere = what.startsWith("of") || what.includes("another");
      await subject.provider.createSession({ sessionId: "own" }, ADA);
      // Whatever a provider has cached of the session, it has cached for callers that may see it.
      if (isThere) {
        const [draft] = await subject.other.listDrafts("foreign");
        const id = draft?.message.id ?? "";
        for (const p of [subject.provider, subject.other]) expect(await p.extendDraft("foreign", id, 1, [])).toBe(2);
      }
      const before = isThere && (await stateOf(subject.other, "foreign"));
      const searcher = searching();
      for (const [name, operate] of OPERATIONS.filter(isPossible)) {
        const missing = await fateOf(operate(searcher, "missing", ADA, "own"), "missing");
        expect(missing, name).toMatch(/^not_found: |nothing to back up/);
        const providers = name === "searchMessages" ? [searcher] : [subject.provider, subject.other];
        for (const provider of providers) {
          expect(await fateOf(operate(provider, "foreign", ADA, "own"), "foreign"), name).toBe(missing);
        }
      }
      if (isThere) expect(await stateOf(subject.other, "foreign")).toEqual(before);
      expect(await subject.provider.getMessageCount("own", ADA)).toBe(0);
    });

    it("ends no draft, turn or watch of others by its refused calls", async () => {
      await ownedBy("bob", "s");
      const gone = new AbortController();
      const events = await subject.other.followMessages("s", 0, { ...BOB, signal: gone.signal });
      for (const [, operate] of OPERATIONS) await fateOf(operate(subject.other, "s", ADA, "nothing"), "s");
      expect(await subject.other.extendDraft("s", "d", 1, [], BOB)).toBe(2);
      await subject.other.logMessages("s", [message("last")], BOB);
      const seen: string[] = [];
      for await (const event of events) {
        if (event.kind === "appended") seen.push(event.message.id);
        if (seen.includes("last")) break;
      }
      gone.abort();
      expect(seen).toEqual(["m1", "m2", "last"]);
    });
  });

  describe("createSession by a caller that is bound to an owner", () => {
    it("makes a session of that owner, also for a retry", async () => {
      const made = await subject.provider.createSession({ sessionId: "s" }, ADA);
      expect(made.owner).toBe("ada");
      expect(await subject.other.createSession({ sessionId: "s", owner: "ada" }, ADA)).toEqual(made);
      expect(await subject.other.createSession({ sessionId: "s" })).toEqual(made);
      expect(await subject.other.createSession({ sessionId: "s", owner: "ada" })).toEqual(made);
      await refusal(subject.other.createSession({ sessionId: "s", owner: "bob" }), "already_exists");
    });

    it.each(["bob", "Ada", "adam"])("refuses the owner %s", async (owner) => {
      await refusal(subject.provider.createSession({ sessionId: "s", owner }, ADA), "permission_denied");
      await refusal(subject.provider.getSession("s"), "not_found");
    });

    it.each([
      ["another's", "bob"],
      ["nobody's", undefined],
    ])("refuses an id that is %s, without a word about whose", async (_, owner) => {
      await ownedBy(owner, "s");
      const before = await stateOf(subject.provider, "s");
      const error = await refusal(subject.provider.createSession({ sessionId: "s" }, ADA), "already_exists");
      await subject.provider.createSession({ sessionId: "own", title: "t" }, ADA);
      const own = await refusal(subject.other.createSession({ sessionId: "own", title: "u" }, ADA), "already_exists");
      expect(error.message.replace('"s"', '"own"')).toBe(own.message);
      const others = [
        () => subject.other.createSession({ sessionId: "s", parentId: "own" }, ADA),
        () => subject.other.forkConversation("own", "s", { as: "fork", ...ADA }),
        () => subject.other.forkConversation("own", "s", { as: "share", ...ADA }),
      ];
      for (const other of others) expect((await refusal(other(), "already_exists")).message).toBe(error.message);
      expect(await stateOf(subject.provider, "s")).toEqual(before);
    });

    it("does not get a session back whose owner has changed", async () => {
      await subject.provider.createSession({ sessionId: "s" }, ADA);
      await subject.provider.forkConversation("s", "fork", { as: "fork", ...ADA });
      for (const id of ["s", "fork"]) await subject.other.updateSession(id, { owner: "bob" });
      await refusal(subject.provider.createSession({ sessionId: "s" }, ADA), "already_exists");
      await refusal(subject.provider.forkConversation("s", "fork", { as: "fork", ...ADA }), "not_found");
      const again = await subject.provider.forkConversation("s", "fork", { as: "fork", ...BOB });
      expect(again.session?.owner).toBe("bob");
    });

    it("takes the id of an expired or deleted session of another", async () => {
      await ownedBy("bob", "s");
      await subject.other.updateSession("s", { expireTimeMicros: PAST });
      expect(await subject.provider.createSession({ sessionId: "s" }, ADA)).toMatchObject({ owner: "ada" });
      expect(await subject.other.getMessageCount("s", ADA)).toBe(0);
      await subject.provider.deleteSession("s", ADA);
      expect(await subject.other.createSession({ sessionId: "s" }, BOB)).toMatchObject({ owner: "bob" });
    });
  });

  describe("forks and shares", () => {
    it.each(["fork", "share"] as const)("of a bound caller are its own: %s", async (as) => {
      await ownedBy("ada", "s");
      const { session } = await subject.provider.forkConversation("s", "new", { as, ...ADA });
      expect(session?.owner).toBe("ada");
      await refusal(subject.other.getSession("new", BOB), "not_found");
    });

    it.each(["fork", "share"] as const)("of other callers belong to the source's owner: %s", async (as) => {
      await ownedBy("bob", "s");
      await ownedBy(undefined, "free");
      expect((await subject.provider.forkConversation("s", "new", { as })).session?.owner).toBe("bob");
      expect((await subject.provider.forkConversation("free", "new2", { as })).session?.owner).toBeUndefined();
      await refusal(subject.other.getSession("new", ADA), "not_found");
    });

    it("stay readable for their owner when the source gets another one", async () => {
      await ownedBy("ada", "s");
      await subject.provider.forkConversation("s", "new", { as: "fork", ...ADA });
      await subject.other.updateSession("s", { owner: "bob" });
      expect((await subject.provider.getSessionMessages("new", ADA)).map(({ id }) => id)).toEqual(["m1", "m2"]);
    });
  });

  describe("eraseMessage and eraseOwner", () => {
    it("are refused to callers with limited access, because they reach the sessions of all", async () => {
      await ownedBy("ada", "s");
      const callers: readonly LimitedCall[] = [ADA, BOB, await withNewTicket(subject.provider, "s")];
      for (const call of callers) {
        for (const id of ["s", "missing"]) {
          await refusal(subject.provider.eraseMessage(id, "m1", call), "permission_denied");
        }
        for (const owner of ["ada", "bob"]) {
          await refusal(subject.provider.eraseOwner(owner, call), "permission_denied");
        }
      }
      await subject.provider.deleteSession("s");
      await refusal(subject.provider.eraseMessage("s", "m1", ADA), "permission_denied");
    });
  });

  describe("updateSession", () => {
    it("changes the owner only for callers without limits", async () => {
      await ownedBy("ada", "s");
      for (const owner of ["bob", ""]) {
        await refusal(subject.provider.updateSession("s", { owner }, ADA), "permission_denied");
      }
      const ticket = await withNewTicket(subject.provider, "s");
      await refusal(subject.provider.updateSession("s", { owner: "bob" }, ticket), "permission_denied");
      subject.nowMicros += SECOND;
      const { revision } = await subject.provider.getSession("s");
      expect(await subject.provider.updateSession("s", { owner: "ada" }, ADA)).toMatchObject({ revision });
      const changed = await subject.provider.updateSession("s", { owner: "bob" }, { expectedRevision: revision });
      expect(changed).toMatchObject({ owner: "bob", revision: revision + 1, messageCount: 2, reverted: true });
      const freed = await subject.other.updateSession("s", { owner: "" });
      expect(freed.owner).toBeUndefined();
      expect(await subject.provider.getSession("s")).toEqual(freed);
    });
  });
}
