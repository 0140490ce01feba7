import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { FollowEvent } from "../../../src/domain/page.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { ADA, BOB, DELTA, type LimitedCall, withNewTicket, withTicket } from "./access-callers.js";
import { history, message, messageAt, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** What a change of the owner and a revocation end, also in a provider that still has the session in its caches. */
export function describeAccessChanges(subject: StorageProviderSubject): void {
  /** A session of ada, which a provider has in its caches, with the open draft d. */
  const cachedBy = async (provider: StorageOperations) => {
    await provider.createSession({ sessionId: "s" }, ADA);
    await provider.logMessages("s", [message("m1")], ADA);
    await provider.startDraft("s", message("d"), ADA);
    expect(await provider.extendDraft("s", "d", 1, [DELTA], ADA)).toBe(2);
    await provider.logMessages("s", [message("m2")], ADA);
  };
  const giveTo = (owner: string) => subject.other.updateSession("s", { owner });

  describe("a change of the owner", () => {
    it.each(["bob", ""])("ends what the owner before can write, also from caches: to %j", async (owner) => {
      await cachedBy(subject.provider);
      await giveTo(owner);
      const writes = [
        () => subject.provider.logMessages("s", [message("late")], ADA),
        () => subject.provider.extendDraft("s", "d", 2, [DELTA], ADA),
        () => subject.provider.extendDraft("s", "d", 1, [DELTA], ADA),
        () => subject.provider.finishDraft("s", "d", { version: 2, ...ADA }),
        () => subject.provider.discardDraft("s", "d", ADA),
        () => subject.provider.startDraft("s", message("d2"), ADA),
        () => subject.provider.logMessages("s", [message("m2")], ADA),
      ];
      for (const write of writes) await refusal(write(), "not_found");
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
      expect(await subject.other.listDrafts("s")).toEqual([]);
    });

    it("lets the new owner go on with everything, also in the provider of the one before", async () => {
      await cachedBy(subject.provider);
      await giveTo("bob");
      expect(await subject.provider.logMessages("s", [message("m3")], BOB)).toMatchObject({ position: 2 });
      await subject.provider.startDraft("s", message("d2"), BOB);
      expect(await subject.other.finishDraft("s", "d2", { version: 1, ...BOB })).toMatchObject({ position: 3 });
      expect((await subject.provider.getSessionMessages("s", BOB)).map(({ id }) => id)).toEqual([
        ...["m1", "m2", "m3", "d2"],
      ]);
    });

    it("gives a session back with nothing lost when it is undone, but ends drafts, and tickets for good", async () => {
      await cachedBy(subject.provider);
      const ticket = await withNewTicket(subject.provider, "s");
      await giveTo("bob");
      await giveTo("ada");
      expect(await subject.provider.logMessages("s", [message("m3")], ADA)).toMatchObject({ position: 2 });
      await refusal(subject.provider.extendDraft("s", "d", 2, [DELTA], ADA), "failed_precondition");
      await refusal(subject.provider.getSession("s", ticket), "unauthenticated");
    });

    it("lets nothing of the owner before land after it, however many write at once", async () => {
      await subject.provider.createSession({ sessionId: "s" }, ADA);
      const landed: string[] = [];
      let isOver = false;
      const write = async (provider: StorageOperations, name: string) => {
        for (let i = 0; !isOver; i++) {
          // A store in memory answers without letting timers run.
          await setImmediate();
          const id = `${name}${i}`;
          const outcome = await provider.logMessages("s", [message(id)], ADA).catch((error: unknown) => error);
          if (!(outcome instanceof Error)) landed.push(id);
          else return expect(outcome).toMatchObject({ code: "not_found" });
        }
      };
      const draft = async (provider: StorageOperations, name: string) => {
        for (let i = 0; !isOver; i++) {
          await setImmediate();
          const id = `${name}${i}`;
          try {
            await provider.startDraft("s", message(id), ADA);
            await provider.finishDraft("s", id, { version: 1, ...ADA });
            landed.push(id);
          } catch (error) {
            // The change of the owner may have discarded the draft.
            expect(["not_found", "failed_precondition"]).toContain((error as { code?: string }).code);
            if ((error as { code?: string }).code === "not_found") return;
          }
        }
      };
      const writers = [
        write(subject.provider, "a"),
        write(subject.other, "b"),
        draft(subject.provider, "c"),
        draft(subject.other, "d"),
      ];
      while (landed.length < 12) await setImmediate();
      await subject.open().updateSession("s", { owner: "bob" });
      const after = await history(subject.provider, "s");
      await subject.other.logMessages("s", [message("end")], BOB);
      await Promise.all(writers);
      isOver = true;
      const all = await history(subject.other, "s");
      expect(all).toEqual([...after, "end"]);
      expect(all).toEqual(expect.arrayContaining(landed));
    });

    it("applies to appends that were made before it and are stored after it, together with those of others", async () => {
      await cachedBy(subject.provider);
      const ticket = await withNewTicket(subject.provider, "s");
      await giveTo("bob");
      const outcomes = await subject.provider.logTurn("s", [
        { messages: [message("a")], options: ADA },
        { messages: [messageAt("older", -5)], options: ADA },
        { messages: [message("b")], options: BOB },
        { messages: [message("t")], options: ticket },
        { messages: [message("all")] },
        { messages: [messageAt("old", -9)], options: BOB },
      ]);
      expect(outcomes).toMatchObject([
        { ok: false, error: { code: "not_found" } },
        { ok: false, error: { code: "not_found" } },
        { ok: true },
        { ok: false, error: { code: "unauthenticated" } },
        { ok: true },
        { ok: true },
      ]);
      expect(await history(subject.other, "s")).toEqual(["old", "m1", "m2", "b", "all"]);
    });

    it("is not hindered by drafts that were discarded or finished, or by an expected revision", async () => {
      await cachedBy(subject.provider);
      const { revision } = await subject.provider.getSession("s");
      const changed = await subject.other.updateSession("s", { owner: "bob" }, { expectedRevision: revision });
      expect(changed).toMatchObject({ owner: "bob", revision: revision + 1 });
      await refusal(subject.other.updateSession("s", { owner: "eve" }, { expectedRevision: revision }), "aborted");
      expect(await subject.provider.getSession("s", BOB)).toMatchObject({ owner: "bob" });
    });
  });

  describe("a ticket", () => {
    it("opens its session and no other, and makes none", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "t", ["m1"]);
      const ticket = await withNewTicket(subject.provider, "s");
      expect(await subject.provider.getMessageCount("s", ticket)).toBe(1);
      expect(await subject.other.logMessages("s", [message("m2")], ticket)).toMatchObject({ position: 1 });
      await subject.provider.startDraft("s", message("d"), ticket);
      expect(await subject.other.extendDraft("s", "d", 1, [DELTA], ticket)).toBe(2);
      expect(await subject.provider.finishDraft("s", "d", { version: 2, ...ticket })).toMatchObject({ position: 2 });
      for (const id of ["t", "missing"]) {
        await refusal(subject.provider.getSession(id, ticket), "not_found");
        await refusal(subject.provider.logMessages(id, [message("m2")], ticket), "not_found");
        await refusal(subject.provider.followMessages(id, 0, ticket), "not_found");
        await refusal(subject.provider.forkConversation("s", id, { as: "copy", ...ticket }), "not_found");
      }
      await refusal(subject.provider.createSession({ sessionId: "new" }, ticket), "permission_denied");
      await refusal(subject.provider.createSession({ sessionId: "s" }, ticket), "permission_denied");
      for (const as of ["fork", "share"] as const) {
        await refusal(subject.provider.forkConversation("s", "new", { as, ...ticket }), "permission_denied");
      }
      await refusal(subject.provider.listSessions({ parentId: "", limit: 9, ...ticket }), "permission_denied");
      expect(await subject.provider.getSessionMessages("t")).toHaveLength(1);
    });

    it.each([
      ["was revoked", (p: StorageOperations) => p.revokeTickets("s")],
      ["was revoked twice", (p: StorageOperations) => p.revokeTickets("s").then(() => p.revokeTickets("s"))],
      ["is for a session whose owner has changed", (p: StorageOperations) => p.updateSession("s", { owner: "bob" })],
      [
        "is for a session that was deleted and made again",
        (p: StorageOperations) => p.deleteSession("s").then(() => sessionWith(p, "s", ["m1"])),
      ],
    ])("is unauthenticated everywhere when it %s", async (_, end) => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.provider.startDraft("s", message("d"));
      const ticket = await withNewTicket(subject.provider, "s");
      // Both providers have the session and the draft in their caches.
      for (const [i, provider] of [subject.provider, subject.other].entries()) {
        await provider.logMessages("s", [message(`n${i}`)], ticket);
        await provider.extendDraft("s", "d", i + 1, [DELTA], ticket);
      }
      await end(subject.other);
      const before = await history(subject.other, "s");
      for (const provider of [subject.provider, subject.other]) {
        const calls = [
          () => provider.getSession("s", ticket),
          () => provider.loadSession("s", { limit: 9, ...ticket }),
          () => provider.getMessage("s", "m1", ticket),
          () => provider.listMessages("s", { limit: 9, newestFirst: true, ...ticket }),
          () => provider.logMessages("s", [message("late")], ticket),
          () => provider.logMessages("s", [message("m1")], ticket),
          () => provider.extendDraft("s", "d", 3, [DELTA], ticket),
          () => provider.finishDraft("s", "d", { version: 3, ...ticket }),
          () => provider.startDraft("s", message("d9"), ticket),
          () => provider.updateMessage("s", "m1", { role: "tool" }, ticket),
          () => provider.followMessages("s", 0, ticket),
        ];
        for (const call of calls) {
          expect((await refusal(call(), "unauthenticated")).message).toBe("The ticket is no longer valid");
        }
      }
      expect(await history(subject.other, "s")).toEqual(before);
    });

    it("that is new works after others were revoked, and changes nothing that others see", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const before = await subject.provider.getSession("s");
      await subject.provider.revokeTickets("s");
      expect(await subject.other.getSession("s")).toEqual(before);
      const ticket = await withNewTicket(subject.other, "s");
      expect(await subject.provider.logMessages("s", [message("m2")], ticket)).toMatchObject({ position: 1 });
    });

    it("is not found once its session was deleted or has expired", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const ticket = await withNewTicket(subject.provider, "s");
      await subject.other.deleteSession("s");
      await refusal(subject.provider.getSession("s", ticket), "not_found");
      await refusal(subject.provider.logMessages("s", [message("m2")], ticket), "not_found");
    });

    it("is unauthenticated with a mark that the session never had", async () => {
      await sessionWith(subject.provider, "s");
      const { uid, generation } = await subject.provider.getTicketMark("s");
      const marks = [
        { uid: `${uid}x`, generation },
        { uid, generation: generation + 1 },
      ];
      for (const mark of marks) {
        await refusal(subject.provider.getSession("s", withTicket("s", mark)), "unauthenticated");
      }
    });
  });

  describe("a watch", () => {
    it.each([
      ["an owner ends when the owner changes", async () => ADA, () => giveTo("bob"), "not_found"],
      ["an owner ends when the session is owned by nobody", async () => ADA, () => giveTo(""), "not_found"],
      [
        "a ticket ends when tickets are revoked",
        () => withNewTicket(subject.other, "s"),
        () => subject.other.revokeTickets("s"),
        "unauthenticated",
      ],
      [
        "a ticket ends when the owner changes",
        () => withNewTicket(subject.other, "s"),
        () => giveTo("bob"),
        "unauthenticated",
      ],
    ] as const)("of %s, by any provider, before anything newer", async (_, callOf, end, code) => {
      await cachedBy(subject.provider);
      const call = await callOf();
      const watches = await Promise.all(
        [subject.provider, subject.other].flatMap((p) => [watch(p, call), watch(p, {}), watch(p, call)]),
      );
      // One of them reads only after the end.
      for (const one of watches.slice(0, 5)) await one.until("m2");
      await end();
      await subject.other.logMessages("s", [message("later")]);
      for (const [i, one] of watches.entries()) {
        if (i % 3 === 1) await one.until("later");
        else await refusal(one.until("later"), code);
        expect(one.seen.includes("later")).toBe(i % 3 === 1);
        await one.end();
      }
    });
  });
}

/** Watches a session from its beginning. */
async function watch(provider: StorageOperations, call: Partial<LimitedCall>) {
  const gone = new AbortController();
  const events = await provider.followMessages("s", 0, { ...call, signal: gone.signal });
  const reader: AsyncIterator<FollowEvent> = events[Symbol.asyncIterator]();
  const seen: string[] = [];
  return {
    seen,
    /** Reads until the message with this id has come. */
    until: async (id: string) => {
      while (!seen.includes(id)) {
        const { value, done } = await reader.next();
        if (done) throw new Error("The events have ended");
        if (value.kind === "appended") seen.push(value.message.id);
      }
    },
    end: async () => {
      gone.abort();
      await reader.return?.();
    },
  };
}
