import { describe, expect, it } from "vitest";
import { history, idsOf, message, messageAt, numbered, SECOND, sessionWith, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeOlderMessages(subject: StorageProviderSubject): void {
  describe("a message older than the last one", () => {
    it("is put where its time belongs, and the answer gives that position", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20), messageAt("m3", 30)]);
      const logged = await subject.provider.logMessages("s", [messageAt("a", 15)]);
      expect(logged).toEqual({ messageIds: ["a"], position: 1 });
      expect(await subject.other.logMessages("s", [messageAt("b", 5)])).toMatchObject({ position: 0 });
      expect(await history(subject.provider, "s")).toEqual(["b", "m1", "a", "m2", "m3"]);
    });

    it("comes after those with the same timestamp", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20)]);
      for (const id of ["a", "b", "c"]) await subject.provider.logMessages("s", [messageAt(id, 10)]);
      for (const id of ["d", "e"]) await subject.other.logMessages("s", [messageAt(id, 20)]);
      expect(await history(subject.other, "s")).toEqual(["m1", "a", "b", "c", "m2", "d", "e"]);
    });

    it("shifts the positions of those after it", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20)]);
      await subject.provider.logMessages("s", [messageAt("a", 5)]);
      const positions = (await subject.other.getSessionMessages("s")).map(({ id, position }) => [id, position]);
      expect(positions).toEqual([
        ["a", 0],
        ["m1", 1],
        ["m2", 2],
      ]);
      expect(await subject.provider.getMessage("s", "m2")).toMatchObject({ position: 2 });
      expect(await subject.provider.getMessageCount("s")).toBe(3);
    });

    it("is found, counted and stored once like any other", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20)]);
      const older = [messageAt("a", 15)];
      const first = await subject.provider.logMessages("s", older);
      expect(await subject.other.logMessages("s", older)).toEqual(first);
      expect(await subject.other.getMessage("s", "a")).toMatchObject({ timestampMicros: T0 + 15 * SECOND });
      expect(await subject.other.getMessageCount("s")).toBe(3);
    });

    it("comes before everything at the beginning of time", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await subject.provider.logMessages("s", [message("a", { timestampMicros: 0 })]);
      await subject.provider.logMessages("s", [message("b", { timestampMicros: -1 })]);
      expect(await history(subject.other, "s")).toEqual(["b", "a", "m1"]);
      expect(await subject.other.getMessage("s", "b")).toMatchObject({ timestampMicros: -1, position: 0 });
    });

    it.each([-1, 0, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])(
      "cannot be too old for an empty session, even with the timestamp %d",
      async (timestampMicros) => {
        const provider = subject.open({ limits: { futureMs: 2 ** 53 } });
        const soon = { deadlineMs: Date.now() + 100_000 };
        await provider.createSession({ sessionId: "s" });
        await provider.createSession({ sessionId: "target" });
        await provider.createSession({ sessionId: "child", parentId: "s" });
        const logged = await provider.logMessages("s", [message("m1", { timestampMicros })], soon);
        expect(logged).toEqual({ messageIds: ["m1"], position: 0 });
        await provider.forkConversation("s", "fork", { as: "fork", ...soon });
        await provider.forkConversation("s", "target", { as: "copy", ...soon });
        await provider.forkConversation("target", "child", { as: "copy", ...soon });
        for (const sessionId of ["fork", "target", "child"]) {
          expect(await subject.other.getMessage(sessionId, "m1")).toMatchObject({ timestampMicros, position: 0 });
          await provider.logMessages(sessionId, [message("m2")], soon);
          expect(await subject.other.getMessage(sessionId, "m2")).toMatchObject({ position: 1 });
        }
      },
    );

    it("may have a timestamp at either end of the range, and is found by it", async () => {
      const provider = subject.open({ limits: { futureMs: 2 ** 53 } });
      await sessionWith(provider, "s", [messageAt("m", 0)]);
      await provider.logMessages("s", [message("first", { timestampMicros: Number.MIN_SAFE_INTEGER })]);
      await provider.logMessages("s", [message("last", { timestampMicros: Number.MAX_SAFE_INTEGER })]);
      await provider.logMessages("s", [message("second", { timestampMicros: Number.MIN_SAFE_INTEGER })]);
      await provider.logMessages("s", [message("before 1970", { timestampMicros: -1 })]);
      await provider.forkConversation("s", "fork", { as: "fork" });
      const all = ["first", "second", "before 1970", "m", "last"];
      for (const sessionId of ["s", "fork"]) {
        const found = async (sinceMicros: number | undefined, untilMicros?: number) =>
          idsOf((await subject.other.listMessages(sessionId, { limit: 10, sinceMicros, untilMicros })).messages);
        expect(await history(subject.other, sessionId)).toEqual(all);
        expect(await found(Number.MIN_SAFE_INTEGER)).toEqual(all);
        expect(await found(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).toEqual(all.slice(0, 4));
        expect(await found(Number.MIN_SAFE_INTEGER + 1, 0)).toEqual(["before 1970"]);
        expect(await found(Number.MAX_SAFE_INTEGER)).toEqual(["last"]);
        expect(await found(undefined, Number.MIN_SAFE_INTEGER)).toEqual([]);
      }
    });

    it("keeps a history in order, whatever the order of arrival", async () => {
      const times = [50, 10, 40, 10, 30, 20, 50, 60, 5, 35, 20, 10];
      await subject.provider.createSession({ sessionId: "s" });
      for (const [i, seconds] of times.entries()) {
        const provider = i % 2 ? subject.other : subject.provider;
        await provider.logMessages("s", [messageAt(`m${i}`, seconds)]);
      }
      const expected = times
        .map((seconds, i) => ({ seconds, i }))
        .sort((a, b) => a.seconds - b.seconds || a.i - b.i)
        .map(({ i }) => `m${i}`);
      expect(await history(subject.provider, "s")).toEqual(expected);
      expect(await history(subject.other, "s")).toEqual(expected);
    });

    it("is not lost when two providers append older messages at once", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 0), messageAt("m2", 100)]);
      const put = async (provider: typeof subject.provider, prefix: string) => {
        for (let i = 1; i <= 8; i++) await provider.logMessages("s", [messageAt(`${prefix}${i}`, 10 * i)]);
      };
      await Promise.all([put(subject.provider, "a"), put(subject.other, "b")]);
      const list = await subject.provider.getSessionMessages("s");
      expect(list.map(({ id }) => id).sort()).toEqual([...numbered(8, "a"), ...numbered(8, "b"), "m1", "m2"]);
      const times = list.map(({ timestampMicros }) => timestampMicros);
      expect([...times].sort((a, b) => a - b)).toEqual(times);
    });

    it("does not change earlier forks", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20)]);
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.logMessages("s", [messageAt("a", 15)]);
      await subject.other.logMessages("fork", [messageAt("b", 5)]);
      expect(await history(subject.provider, "s")).toEqual(["m1", "a", "m2"]);
      expect(await history(subject.provider, "fork")).toEqual(["b", "m1", "m2"]);
    });
  });

  describe("since and until", () => {
    const inTime = async (from: number | undefined, to: number | undefined, newestFirst = false) => {
      const { messages } = await subject.other.listMessages("s", {
        limit: 100,
        newestFirst,
        sinceMicros: from === undefined ? undefined : T0 + from * SECOND,
        untilMicros: to === undefined ? undefined : T0 + to * SECOND,
      });
      return messages.map(({ id }) => id);
    };
    const make = () =>
      sessionWith(subject.provider, "s", [
        messageAt("m1", 10),
        messageAt("m3", 20),
        messageAt("m4", 30),
        messageAt("m2", 10),
        messageAt("m5", 30),
      ]);

    it("select the times from since, inclusive, to until, exclusive", async () => {
      await make();
      expect(await inTime(10, undefined)).toEqual(["m1", "m2", "m3", "m4", "m5"]);
      expect(await inTime(11, undefined)).toEqual(["m3", "m4", "m5"]);
      expect(await inTime(undefined, 30)).toEqual(["m1", "m2", "m3"]);
      expect(await inTime(undefined, 10)).toEqual([]);
      expect(await inTime(10, 30)).toEqual(["m1", "m2", "m3"]);
      expect(await inTime(30, 31)).toEqual(["m4", "m5"]);
      expect(await inTime(31, undefined)).toEqual([]);
    });

    it("select no messages when they are equal", async () => {
      await make();
      expect(await inTime(20, 20)).toEqual([]);
    });

    it("work in lists that begin with the newest message, too", async () => {
      await make();
      expect(await inTime(10, 30, true)).toEqual(["m3", "m2", "m1"]);
    });

    it("make the offset count within their range", async () => {
      await make();
      const { messages } = await subject.provider.listMessages("s", {
        limit: 2,
        offset: 1,
        sinceMicros: T0 + 10 * SECOND,
        untilMicros: T0 + 30 * SECOND,
      });
      expect(messages.map(({ id }) => id)).toEqual(["m2", "m3"]);
    });
  });
}
