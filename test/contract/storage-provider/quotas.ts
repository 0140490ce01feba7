import { describe, expect, it } from "vitest";
import type { Call } from "../../../src/domain/call.js";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import { MessageBody } from "../../../src/domain/message-body.js";
import type { StoredQuotas } from "../../../src/domain/quotas.js";
import type { Usage } from "../../../src/storage/history/log-store.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { poll } from "../../support/poll.js";
import { message, messages, numbered, refusal, SECOND, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const ADA: Call = { access: { owner: "ada" } };
const BEN: Call = { access: { owner: "ben" } };
/** By every clock, 1970 is in the past. */
const PAST = 1;
const DELTA = { kind: "append_text", partId: "", text: "x".repeat(100) } as const;

/** The bytes that a message takes. */
function bytesOf(...messages: readonly NewChatMessage[]): number {
  return messages.reduce((sum, one) => sum + MessageBody.of(one).storedBytes, 0);
}

export function describeQuotas(subject: StorageProviderSubject): void {
  /** A further provider with quotas. Each begins as a process that has just been started. */
  const withQuotas = (quotas: StoredQuotas) => subject.open({ quotas, clockMs: () => subject.nowMicros / 1000 });

  /** What the namespace uses once all of these have written what they noted. Nobody may use them afterwards. */
  const usageAfter = async (...providers: readonly StorageOperations[]): Promise<Usage | undefined> => {
    for (const provider of providers) await provider.close();
    return subject.store?.().usage({});
  };

  /** Sweeps away what providers have dropped, all of which must have written their counts before. */
  const sweepAway = async () => {
    const sweeper = subject.open({ sweepAgeMs: 0 });
    for (let i = 0; i < 3; i++) {
      await sweeper.sweep();
      subject.nowMicros += SECOND;
    }
    await sweeper.close();
  };

  describe("a quota of sessions", () => {
    it.each([
      ["namespace", {}, "The namespace"],
      ["owner", ADA, 'The owner "ada"'],
      ["key", { key: "k" }, 'The key "k"'],
    ] as const)("of each %s refuses another session, and names itself", async (holder, call, who) => {
      const provider = withQuotas({ [holder]: { sessions: 2 } });
      await provider.createSession({ sessionId: "a" }, call);
      await provider.forkConversation("a", "b", { as: "fork", ...call });
      const text = `${who} has no room for another session; --quota-${holder}-sessions allows 2`;
      const calls = [
        () => provider.createSession({ sessionId: "c" }, call),
        () => provider.createSession({ sessionId: "c", parentId: "a" }, call),
        () => provider.forkConversation("a", "c", { as: "fork", ...call }),
        () => provider.forkConversation("a", "c", { as: "share", ...call }),
      ];
      for (const make of calls) {
        expect(await refusal(make(), "resource_exhausted")).toMatchObject({
          message: text,
          quota: `${holder}-sessions`,
        });
      }
      await refusal(subject.provider.getSession("c"), "not_found");
    });

    it("refuses no repeated call, and tells the truth about an id that is taken", async () => {
      const provider = withQuotas({ namespace: { sessions: 2 } });
      const made = await provider.createSession({ sessionId: "a", title: "t" });
      await provider.forkConversation("a", "b", { as: "fork" });
      expect(await provider.createSession({ sessionId: "a", title: "t" })).toEqual(made);
      await provider.forkConversation("a", "b", { as: "fork" });
      await refusal(provider.createSession({ sessionId: "a", title: "other" }), "already_exists");
      await refusal(provider.forkConversation("a", "b", { as: "share" }), "already_exists");
    });

    it("has room again when a session was deleted, by this provider or another", async () => {
      const [one, other] = [withQuotas({ namespace: { sessions: 1 } }), withQuotas({ namespace: { sessions: 1 } })];
      await one.createSession({ sessionId: "a" });
      await refusal(other.createSession({ sessionId: "b" }), "resource_exhausted");
      await one.deleteSession("a");
      await one.createSession({ sessionId: "b" });
      await refusal(other.createSession({ sessionId: "c" }), "resource_exhausted");
      await one.deleteSession("b");
      await other.createSession({ sessionId: "c" });
      await refusal(one.createSession({ sessionId: "d" }), "resource_exhausted");
    });

    it("has room again for an id whose session has expired, and after a sweep for others", async () => {
      const provider = withQuotas({ namespace: { sessions: 2 } });
      for (const sessionId of ["a", "b"]) await provider.createSession({ sessionId });
      for (const sessionId of ["a", "b"]) await provider.updateSession(sessionId, { expireTimeMicros: PAST });
      await provider.createSession({ sessionId: "a" });
      await refusal(provider.createSession({ sessionId: "c" }), "resource_exhausted");
      await provider.sweep();
      await provider.createSession({ sessionId: "c" });
    });

    it("holds for calls at the same time", async () => {
      const provider = withQuotas({ owner: { sessions: 5 }, namespace: { sessions: 3 } });
      const made = await Promise.allSettled(
        numbered(10).map((sessionId) => provider.createSession({ sessionId }, ADA)),
      );
      expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
      const repeated = await Promise.all(
        Array.from({ length: 5 }, () => provider.deleteSession("m1").catch(() => {})),
      ).then(() =>
        Promise.allSettled(Array.from({ length: 5 }, () => provider.createSession({ sessionId: "x" }, ADA))),
      );
      expect(repeated.map(({ status }) => status)).toEqual(Array(5).fill("fulfilled"));
    });

    it("counts sessions for their owners, and for the keys that made them", async () => {
      const provider = withQuotas({ owner: { sessions: 1 }, key: { sessions: 2 } });
      await provider.createSession({ sessionId: "a" }, { ...ADA, key: "k" });
      await refusal(provider.createSession({ sessionId: "b" }, { ...ADA, key: "l" }), "resource_exhausted");
      await provider.createSession({ sessionId: "b" }, { ...BEN, key: "k" });
      await refusal(provider.createSession({ sessionId: "c" }, { key: "k" }), "resource_exhausted");
      await provider.createSession({ sessionId: "c" }, { key: "l" });
      await provider.createSession({ sessionId: "d" });
      // Others may give an owner more sessions than it may make.
      await provider.updateSession("d", { owner: "ada" });
      await provider.deleteSession("a");
      await refusal(provider.createSession({ sessionId: "e" }, ADA), "resource_exhausted");
    });

    it("says nothing about others to a caller that sees only its own sessions", async () => {
      const provider = withQuotas({ key: { bytes: 1 }, namespace: { sessions: 1 } });
      await provider.createSession({ sessionId: "a", owner: "ada" }, { key: "backend" });
      const second = await refusal(provider.createSession({ sessionId: "b" }, BEN), "resource_exhausted");
      expect(second.message).toBe("The namespace has no room for another session; --quota-namespace-sessions allows 1");
      const bytes = bytesOf(message("m1"));
      const append = provider.logMessages("a", [message("m1")], { ...ADA, key: "other" });
      expect((await refusal(append, "resource_exhausted")).message).toBe(
        `The key that made the session has no room for ${bytes} more bytes of messages; --quota-key-bytes allows 1`,
      );
    });
  });

  describe("a quota of bytes", () => {
    const five = bytesOf(message("m1")) * 5;

    it("refuses every call that would store more, names itself, and leaves nothing behind", async () => {
      const provider = withQuotas({ owner: { bytes: five } });
      await provider.createSession({ sessionId: "a" }, ADA);
      await provider.createSession({ sessionId: "source" });
      await provider.logMessages("source", [message("m9")]);
      for (const id of numbered(4)) await provider.logMessages("a", [message(id)], ADA);
      await provider.startDraft("a", message("d"), ADA);
      const big = [{ id: "", type: "text", text: "x".repeat(five) }];
      const calls = [
        () => provider.logMessages("a", [message("m5")], ADA),
        () => provider.logMessages("a", [message("old", { timestampMicros: 1 })]),
        () => provider.startDraft("a", message("e"), ADA),
        () => provider.extendDraft("a", "d", 1, [DELTA], ADA),
        () => provider.finishDraft("a", "d", { version: 1, deltas: [DELTA], ...ADA }),
        () => provider.updateMessage("a", "m1", { parts: big }, ADA),
        () => provider.forkConversation("source", "a", { as: "copy" }),
      ];
      const text = `The owner "ada" has no room for ${five / 5} more bytes of messages; --quota-owner-bytes allows ${five}`;
      for (const store of calls) {
        const error = await refusal(store(), "resource_exhausted");
        const message = expect.stringMatching(/^The owner "ada" has no room for/);
        expect(error).toMatchObject({ quota: "owner-bytes", message });
      }
      expect((await refusal(provider.logMessages("a", [message("m5")]), "resource_exhausted")).message).toBe(text);
      const mark = await provider.getTicketMark("a");
      const byTicket = provider.logMessages("a", [message("m5")], { access: { ticket: { sessionId: "a", ...mark } } });
      expect((await refusal(byTicket, "resource_exhausted")).message).toMatch(/^The owner of the session has no room/);
      expect(await provider.getMessageCount("a")).toBe(4);
      expect(await provider.listDrafts("a")).toMatchObject([{ version: 1 }]);
      await provider.logMessages("source", [message("m10")]);
    });

    it("refuses nothing that is stored already, and nothing that only removes", async () => {
      const provider = withQuotas({ namespace: { bytes: five } });
      await sessionWith(provider, "a", numbered(3));
      await provider.startDraft("a", message("d"));
      await provider.extendDraft("a", "d", 1, []);
      await refusal(provider.logMessages("a", [message("m4"), message("m5")]), "resource_exhausted");
      const again = withQuotas({ namespace: { bytes: 1 } });
      for (const one of [provider, again]) {
        expect(await one.logMessages("a", [message("m1")])).toEqual({ messageIds: ["m1"], position: 0 });
        expect(await one.logMessages("a", [message("m3"), message("m2")])).toMatchObject({ position: 2 });
        expect(await one.startDraft("a", message("d"))).toEqual({ messageId: "d", version: 1 });
        expect(await one.extendDraft("a", "d", 1, [])).toBe(2);
      }
      await again.discardDraft("a", "d");
      await again.deleteMessage("a", "m2");
      await again.eraseMessage("a", "m1");
      expect(await again.truncateMessages("a", "m1")).toBe(1);
      await again.updateSession("a", { title: "t" });
      await again.forkConversation("a", "b", { as: "fork" });
      await again.deleteSession("a");
    });

    it("has room again after a truncation and the sweeps that follow, and after a deletion", async () => {
      const provider = withQuotas({ namespace: { bytes: five } });
      await sessionWith(provider, "a", numbered(5));
      await provider.truncateMessages("a", "m1");
      await refusal(provider.logMessages("a", [message("m6")]), "resource_exhausted");
      await sweepAway();
      await provider.logMessages("a", messages("m6", "m7", "m8", "m9"));
      await refusal(provider.logMessages("a", [message("m2")]), "resource_exhausted");
      await provider.deleteSession("a");
      await sessionWith(provider, "a", numbered(4));
    });

    it("counts what a fork shares once, and what it adds for itself", async () => {
      const provider = withQuotas({ namespace: { bytes: 2 * five } });
      await sessionWith(provider, "a", numbered(5));
      await provider.forkConversation("a", "b", { as: "fork" });
      await provider.forkConversation("b", "c", { as: "share" });
      await provider.logMessages("b", [message("m6")]);
      const bytes = five + bytesOf(message("m6"));
      expect(await usageAfter(provider)).toEqual({ sessions: 3, bytes, uncounted: 0 });
    });

    it("counts what an erasure leaves, and drafts until they are swept", async () => {
      const provider = withQuotas({ namespace: { bytes: 2 ** 30 } });
      await sessionWith(provider, "a", [message("m1", { parts: [{ id: "", type: "text", text: "x".repeat(1000) }] })]);
      await provider.startDraft("a", message("d"));
      await provider.extendDraft("a", "d", 1, [DELTA]);
      await provider.finishDraft("a", "d", { version: 2 });
      await provider.eraseMessage("a", "m1");
      const stored = await provider.getSessionMessages("a");
      await provider.close();
      await sweepAway();
      expect(await usageAfter()).toMatchObject({ bytes: bytesOf(...stored) });
    });

    it("sees what another provider has stored when that has written its count", async () => {
      const [one, other] = [withQuotas({ namespace: { bytes: five } }), withQuotas({ namespace: { bytes: five } })];
      await sessionWith(one, "a", numbered(4));
      await other.logMessages("a", [message("m5")]);
      await one.close();
      subject.nowMicros += 11 * SECOND;
      await refusal(other.logMessages("a", [message("m6")]), "resource_exhausted");
    });

    it("is exact again after a repair when a process was killed before it wrote its count", async () => {
      const quotas = { namespace: { bytes: five } };
      // Neither is closed before the repair, and no timer makes them write.
      const killed = [1, 2].map(() => subject.open({ quotas, startTimer: () => () => {} }));
      await killed[0]?.createSession({ sessionId: "a" });
      await sessionWith(subject.provider, "b", ["m1"]);
      await killed[0]?.logMessages("a", [message("m1")]);
      await killed[1]?.logMessages("a", messages("m2", "m3"));
      await withQuotas(quotas).sweep({ repair: true });
      const bytes = bytesOf(...messages("m1", "m1", "m2", "m3"));
      expect(await subject.store?.().usage({})).toEqual({ sessions: 2, bytes, uncounted: 0 });
    });

    it("measures sessions from before in the background", async () => {
      await sessionWith(subject.provider, "a", numbered(3));
      await subject.provider.forkConversation("a", "b", { as: "fork" });
      await subject.provider.truncateMessages("a", "m1");
      const provider = withQuotas({ namespace: { bytes: 2 * five } });
      // What is appended to a session while it is measured may be counted twice.
      await sessionWith(provider, "c", ["m4"]);
      await poll(async () => !(await subject.store?.().usage({}))?.uncounted, "all sessions are measured");
      await provider.logMessages("b", [message("m5")]);
      expect(await usageAfter(provider)).toEqual({ sessions: 3, bytes: five, uncounted: 0 });
    });
  });
}
