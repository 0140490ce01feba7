import { describe, expect, it } from "vitest";
import { history, message, messageAt, numbered, refusal, SECOND, sessionWith, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeAppends(subject: StorageProviderSubject): void {
  describe("logMessages, one message", () => {
    it("stores the message as given and returns its id and position", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const given = messageAt("m1", -10, {
        role: "tool",
        parts: [
          { id: "p1", type: "text", text: "hello" },
          { id: "", type: "call", text: "", data: { a: [1, "x", null, { b: true }] } },
        ],
        metadata: { model: "m", nested: { deep: [] } },
      });
      expect(await subject.provider.logMessages("s", [given])).toEqual({ messageIds: ["m1"], position: 0 });
      expect(await subject.other.getMessage("s", "m1")).toEqual({
        ...given,
        sessionId: "s",
        originSessionId: "s",
        position: 0,
      });
    });

    it("stores messages without parts", async () => {
      await sessionWith(subject.provider, "s", [message("m1", { parts: [] })]);
      expect(await subject.other.getMessage("s", "m1")).toMatchObject({ parts: [] });
    });

    it("keeps the order of appending, across providers", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      for (const [i, id] of numbered(10).entries()) {
        const provider = i % 3 === 0 ? subject.other : subject.provider;
        expect(await provider.logMessages("s", [message(id)])).toEqual({ messageIds: [id], position: i });
      }
      expect(await history(subject.provider, "s")).toEqual(numbered(10));
      expect(await history(subject.other, "s")).toEqual(numbered(10));
    });

    it("uses the time of storing when no time is given", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      subject.nowMicros = T0 + 7;
      await subject.provider.logMessages("s", [message("m1")]);
      expect(await subject.provider.getMessage("s", "m1")).toMatchObject({ timestampMicros: T0 + 7 });
    });

    it("never uses a time before the last message's", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 5)]);
      await subject.other.logMessages("s", [message("m2")]);
      expect(await subject.provider.getMessage("s", "m2")).toMatchObject({
        timestampMicros: T0 + 5 * SECOND,
        position: 1,
      });
    });

    it("makes ids that differ and sort in order of appending", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const ids: string[] = [];
      for (let i = 0; i < 20; i++) {
        const { messageIds } = await subject.provider.logMessages("s", [message("", { id: undefined })]);
        ids.push(...messageIds);
      }
      expect(new Set(ids).size).toBe(20);
      expect([...ids].sort()).toEqual(ids);
      expect(await history(subject.provider, "s")).toEqual(ids);
    });

    it("accepts a timestamp up to 5 minutes ahead of the clock, and refuses a later one", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      await subject.provider.logMessages("s", [messageAt("m1", 300)]);
      const late = message("m2", { timestampMicros: T0 + 300 * SECOND + 1 });
      await refusal(subject.provider.logMessages("s", [late]), "invalid_argument");
      await refusal(subject.provider.logMessages("s", [message("m3"), late]), "invalid_argument");
      expect(await history(subject.provider, "s")).toEqual(["m1"]);
    });

    it("refuses an unknown session", async () => {
      await refusal(subject.provider.logMessages("nobody", [message("m1")]), "not_found");
    });
  });

  describe("logMessage", () => {
    it("appends one message to the session that it names", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const logged = await subject.provider.logMessage({ ...message("m1"), sessionId: "s" });
      expect(logged).toEqual({ messageIds: ["m1"], position: 0 });
      expect(await history(subject.other, "s")).toEqual(["m1"]);
    });

    it("appends it at the expected position only", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const misplaced = subject.provider.logMessage({ ...message("m1"), sessionId: "s" }, { expectedPosition: 1 });
      await refusal(misplaced, "aborted");
    });
  });

  describe("a repeated id", () => {
    it("with the same content returns its current place, and stores nothing", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1), messageAt("m2", 2)]);
      await subject.provider.logMessages("s", [messageAt("m0", 0)]);
      for (const provider of [subject.provider, subject.other]) {
        expect(await provider.logMessages("s", [message("m1")])).toEqual({ messageIds: ["m1"], position: 1 });
        expect(await provider.logMessages("s", [messageAt("m2", 2)])).toEqual({ messageIds: ["m2"], position: 2 });
      }
      expect(await history(subject.provider, "s")).toEqual(["m0", "m1", "m2"]);
    });

    it("ignores the order of keys, and treats an absent Struct as an empty one", async () => {
      const data = { a: 1, b: { c: 2, d: 3 } };
      const parts = [{ id: "", type: "x", text: "", data }];
      await sessionWith(subject.provider, "s", [message("m1", { parts })]);
      const again = message("m1", {
        parts: [{ id: "", type: "x", text: "", data: { b: { d: 3, c: 2 }, a: 1 } }],
        metadata: {},
      });
      expect(await subject.other.logMessages("s", [again])).toEqual({ messageIds: ["m1"], position: 0 });
    });

    it.each([
      ["role", message("m1", { role: "assistant" })],
      ["text", message("m1", { parts: [{ id: "", type: "text", text: "other" }] })],
      ["parts", message("m1", { parts: [] })],
      ["metadata", message("m1", { metadata: { a: 1 } })],
      ["timestamp", messageAt("m1", 3)],
    ])("with another %s is refused, and changes nothing", async (_, other) => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1), "m2"]);
      const before = await subject.provider.getSessionMessages("s");
      const error = await refusal(subject.other.logMessages("s", [other]), "already_exists");
      expect(error.message).toContain("m1");
      await refusal(subject.provider.logMessages("s", [other]), "already_exists");
      expect(await subject.other.getSessionMessages("s")).toEqual(before);
    });

    it("is not a repetition in another session", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "t", [message("m1", { role: "assistant" })]);
      expect(await subject.provider.getMessage("s", "m1")).toMatchObject({ role: "user" });
      expect(await subject.provider.getMessage("t", "m1")).toMatchObject({ role: "assistant" });
    });

    it("is stored once when it is sent many times at once", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const sent = Array.from({ length: 8 }, (_, i) =>
        (i % 2 ? subject.other : subject.provider).logMessages("s", [message("m1")]),
      );
      for (const answer of await Promise.all(sent)) expect(answer).toEqual({ messageIds: ["m1"], position: 0 });
      expect(await history(subject.provider, "s")).toEqual(["m1"]);
    });
  });

  describe("expectedPosition", () => {
    it("allows the message only this place; the refusal names the place it would get", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.provider.logMessages("s", [message("m2")], { expectedPosition: 1 });
      for (const expectedPosition of [0, 1, 3]) {
        const refused = subject.provider.logMessages("s", [message("m3")], { expectedPosition });
        expect((await refusal(refused, "aborted")).message).toContain("2");
      }
      await subject.provider.logMessages("s", [message("m3")], { expectedPosition: 2 });
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2", "m3"]);
    });

    it("is compared with the store, not with what this provider last saw", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.other.logMessages("s", [message("m2"), message("m3")]);
      await subject.provider.logMessages("s", [message("m4")], { expectedPosition: 3 });
      await refusal(subject.other.logMessages("s", [message("m5")], { expectedPosition: 3 }), "aborted");
    });

    it("is compared with the place an older message gets", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1), messageAt("m3", 3)]);
      const older = [messageAt("m2", 2)];
      await refusal(subject.provider.logMessages("s", older, { expectedPosition: 2 }), "aborted");
      expect(await subject.provider.logMessages("s", older, { expectedPosition: 1 })).toMatchObject({ position: 1 });
    });

    it("is ignored for a repeated id", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      for (const expectedPosition of [0, 1, 7]) {
        const again = await subject.other.logMessages("s", [message("m1")], { expectedPosition });
        expect(again).toEqual({ messageIds: ["m1"], position: 0 });
      }
    });

    it("lets one of many concurrent appends win", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const outcomes = await Promise.allSettled(
        numbered(6).map((id, i) =>
          (i % 2 ? subject.other : subject.provider).logMessages("s", [message(id)], { expectedPosition: 0 }),
        ),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "aborted" });
      }
      expect(await subject.provider.getMessageCount("s")).toBe(1);
    });
  });

  describe("concurrent appends", () => {
    it("are each stored once, and those of each provider stay in order", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const writer = async (provider: typeof subject.provider, prefix: string) => {
        for (const id of numbered(25, prefix)) await provider.logMessages("s", [message(id)]);
      };
      const third = subject.open();
      await Promise.all([writer(subject.provider, "a"), writer(subject.other, "b"), writer(third, "c")]);
      const ids = await history(subject.provider, "s");
      expect(ids).toHaveLength(75);
      for (const prefix of ["a", "b", "c"]) {
        expect(ids.filter((id) => id.startsWith(prefix))).toEqual(numbered(25, prefix));
      }
      const positions = (await subject.other.getSessionMessages("s")).map(({ position }) => position);
      expect(positions).toEqual(ids.map((_, i) => i));
    });
  });
}
