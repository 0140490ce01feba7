import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { history, message, messageAt, messages, numbered, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeBatches(subject: StorageProviderSubject): void {
  describe("logMessages, several messages", () => {
    it("stores them in order and returns their ids and the position of the first", async () => {
      await sessionWith(subject.provider, "s", ["m0"]);
      const logged = await subject.provider.logMessages("s", messages("m1", "m2", "m3"));
      expect(logged).toEqual({ messageIds: ["m1", "m2", "m3"], position: 1 });
      expect(await history(subject.other, "s")).toEqual(["m0", "m1", "m2", "m3"]);
    });

    it("stores 1,000 messages", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const ids = numbered(1000);
      await subject.provider.logMessages("s", messages(...ids));
      expect(await subject.other.getMessageCount("s")).toBe(1000);
      expect(await history(subject.other, "s")).toEqual(ids);
    });

    it("makes missing ids", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const { messageIds } = await subject.provider.logMessages("s", [
        message("", { id: undefined }),
        message("m2"),
        message("", { id: undefined }),
      ]);
      expect(messageIds[1]).toBe("m2");
      expect(new Set(messageIds).size).toBe(3);
      expect(await history(subject.provider, "s")).toEqual(messageIds);
    });

    it("stores none when one of them is refused", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const taken = message("m1", { role: "assistant" });
      for (const batch of [
        [taken, message("m2")],
        [message("m2"), taken],
        [message("m2"), taken, message("m3")],
      ]) {
        await refusal(subject.other.logMessages("s", batch), "already_exists");
        expect(await history(subject.provider, "s")).toEqual(["m1"]);
      }
    });

    it("refuses a batch without messages", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      await refusal(subject.provider.logMessages("s", []), "invalid_argument");
      expect(await subject.provider.getMessageCount("s")).toBe(0);
    });

    it.each([
      ["new", messages("m2", "m3", "m2"), "m2"],
      ["new, with other content", [message("m2"), message("m2", { role: "assistant" })], "m2"],
      ["new, and older than the last message", [messageAt("m2", -1), messageAt("m2", -1)], "m2"],
      ["known", messages("m1", "m1"), "m1"],
    ])(
      "refuses a batch that holds an id twice, names the id, and stores nothing: the id is %s",
      async (_, batch, id) => {
        await sessionWith(subject.provider, "s", [messageAt("m1", 0)]);
        for (const provider of [subject.provider, subject.other]) {
          const error = await refusal(provider.logMessages("s", batch), "invalid_argument");
          expect(error.message).toBe(`messages holds the id "${id}" twice`);
        }
        expect(await history(subject.other, "s")).toEqual(["m1"]);
      },
    );

    it("answers a retry like the first call", async () => {
      await sessionWith(subject.provider, "s", ["m0"]);
      const batch = messages("m1", "m2", "m3");
      const first = await subject.provider.logMessages("s", batch, { expectedPosition: 1 });
      expect(await subject.other.logMessages("s", batch, { expectedPosition: 1 })).toEqual(first);
      expect(await subject.provider.logMessages("s", batch)).toEqual(first);
      expect(await history(subject.provider, "s")).toEqual(["m0", "m1", "m2", "m3"]);
    });

    it("skips ids that the session has and stores the others", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      const logged = await subject.other.logMessages("s", messages("m3", "m2", "m4"));
      expect(logged).toEqual({ messageIds: ["m3", "m2", "m4"], position: 2 });
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2", "m3", "m4"]);
    });

    it("ignores expectedPosition when all messages are known", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      const known = await subject.other.logMessages("s", messages("m2", "m1"), { expectedPosition: 9 });
      expect(known).toEqual({ messageIds: ["m2", "m1"], position: 1 });
    });

    it("compares the place of each message when some are known, whichever they are", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      for (const [ids, expectedPosition] of [
        [["m1", "m3"], 0],
        [["m1", "m3"], 9],
        [["m1", "m3", "m2"], 0],
        [["m4", "m2"], 9],
        [["m4", "m2"], 2],
      ] as const) {
        await refusal(subject.provider.logMessages("s", messages(...ids), { expectedPosition }), "aborted");
      }
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
      const logged = await subject.other.logMessages("s", messages("m1", "m2", "m3"), { expectedPosition: 0 });
      expect(logged).toEqual({ messageIds: ["m1", "m2", "m3"], position: 0 });
      await subject.provider.logMessages("s", messages("m3", "m4", "m5"), { expectedPosition: 2 });
      expect(await history(subject.other, "s")).toEqual(["m1", "m2", "m3", "m4", "m5"]);
    });

    it("puts a batch with older messages in its place as a whole", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20), messageAt("m3", 30)]);
      const batch = [messageAt("a", 25), messageAt("b", 15), messageAt("c", 35), messageAt("d", 5)];
      const logged = await subject.other.logMessages("s", batch);
      expect(await history(subject.provider, "s")).toEqual(["d", "m1", "b", "m2", "a", "m3", "c"]);
      expect(logged).toEqual({ messageIds: ["a", "b", "c", "d"], position: 4 });
      expect(await subject.provider.logMessages("s", batch)).toEqual(logged);
    });

    it("stores none of a batch with older messages when one is refused", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20)]);
      const batch = [messageAt("a", 5), message("m2", { role: "assistant" })];
      await refusal(subject.provider.logMessages("s", batch), "already_exists");
      const misplaced = subject.provider.logMessages("s", [messageAt("a", 15), messageAt("b", 5)], {
        expectedPosition: 1,
      });
      await refusal(misplaced, "aborted");
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
    });

    it("compares the place of each message of a batch with older messages, too", async () => {
      const [m1, m2] = [messageAt("m1", 10), messageAt("m2", 20)];
      await sessionWith(subject.provider, "s", [m1, m2]);
      for (const [batch, expectedPosition] of [
        [[m1, messageAt("b", 5)], 0],
        [[m1, messageAt("b", 5)], 1],
        [[messageAt("b", 15), messageAt("c", 5)], 2],
        [[messageAt("b", 5), m2], 0],
      ] as const) {
        await refusal(subject.provider.logMessages("s", batch, { expectedPosition }), "aborted");
      }
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
      const batch = [m1, messageAt("b", 15), m2];
      expect(await subject.provider.logMessages("s", batch, { expectedPosition: 0 })).toMatchObject({ position: 0 });
      expect(await history(subject.other, "s")).toEqual(["m1", "b", "m2"]);
    });

    it("never shows a reader part of a batch", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const size = 40;
      let isWriting = true;
      const seen = new Set<number>();
      const write = async () => {
        for (let i = 0; i < 10; i++) {
          await subject.provider.logMessages("s", messages(...numbered(size, `b${i}.`)));
          // On a store that writes synchronously, the reader would otherwise find either nothing or everything.
          await setImmediate();
        }
        isWriting = false;
      };
      const read = async () => {
        do {
          const count = await subject.other.getMessageCount("s");
          seen.add(count);
          expect(count % size).toBe(0);
          expect((await subject.other.getSessionMessages("s")).length % size).toBe(0);
          // On a store that reads synchronously, this loop would otherwise never let the writer run.
          await setImmediate();
        } while (isWriting);
      };
      await Promise.all([write(), read()]);
      expect(await subject.other.getMessageCount("s")).toBe(10 * size);
      // The reader has looked while batches were being written.
      expect([...seen].some((count) => count > 0 && count < 10 * size)).toBe(true);
    });
  });
}
