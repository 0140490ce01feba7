import { describe, expect, it } from "vitest";
import type { DraftDelta } from "../../../src/domain/draft.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { poll } from "../../support/poll.js";
import { history, message, messageAt, messages, numbered, refusal, SECOND, sessionWith, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** A delta that appends text to the part `p`. */
export function says(text: string, partId = "p"): DraftDelta {
  return { kind: "append_text", partId, text };
}

/** A part, and a delta that puts one. */
const part = (id: string) => ({ id, type: "text", text: id });
const puts = (id: string): DraftDelta => ({ kind: "put_part", part: part(id) });

const EMPTY = { role: "assistant", parts: [] };

export function describeDrafts(subject: StorageProviderSubject): void {
  const start = (id: string, given = {}, options = {}) =>
    subject.provider.startDraft("s", { id, ...EMPTY, ...given }, options);
  const extend = (id: string, version: number, ...texts: readonly string[]) =>
    subject.provider.extendDraft(
      "s",
      id,
      version,
      texts.map((text) => says(text)),
    );
  const finish = (id: string, version: number, more = {}) =>
    subject.provider.finishDraft("s", id, { version, ...more });
  const textOf = async (id: string) =>
    (await subject.other.getMessage("s", id))?.parts.map(({ text }) => text).join("|");
  const drafts = () => subject.other.listDrafts("s");
  const draftIds = async () => (await drafts()).map((draft) => draft.message.id);

  describe("startDraft", () => {
    it("starts a draft that is not part of the history", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      expect(await start("d", { parts: [{ id: "p", type: "text", text: "a" }] })).toEqual({
        messageId: "d",
        version: 1,
      });
      expect(await history(subject.other, "s")).toEqual(["m1"]);
      expect(await subject.other.getMessageCount("s")).toBe(1);
      expect(await subject.other.getMessage("s", "d")).toBeNull();
      expect(await drafts()).toEqual([
        {
          message: { id: "d", sessionId: "s", role: "assistant", parts: [{ id: "p", type: "text", text: "a" }] },
          version: 1,
          startTimeMicros: T0,
          updateTimeMicros: T0,
          discardWhenAbandoned: false,
        },
      ]);
    });

    it("makes a missing id", async () => {
      await sessionWith(subject.provider, "s");
      const { messageId } = await start("");
      expect(await draftIds()).toEqual([messageId]);
    });

    it("gives a retry with the same content the same answer, even after the draft was extended", async () => {
      await sessionWith(subject.provider, "s");
      const first = await start("d", { metadata: { a: 1 } });
      await extend("d", 1, "more");
      expect(await start("d", { metadata: { a: 1 } })).toEqual(first);
      await refusal(start("d", { metadata: { a: 2 } }), "already_exists");
      await refusal(start("d", { metadata: { a: 1 } }, { discardWhenAbandoned: true }), "already_exists");
      expect(await draftIds()).toEqual(["d"]);
    });

    it("compares the timestamp of a retry only if the retry sets one", async () => {
      await sessionWith(subject.provider, "s");
      const first = await start("d", { timestampMicros: T0 - SECOND });
      expect(await start("d", { timestampMicros: T0 - SECOND })).toEqual(first);
      expect(await start("d")).toEqual(first);
      await refusal(start("d", { timestampMicros: T0 }), "already_exists");
      await start("e");
      await refusal(start("e", { timestampMicros: T0 }), "already_exists");
    });

    it("reserves the id", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "t", ["d", "e"]);
      await start("d");
      await refusal(subject.other.logMessages("s", [message("d")]), "already_exists");
      await refusal(subject.other.logMessages("s", messages("x", "d")), "already_exists");
      await subject.other.forkConversation("t", "s", { as: "copy" });
      expect(await history(subject.other, "s")).toEqual(["m1", "e"]);
    });

    it("refuses an id that the history has, and one whose draft has ended", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await refusal(start("m1"), "already_exists");
      await start("d");
      await subject.provider.discardDraft("s", "d");
      expect((await refusal(start("d"), "failed_precondition")).message).toContain("discarded");
      await start("e");
      await finish("e", 1);
      expect((await refusal(start("e"), "failed_precondition")).message).toContain("finished");
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.startDraft("nobody", { id: "d", ...EMPTY }), "not_found");
    });

    it("allows 16 open drafts at a time", async () => {
      await sessionWith(subject.provider, "s");
      for (const id of numbered(16)) await start(id);
      expect((await refusal(start("d"), "resource_exhausted")).message).toContain("16");
      expect(await start("m7")).toEqual({ messageId: "m7", version: 1 });
      await subject.other.discardDraft("s", "m7");
      await start("d");
      expect(await draftIds()).toEqual([...numbered(16).filter((id) => id !== "m7"), "d"]);
    });
  });

  describe("extendDraft", () => {
    it("appends text to parts and adds parts, in order", async () => {
      await sessionWith(subject.provider, "s");
      await start("d", { parts: [{ id: "p", type: "reasoning", text: "so" }] });
      const call = { id: "t", type: "tool_call", text: "", data: { name: "f" } };
      const done = { id: "t", type: "tool_call", text: "", data: { name: "f", result: [1, { __proto__x: null }] } };
      expect(await subject.provider.extendDraft("s", "d", 1, [says(" what"), { kind: "put_part", part: call }])).toBe(
        2,
      );
      expect(
        await subject.other.extendDraft("s", "d", 2, [
          { kind: "put_part", part: done },
          says("new", "q"),
          says("er", "q"),
        ]),
      ).toBe(3);
      const [draft] = await drafts();
      expect(draft).toMatchObject({ version: 3 });
      expect(draft?.message.parts).toEqual([
        { id: "p", type: "reasoning", text: "so what" },
        done,
        { id: "q", type: "text", text: "newer" },
      ]);
    });

    it("gives a repeated call the same answer, even after others followed, and stores it once", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      expect(await extend("d", 1, "a")).toBe(2);
      expect(await extend("d", 1, "a")).toBe(2);
      expect(await extend("d", 2, "b")).toBe(3);
      expect(await subject.other.extendDraft("s", "d", 1, [says("a")])).toBe(2);
      expect((await drafts())[0]?.message.parts).toMatchObject([{ text: "ab" }]);
    });

    it("moves the session's update time when that is more than a second old", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      subject.nowMicros += 2 * SECOND;
      await extend("d", 1, "a");
      const updateTime = async () => (await subject.other.getSession("s")).updateTimeMicros;
      await poll(async () => (await updateTime()) > T0, "the update time moves");
      expect(await updateTime()).toBe(T0 + 2 * SECOND);
    });

    it("refuses another version, and names the current one", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      await subject.other.extendDraft("s", "d", 1, [says("a")]);
      expect((await refusal(extend("d", 1, "other"), "aborted")).message).toContain("version 2");
      expect((await refusal(extend("d", 7, "b"), "aborted")).message).toContain("version 2");
      expect(await extend("d", 2, "b")).toBe(3);
    });

    it("lets one of two writers win at the same version", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      const both = [extend("d", 1, "a"), subject.other.extendDraft("s", "d", 1, [says("b")])];
      const outcomes = await Promise.allSettled(both);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect((await drafts())[0]?.version).toBe(2);
    });

    it("refuses a draft that has ended, and says how", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      await start("e");
      await extend("d", 1, "a");
      await subject.other.discardDraft("s", "d");
      await subject.other.finishDraft("s", "e", { version: 1 });
      expect((await refusal(extend("d", 2, "b"), "failed_precondition")).message).toContain("discarded");
      expect((await refusal(extend("e", 1, "b"), "failed_precondition")).message).toContain("finished");
      expect(await extend("d", 1, "a")).toBe(2);
      await refusal(extend("nothing", 1, "a"), "not_found");
    });

    it("renews a draft without deltas: the version goes up, and nothing else changes", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      await extend("d", 1, "half");
      const [before] = await drafts();
      expect(await extend("d", 2)).toBe(3);
      expect(await extend("d", 2)).toBe(3);
      expect((await drafts())[0]?.message).toEqual(before?.message);
      await refusal(extend("d", 2, "other"), "aborted");
      expect(await extend("d", 3, " and half")).toBe(4);
      await finish("d", 4);
      expect(await textOf("d")).toBe("half and half");
      await refusal(extend("d", 4), "failed_precondition");
    });

    it("counts a renewal as a delta, and finishes a draft that has no room for another", async () => {
      const provider = subject.open({ limits: { draftDeltas: 2 } });
      await sessionWith(provider, "s");
      await start("d");
      await provider.extendDraft("s", "d", 1, [says("x")]);
      await provider.extendDraft("s", "d", 2, []);
      await refusal(provider.extendDraft("s", "d", 3, []), "invalid_argument");
      await provider.finishDraft("s", "d", { version: 3 });
      expect(await textOf("d")).toBe("x");
    });

    it("applies the limits of a message to the whole draft", async () => {
      const provider = subject.open({ limits: { messageBytes: 200, draftDeltas: 5 } });
      await sessionWith(provider, "s");
      await start("d");
      await provider.extendDraft("s", "d", 1, [says("x".repeat(150))]);
      const error = await refusal(provider.extendDraft("s", "d", 2, [says("y".repeat(50))]), "invalid_argument");
      expect(error.message).toContain("200");
      await provider.extendDraft("s", "d", 2, [says("y"), says("y"), says("y")]);
      await refusal(provider.extendDraft("s", "d", 3, [says("y"), says("y")]), "invalid_argument");
      await provider.extendDraft("s", "d", 3, [says("y")]);
      expect((await drafts())[0]?.message.parts[0]?.text).toBe(`${"x".repeat(150)}yyyy`);
    });

    it("applies the limit on parts to the whole draft, but not to deltas that add no part", async () => {
      const provider = subject.open({ limits: { parts: 3 } });
      await sessionWith(provider, "s");
      await start("d", { parts: [part("a"), part("b")] });
      await provider.extendDraft("s", "d", 1, [puts("c"), puts("c"), puts("a")]);
      const error = await refusal(provider.extendDraft("s", "d", 2, [puts("e"), puts("f")]), "invalid_argument");
      expect(error.message).toBe("The message would have 5 parts with these deltas; at most 3 are allowed");
      await refusal(provider.finishDraft("s", "d", { version: 2, deltas: [puts("e")] }), "invalid_argument");
      // Stored under a higher limit.
      await subject.open({}).extendDraft("s", "d", 2, [puts("e")]);
      await provider.extendDraft("s", "d", 3, [puts("a")]);
      await refusal(provider.extendDraft("s", "d", 4, [puts("f")]), "invalid_argument");
      await provider.finishDraft("s", "d", { version: 4 });
      expect((await provider.getMessage("s", "d"))?.parts).toHaveLength(4);
    });
  });

  describe("finishDraft", () => {
    it("appends the draft's content, with the time of finishing", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await start("d", { metadata: { model: "x", kept: true } });
      await extend("d", 1, "one");
      await subject.provider.logMessages("s", [message("m2")]);
      subject.nowMicros = T0 + 9 * SECOND;
      const metadata: JsonObject = { model: "y", tokens: 2 };
      const result = await finish("d", 2, { deltas: [says(" two")], metadata });
      expect(result).toEqual({ messageIds: ["d"], position: 2 });
      expect(await subject.other.getMessage("s", "d")).toMatchObject({
        timestampMicros: T0 + 9 * SECOND,
        metadata: { model: "y", kept: true, tokens: 2 },
        parts: [{ id: "p", type: "text", text: "one two" }],
        originSessionId: "s",
      });
      expect(await history(subject.other, "s")).toEqual(["m1", "m2", "d"]);
      expect(await drafts()).toEqual([]);
    });

    it("puts the message where the timestamp that startDraft set belongs", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1), messageAt("m3", 3)]);
      subject.nowMicros = T0 + 9 * SECOND;
      await start("d", { timestampMicros: T0 + 2 * SECOND });
      await refusal(finish("d", 1, { expectedPosition: 2 }), "aborted");
      expect(await finish("d", 1, { expectedPosition: 1 })).toEqual({ messageIds: ["d"], position: 1 });
      expect(await history(subject.other, "s")).toEqual(["m1", "d", "m3"]);
      expect(await drafts()).toEqual([]);
      expect(await finish("d", 1)).toEqual({ messageIds: ["d"], position: 1 });
    });

    it("answers a retry with the place the message has now, and appends once", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", -9)]);
      await start("d");
      const first = await finish("d", 1, { deltas: [says("a")] });
      expect(
        await subject.other.finishDraft("s", "d", { version: 1, deltas: [says("a")], expectedPosition: 7 }),
      ).toEqual(first);
      await subject.provider.logMessages("s", [messageAt("m0", -10)]);
      expect(await finish("d", 1, { deltas: [says("a")] })).toEqual({ messageIds: ["d"], position: 2 });
      await refusal(finish("d", 1, { deltas: [says("b")] }), "failed_precondition");
      expect(await history(subject.other, "s")).toEqual(["m0", "m1", "d"]);
    });

    it("refuses another position or version, and leaves the draft open", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await start("d");
      expect((await refusal(finish("d", 1, { expectedPosition: 0 }), "aborted")).message).toContain("position 1");
      await refusal(finish("d", 2), "aborted");
      await refusal(finish("nothing", 1), "not_found");
      expect(await extend("d", 1, "a")).toBe(2);
      expect(await finish("d", 2, { expectedPosition: 1 })).toMatchObject({ position: 1 });
      expect(await textOf("d")).toBe("a");
    });

    it("lets either finish or discard win", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      const [finished, discarded] = await Promise.allSettled([finish("d", 1), subject.other.discardDraft("s", "d")]);
      expect(finished.status).not.toBe(discarded.status);
      expect(await history(subject.other, "s")).toEqual(finished.status === "fulfilled" ? ["d"] : []);
      expect(await drafts()).toEqual([]);
    });

    it("does not bring back what an edit has removed", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await start("d");
      await finish("d", 1);
      await subject.other.truncateMessages("s", "m1");
      expect((await refusal(finish("d", 1), "failed_precondition")).message).toContain("removed");
      expect(await history(subject.other, "s")).toEqual(["m1"]);
    });

    it("does not answer a retry with another message that has taken the id", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      for (const [id, timestampMicros] of [
        ["d", undefined],
        ["e", T0 - 2 * SECOND],
      ] as const) {
        await start(id, { timestampMicros });
        await finish(id, 1);
        await subject.other.deleteMessage("s", id);
        subject.nowMicros += SECOND;
        await subject.other.logMessages("s", [message(id, { role: "user" })]);
        expect((await refusal(finish(id, 1), "failed_precondition")).message).toContain("removed");
        await subject.other.deleteMessage("s", id);
        await subject.other.logMessages("s", [message(id, { role: "user", timestampMicros: T0 - SECOND })]);
        await refusal(finish(id, 1), "failed_precondition");
      }
    });

    it("answers a retry with the place of its message after an update, whatever time the message has", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await start("now", {});
      await start("set", { timestampMicros: T0 - SECOND });
      await finish("now", 1);
      await finish("set", 1);
      await subject.provider.logMessages("s", [messageAt("later", 100)]);
      await start("after", {});
      await finish("after", 1);
      for (const id of ["now", "set", "after"]) {
        await subject.other.updateMessage("s", id, { parts: [{ id: "", type: "text", text: "new" }] });
        expect(await finish(id, 1), id).toMatchObject({ messageIds: [id] });
      }
    });
  });

  describe("discardDraft", () => {
    it("drops the draft for good", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      await subject.other.discardDraft("s", "d");
      await subject.provider.discardDraft("s", "d");
      await subject.provider.discardDraft("s", "nothing");
      expect(await drafts()).toEqual([]);
      expect((await refusal(finish("d", 1), "failed_precondition")).message).toContain("discarded");
    });

    it("refuses a draft that was finished, and an unknown session", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      await finish("d", 1);
      await refusal(subject.other.discardDraft("s", "d"), "failed_precondition");
      await refusal(subject.provider.discardDraft("nobody", "d"), "not_found");
    });
  });

  describe("drafts during other changes", () => {
    it("are discarded by a truncate and a revert, but not by one that is refused", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await start("d");
      await refusal(subject.other.truncateMessages("s", "nothing"), "invalid_argument");
      await refusal(subject.other.truncateMessages("s", "m1", { expectedRevision: 99 }), "aborted");
      expect(await draftIds()).toEqual(["d"]);
      expect(await subject.other.truncateMessages("s", "m2")).toBe(1);
      await refusal(extend("d", 1, "a"), "failed_precondition");
      await start("e");
      expect(await subject.other.truncateMessages("s", "m1", { keepForUnrevert: true })).toBe(1);
      expect(await drafts()).toEqual([]);
      expect(await subject.provider.restoreMessages("s")).toBe(1);
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
    });

    it("are deleted with their session, whose id may be used again", async () => {
      await sessionWith(subject.provider, "s");
      await start("d");
      await subject.other.deleteSession("s");
      await refusal(extend("d", 1, "a"), "not_found");
      await subject.other.createSession({ sessionId: "s" });
      await refusal(extend("d", 1, "a"), "not_found");
      expect(await drafts()).toEqual([]);
      await start("d");
      expect(await draftIds()).toEqual(["d"]);
    });

    it("stay in their session when it is forked, shared, copied or merged", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "t", [messageAt("t0", -5)]);
      await start("d");
      for (const as of ["fork", "share"] as const) {
        await subject.other.forkConversation("s", as, { as });
        expect(await subject.other.listDrafts(as)).toEqual([]);
      }
      await subject.other.forkConversation("t", "s", { as: "copy" });
      await subject.other.logMessages("s", [messageAt("m0", -7)]);
      expect(await extend("d", 1, "a")).toBe(2);
      expect(await finish("d", 2)).toMatchObject({ position: 3 });
      expect(await history(subject.other, "fork")).toEqual(["m1"]);
    });

    it("are returned with the session, as of the same moment", async () => {
      await sessionWith(subject.provider, "s", numbered(3));
      await start("d");
      await extend("d", 1, "a");
      const { messages: shown, drafts: open, next } = await subject.other.loadSession("s", { limit: 2 });
      expect(shown).toHaveLength(2);
      expect(open).toMatchObject([{ message: { id: "d", parts: [{ text: "a" }] }, version: 2 }]);
      expect((await subject.other.loadSession("s", { limit: 2, cursor: next })).drafts).toBeUndefined();
      await finish("d", 2);
      expect((await subject.other.loadSession("s", { limit: 2 })).drafts).toEqual([]);
    });

    it("do not affect what can be reverted and unreverted, or the revision", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await subject.provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      const { revision } = await subject.provider.getSession("s");
      await start("d");
      await extend("d", 1, "a");
      expect(await subject.other.getSession("s")).toMatchObject({ revision, reverted: true });
      expect(await subject.other.restoreMessages("s")).toBe(1);
      await finish("d", 2);
      expect(await history(subject.other, "s")).toEqual(["m1", "m2", "d"]);
    });
  });

  describe("sweep of drafts", () => {
    it("keeps the ids of the last 32 drafts that have ended", async () => {
      await sessionWith(subject.provider, "s");
      for (const id of numbered(33)) {
        await start(id);
        await subject.provider.discardDraft("s", id);
      }
      for (const id of ["m2", "m33"]) await refusal(start(id), "failed_precondition");
      expect(await start("m1")).toEqual({ messageId: "m1", version: 1 });
    });

    it("frees the id of an ended draft, also in a session with forks", async () => {
      const provider = subject.open({ sweepAgeMs: 0 });
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.provider.forkConversation("s", "f", { as: "fork" });
      await start("d");
      await start("open");
      await extend("open", 1, "a");
      await subject.provider.discardDraft("s", "d");
      await provider.sweep();
      subject.nowMicros += SECOND;
      expect(await provider.sweep()).toMatchObject({ ranges: 1 });
      expect(await start("d")).toEqual({ messageId: "d", version: 1 });
      expect(await extend("open", 2, "b")).toBe(3);
    });
  });

  describe("endAbandonedDrafts", () => {
    it("finishes or discards drafts that nobody has extended or renewed for long, and leaves the others alone", async () => {
      let clockMs = 0;
      const watching = subject.open({ clockMs: () => clockMs, draftTimeoutMs: 1000 });
      await sessionWith(subject.provider, "s");
      await start("kept", { metadata: { a: 1 } });
      await start("dropped", {}, { discardWhenAbandoned: true });
      await start("alive");
      await start("renewed");
      await extend("kept", 1, "half");
      expect(await watching.endAbandonedDrafts()).toBe(0);
      clockMs = 999;
      expect(await watching.endAbandonedDrafts()).toBe(0);
      await extend("alive", 1, "on");
      await extend("renewed", 1);
      clockMs = 1000;
      expect(await watching.endAbandonedDrafts()).toBe(2);
      expect(await subject.other.getMessage("s", "kept")).toMatchObject({ metadata: { a: 1, interrupted: true } });
      expect(await textOf("kept")).toBe("half");
      expect(await history(subject.other, "s")).toEqual(["kept"]);
      expect(await draftIds()).toEqual(["alive", "renewed"]);
      await refusal(extend("kept", 2, "late"), "failed_precondition");
    });

    it("finishes a draft once even if two processes try at once", async () => {
      let clockMs = 0;
      const options = { clockMs: () => clockMs, draftTimeoutMs: 1000 };
      const two = [subject.open(options), subject.open(options)];
      await sessionWith(subject.provider, "s");
      for (const id of numbered(4)) await start(id);
      for (const one of two) await one.endAbandonedDrafts();
      clockMs = 1000;
      await Promise.all(two.map((one) => one.endAbandonedDrafts()));
      expect([...(await history(subject.other, "s"))].sort()).toEqual(numbered(4));
      expect(await drafts()).toEqual([]);
    });
  });
}
