import { describe, expect, it } from "vitest";
import type { Annotation, NewAnnotation } from "../../../src/domain/annotation.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { history, message, messageAt, refusal, SECOND, sessionWith, sweepAway, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const SECRET = "a note that must go";

async function list(provider: StorageOperations, sessionId: string, messageId = ""): Promise<readonly Annotation[]> {
  const { annotations, next } = await provider.listAnnotations(sessionId, { messageId, limit: 1000 });
  expect(next).toBeUndefined();
  return annotations;
}

async function textsOf(provider: StorageOperations, sessionId: string): Promise<readonly string[]> {
  return (await list(provider, sessionId)).map(({ text }) => text);
}

const note = (annotationId: string, messageId: string, given: Partial<NewAnnotation> = {}): NewAnnotation => ({
  annotationId,
  messageId,
  text: `note ${annotationId}`,
  ...given,
});

/** Notes and feedback on messages. */
export function describeAnnotations(subject: StorageProviderSubject): void {
  describe("annotations", () => {
    it("are created, listed, changed and removed, and touch no message, position or revision", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      const before = await provider.getSession("s");

      const created = await provider.createAnnotation("s", note("n1", "m2", { thumb: "up", author: "ada" }));
      const expected = { annotationId: "n1", messageId: "m2", thumb: "up", text: "note n1", author: "ada" };
      expect(created).toEqual({ ...expected, createTimeMicros: T0, updateTimeMicros: T0 });
      subject.nowMicros += SECOND;
      const made = await other.createAnnotation("s", { messageId: "m1", thumb: "down" });
      expect(made.annotationId).not.toBe("");
      expect(await list(provider, "s")).toEqual([created, made]);
      expect(await list(other, "s", "m1")).toEqual([made]);

      subject.nowMicros += SECOND;
      const updated = await provider.updateAnnotation("s", "n1", { text: "better" });
      expect(updated).toEqual({ ...created, text: "better", updateTimeMicros: T0 + 2 * SECOND });
      expect(await list(other, "s")).toEqual([updated, made]);
      await other.deleteAnnotation("s", made.annotationId);
      expect(await list(provider, "s")).toEqual([updated]);

      expect(await provider.getSession("s")).toEqual({ ...before, updateTimeMicros: subject.nowMicros });
      expect(await history(provider, "s")).toEqual(["m1", "m2"]);
    });

    it("are the same when they are repeated", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", ["m1"]);
      const created = await provider.createAnnotation("s", note("n1", "m1"));
      subject.nowMicros += SECOND;
      expect(await other.createAnnotation("s", note("n1", "m1"))).toEqual(created);
      expect(await other.updateAnnotation("s", "n1", { text: "note n1" })).toEqual(created);
      const error = await refusal(other.createAnnotation("s", note("n1", "m1", { thumb: "up" })), "already_exists");
      expect(error.message).toBe('Session "s" has another annotation "n1"');
      expect(await list(provider, "s")).toEqual([created]);
    });

    it("need a session, a message that it shows, and something to say", async () => {
      const { provider } = subject;
      await sessionWith(provider, "s", ["m1"]);
      await refusal(provider.createAnnotation("nobody", note("n1", "m1")), "not_found");
      await refusal(provider.listAnnotations("nobody", { messageId: "", limit: 1 }), "not_found");
      await refusal(provider.createAnnotation("s", note("n1", "m2")), "not_found");
      await refusal(provider.updateAnnotation("s", "n1", { thumb: "up" }), "not_found");
      await refusal(provider.deleteAnnotation("s", "n1"), "not_found");
      await provider.createAnnotation("s", note("n1", "m1"));
      await refusal(provider.updateAnnotation("s", "n1", { text: "" }), "invalid_argument");
      expect(await textsOf(provider, "s")).toEqual(["note n1"]);
      await provider.deleteAnnotation("s", "n1");
      await refusal(provider.deleteAnnotation("s", "n1"), "not_found");
    });

    it("are shown with their messages: not after a revert, and again after an unrevert", async () => {
      const { provider } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      await provider.createAnnotation("s", note("n1", "m1"));
      await provider.createAnnotation("s", note("n2", "m2"));
      await provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      expect(await textsOf(provider, "s")).toEqual(["note n1"]);
      await refusal(provider.updateAnnotation("s", "n2", { text: "hidden" }), "not_found");
      await provider.restoreMessages("s");
      expect(await textsOf(provider, "s")).toEqual(["note n1", "note n2"]);
      await provider.updateMessage("s", "m2", { parts: [] });
      expect(await textsOf(provider, "s")).toEqual(["note n1", "note n2"]);
      await provider.deleteMessage("s", "m2");
      subject.nowMicros += SECOND;
      await provider.logMessages("s", [message("m2")]);
      expect(await textsOf(provider, "s")).toEqual(["note n1"]);
    });

    it("are taken along by forks and shares, and are each session's own afterwards", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      await provider.createAnnotation("s", note("n1", "m1"));
      await provider.createAnnotation("s", note("n2", "m2"));
      await other.forkConversation("s", "fork", { as: "fork", upToMessageId: "m1" });
      await other.forkConversation("s", "share", { as: "share" });
      await provider.updateAnnotation("s", "n1", { text: "changed" });
      await provider.deleteAnnotation("s", "n2");
      await other.createAnnotation("fork", note("n3", "m1"));
      expect(await textsOf(provider, "s")).toEqual(["changed"]);
      expect(await textsOf(provider, "fork")).toEqual(["note n1", "note n3"]);
      expect(await textsOf(provider, "share")).toEqual(["note n1", "note n2"]);

      await provider.deleteSession("s");
      await sweepAway(subject);
      expect(await textsOf(other, "fork")).toEqual(["note n1", "note n3"]);
      await provider.deleteSession("share");
      await provider.deleteSession("fork");
      await sweepAway(subject);
    });

    it("survive a sweep, and those that were changed or removed are swept", async () => {
      const { provider } = subject;
      await sessionWith(provider, "s", ["m1"]);
      await provider.createAnnotation("s", note("n1", "m1", { text: SECRET }));
      await provider.createAnnotation("s", note("n2", "m1", { text: SECRET }));
      await provider.createAnnotation("s", note("n3", "m1"));
      await provider.updateAnnotation("s", "n1", { text: "harmless" });
      await provider.deleteAnnotation("s", "n2");
      await sweepAway(subject);
      expect(await textsOf(provider, "s")).toEqual(["harmless", "note n3"]);
      const record = await subject.store?.().readRecord("s");
      if (record) expect(record.dropped).toEqual([]);
    });

    it("are in a backup in the order of lists, wherever they are stored", async () => {
      const { provider } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      // Of one message, and changed, so that the places have another order than the times.
      for (const [id, messageId] of [
        ["n3", "m1"],
        ["n2", "m1"],
        ["n1", "m2"],
      ] as const) {
        await provider.createAnnotation("s", note(id, messageId));
        subject.nowMicros += SECOND;
      }
      await provider.createAnnotation("s", note("n0", "m2"));
      subject.nowMicros += SECOND;
      await provider.updateAnnotation("s", "n3", { text: "changed" });
      const snapshot = await provider.snapshotSession("s");
      const stored = snapshot?.annotations?.map(({ originSessionId, messageTimestampMicros, ...rest }) => rest);
      expect(stored).toEqual(await list(provider, "s"));
    });

    it("come in pages, of which none skips or repeats any, whatever is removed or added meanwhile", async () => {
      const { provider } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      for (let i = 0; i < 7; i++) {
        await provider.createAnnotation("s", note(`n${i}`, i % 2 ? "m1" : "m2"));
        if (i % 2) subject.nowMicros += SECOND;
      }
      const first = await provider.listAnnotations("s", { messageId: "", limit: 3 });
      expect(first.annotations.map(({ annotationId }) => annotationId)).toEqual(["n0", "n1", "n2"]);
      const second = await provider.listAnnotations("s", { messageId: "", limit: 9, cursor: first.next });
      expect(second.annotations.map(({ annotationId }) => annotationId)).toEqual(["n3", "n4", "n5", "n6"]);
      await provider.deleteAnnotation("s", "n2");
      await provider.updateAnnotation("s", "n0", { text: "changed" });
      await provider.createAnnotation("s", note("n7", "m1"));
      const { annotations } = await provider.listAnnotations("s", { messageId: "", limit: 9, cursor: first.next });
      expect(annotations.map(({ annotationId }) => annotationId)).toEqual(["n3", "n4", "n5", "n6", "n7"]);
      const elsewhere = { messageId: "m1", limit: 9, cursor: first.next };
      await refusal(provider.listAnnotations("s", elsewhere), "invalid_argument");
    });

    it("are many: 16 of a message, in few segments", async () => {
      const provider = subject.open({ maxSegments: 20 });
      await sessionWith(provider, "s", ["m0", "m1"]);
      const given = Array.from({ length: 32 }, (_, i) => note(`n${i}`, `m${i % 2}`));
      for (const one of given) await provider.createAnnotation("s", one);
      const all = await list(provider, "s");
      expect(new Set(all.map(({ annotationId }) => annotationId)).size).toBe(32);
      const error = await refusal(provider.createAnnotation("s", note("n32", "m0")), "resource_exhausted");
      expect(error.message).toBe('Message "m0" of session "s" has 16 annotations; at most 16 are allowed');
      const record = await subject.store?.().readRecord("s");
      if (record) expect(record.annotations?.length).toBeLessThanOrEqual(16 + 10);
      await sweepAway(subject);
      expect(await list(provider, "s")).toHaveLength(32);
    });

    it("leave their ids and their room to others once nothing can show their messages any more", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      await provider.createAnnotation("s", note("n1", "m2", { text: "old" }));
      await provider.createAnnotation("s", note("n2", "m1"));
      await provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      // An unrevert would bring both back.
      await refusal(other.createAnnotation("s", note("n1", "m1")), "already_exists");
      await provider.logMessages("s", [messageAt("m2", 1)]);
      subject.nowMicros += SECOND;
      await other.createAnnotation("s", note("n1", "m2"));
      expect(await textsOf(provider, "s")).toEqual(["note n2", "note n1"]);
      await sweepAway(subject);
      expect(await textsOf(provider, "s")).toEqual(["note n2", "note n1"]);
      const record = await subject.store?.().readRecord("s");
      if (record) expect(record.annotations?.reduce((sum, { first, last }) => sum + last - first + 1, 0)).toBe(2);
    });

    it("are made anew for another message that has got the id of one that is gone", async () => {
      const { provider } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      const gone = await provider.createAnnotation("s", note("n1", "m2"));
      await provider.truncateMessages("s", "m1");
      await provider.logMessages("s", [messageAt("m2", 1)]);
      subject.nowMicros += SECOND;
      const made = await provider.createAnnotation("s", note("n1", "m2"));
      expect(made).toEqual({ ...gone, createTimeMicros: subject.nowMicros, updateTimeMicros: subject.nowMicros });
      expect(await list(provider, "s")).toEqual([made]);
    });

    it("are known to another process that has not seen their messages yet", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", ["m1"]);
      await provider.createAnnotation("s", note("n1", "m1"));
      expect(await textsOf(other, "s")).toEqual(["note n1"]);
      await provider.logMessages("s", [messageAt("m2", 1)]);
      await provider.createAnnotation("s", note("n2", "m2"));
      expect(await textsOf(other, "s")).toEqual(["note n1", "note n2"]);
      await provider.logMessages("s", [messageAt("m3", 2)]);
      await provider.createAnnotation("s", note("n3", "m3"));
      await refusal(other.createAnnotation("s", note("n3", "m1")), "already_exists");
      await other.updateAnnotation("s", "n3", { text: "better" });
      expect(await textsOf(provider, "s")).toEqual(["note n1", "note n2", "better"]);
    });

    it("are all kept when two providers add them at once", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", ["m1"]);
      const adding = [provider, other].map(async (one, i) => {
        for (let k = 0; k < 5; k++) await one.createAnnotation("s", note(`n${i}${k}`, "m1"));
      });
      const appending = provider.logMessages("s", [messageAt("m0", -9)]);
      await Promise.all([...adding, appending]);
      expect(await list(other, "s")).toHaveLength(10);
      expect(await history(provider, "s")).toEqual(["m0", "m1"]);
    });

    it("are erased with their message, wherever and however old they are", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", ["m1", "m2"]);
      await provider.createAnnotation("s", note("n1", "m1", { text: SECRET, author: SECRET }));
      await provider.createAnnotation("s", note("n2", "m1", { text: SECRET }));
      await provider.createAnnotation("s", note("n3", "m2"));
      await provider.forkConversation("s", "fork", { as: "fork" });
      await provider.createAnnotation("fork", note("n4", "m1", { text: SECRET }));
      await provider.updateAnnotation("s", "n1", { text: "harmless" });
      await provider.deleteAnnotation("s", "n2");
      await other.eraseMessage("s", "m1");
      expect(await textsOf(provider, "s")).toEqual(["note n3"]);
      expect(await textsOf(other, "fork")).toEqual(["note n3"]);
      if (subject.stored) expect((await subject.stored()).includes(SECRET)).toBe(false);
      subject.nowMicros += SECOND;
      await provider.createAnnotation("s", note("n1", "m1", { text: "after" }));
      expect(await textsOf(other, "s")).toEqual(["note n3", "after"]);
    });

    it("are erased with everything of an owner", async () => {
      const { provider, other } = subject;
      await provider.createSession({ sessionId: "s", owner: "ada" });
      await provider.logMessages("s", [message("m1")]);
      await provider.createAnnotation("s", note("n1", "m1", { text: SECRET }));
      await provider.forkConversation("s", "fork", { as: "fork" });
      await provider.updateSession("fork", { owner: "bob" });
      await other.createAnnotation("fork", note("n2", "m1", { text: SECRET }));
      await other.eraseOwner("ada");
      expect(await list(provider, "fork")).toEqual([]);
      if (subject.stored) expect((await subject.stored()).includes(SECRET)).toBe(false);
    });

    it("belong to the sessions that a caller may see, and have its owner as their author", async () => {
      const { provider } = subject;
      await provider.createSession({ sessionId: "s", owner: "ada" });
      await provider.logMessages("s", [message("m1")]);
      const ada = { access: { owner: "ada" } };
      const bob = { access: { owner: "bob" } };
      expect(await provider.createAnnotation("s", note("n1", "m1"), ada)).toMatchObject({ author: "ada" });
      const other = note("n2", "m1", { author: "bob" });
      await refusal(provider.createAnnotation("s", other, ada), "permission_denied");
      await refusal(provider.createAnnotation("s", other, bob), "not_found");
      await refusal(provider.updateAnnotation("s", "n1", { text: "x" }, bob), "not_found");
      await refusal(provider.deleteAnnotation("s", "n1", bob), "not_found");
      await refusal(provider.listAnnotations("s", { messageId: "", limit: 1 }, bob), "not_found");
      expect(await textsOf(provider, "s")).toEqual(["note n1"]);

      // Nobody's words are put into the mouth of somebody else.
      await provider.createAnnotation("s", note("n3", "m1", { author: "carol" }));
      await refusal(provider.updateAnnotation("s", "n3", { text: "x" }, ada), "permission_denied");
      await refusal(provider.updateAnnotation("s", "n3", { text: "x", author: "carol" }, ada), "permission_denied");
      const taken = { text: "x", author: "ada" };
      expect(await provider.updateAnnotation("s", "n3", taken, ada)).toMatchObject(taken);
      await provider.createAnnotation("s", note("n4", "m1"));
      expect(await provider.updateAnnotation("s", "n4", { text: "x" }, ada)).toMatchObject(taken);
    });

    it("of a ticket have the owner that its maker was bound to as their author, or any for a maker without", async () => {
      const { provider } = subject;
      await provider.createSession({ sessionId: "s", owner: "ada" });
      await provider.logMessages("s", [message("m1")]);
      const ticket = { sessionId: "s", ...(await provider.getTicketMark("s")) };
      const ofAda = { access: { ticket: { ...ticket, owner: "ada" } } };
      const ofAnyone = { access: { ticket } };
      const byBob = note("n1", "m1", { author: "bob" });
      await refusal(provider.createAnnotation("s", byBob, ofAda), "permission_denied");
      expect(await provider.createAnnotation("s", byBob, ofAnyone)).toMatchObject({ author: "bob" });
      await refusal(provider.updateAnnotation("s", "n1", { text: "x" }, ofAda), "permission_denied");
      expect(await provider.updateAnnotation("s", "n1", { text: "x" }, ofAnyone)).toMatchObject({ author: "bob" });
      const taken = { text: "y", author: "ada" };
      expect(await provider.updateAnnotation("s", "n1", taken, ofAda)).toMatchObject(taken);
      expect(await provider.createAnnotation("s", note("n2", "m1"), ofAda)).toMatchObject({ author: "ada" });
    });
  });
}
