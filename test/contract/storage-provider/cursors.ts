import { describe, expect, it } from "vitest";
import type { MessageCursor, MessageQuery } from "../../../src/domain/page.js";
import { idsOf, message, messageAt, numbered, refusal, SECOND, sessionWith, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeCursors(subject: StorageProviderSubject): void {
  /** The cursor after the first page, which has two messages. */
  const cursorOf = async (sessionId: string, query: MessageQuery = {}) => {
    const page = await subject.provider.listMessages(sessionId, { limit: 2, ...query });
    return page.next as MessageCursor;
  };
  const goOn = async (sessionId: string, cursor: MessageCursor, query: MessageQuery = {}) =>
    idsOf((await subject.other.listMessages(sessionId, { limit: 100, cursor, ...query })).messages);

  describe("a cursor", () => {
    it("marks the place after the last message given out, and works more than once", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const cursor = await cursorOf("s");
      expect(cursor.messageId).toBe("m2");
      for (let i = 0; i < 2; i++) expect(await goOn("s", cursor)).toEqual(["m3", "m4", "m5"]);
    });

    it("survives serialisation", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const cursor = JSON.parse(JSON.stringify(await cursorOf("s"))) as MessageCursor;
      expect(await goOn("s", cursor)).toEqual(["m3", "m4", "m5"]);
    });

    it("neither repeats nor skips when messages are appended meanwhile", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const oldest = await cursorOf("s");
      const newest = await cursorOf("s", { newestFirst: true });
      await subject.provider.logMessages("s", [message("m6"), message("m7")]);
      expect(await goOn("s", oldest)).toEqual(["m3", "m4", "m5", "m6", "m7"]);
      expect(await goOn("s", newest, { newestFirst: true })).toEqual(["m3", "m2", "m1"]);
    });

    it("neither repeats nor skips when older messages are inserted meanwhile", async () => {
      const ids = [10, 20, 30, 40].map((seconds) => messageAt(`m${seconds}`, seconds));
      await sessionWith(subject.provider, "s", ids);
      const oldest = await cursorOf("s");
      const newest = await cursorOf("s", { newestFirst: true });
      await subject.provider.logMessages("s", [messageAt("m5", 5), messageAt("m25", 25), messageAt("m35", 35)]);
      expect(await goOn("s", oldest)).toEqual(["m25", "m30", "m35", "m40"]);
      expect(await goOn("s", newest, { newestFirst: true })).toEqual(["m25", "m20", "m10", "m5"]);
    });

    it("is refused when its message is gone, and continues when it is back", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const cursor = await cursorOf("s", { newestFirst: true });
      await subject.provider.truncateMessages("s", "m3", { keepForUnrevert: true });
      await refusal(goOn("s", cursor, { newestFirst: true }), "failed_precondition");
      await subject.provider.restoreMessages("s");
      expect(await goOn("s", cursor, { newestFirst: true })).toEqual(["m3", "m2", "m1"]);
    });

    it("continues when only messages after it were removed", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const cursor = await cursorOf("s");
      await subject.provider.truncateMessages("s", "m3");
      expect(await goOn("s", cursor)).toEqual(["m3"]);
      await subject.provider.truncateMessages("s", "m2");
      expect(await goOn("s", cursor)).toEqual([]);
    });

    it("finds its message by id when the message was removed and appended again", async () => {
      await sessionWith(subject.provider, "s", numbered(4));
      const cursor = await cursorOf("s");
      await subject.provider.truncateMessages("s", "m1");
      await subject.provider.logMessages("s", [message("m2"), message("x")]);
      expect(await goOn("s", cursor)).toEqual(["x"]);
    });

    it("is refused when its message has left the list's range of time", async () => {
      const numbers = [1, 2, 3, 4];
      const query = { untilMicros: T0 + 5 * SECOND };
      await sessionWith(
        subject.provider,
        "s",
        numbers.map((seconds) => messageAt(`m${seconds}`, seconds)),
      );
      const cursor = await cursorOf("s", query);
      await subject.provider.deleteMessage("s", "m2");
      await subject.provider.logMessages("s", [messageAt("m2", 9)]);
      const refused = await refusal(goOn("s", cursor, query), "failed_precondition");
      expect(refused.message).toBe('Message "m2", after which the page begins, is no longer in this list');
    });

    it("continues after the history was merged and copied", async () => {
      await sessionWith(
        subject.provider,
        "s",
        [10, 20, 30, 40].map((seconds) => messageAt(`m${seconds}`, seconds)),
      );
      await sessionWith(subject.provider, "t", [messageAt("t15", 15), messageAt("t35", 35)]);
      const cursor = await cursorOf("s");
      await subject.provider.forkConversation("t", "s", { as: "copy" });
      expect(await goOn("s", cursor)).toEqual(["m30", "t35", "m40"]);
    });

    it.each([
      ["another direction", { newestFirst: true }],
      ["another list", { includeAncestors: true }],
      ["other times", { sinceMicros: T0 }],
      ["another end", { untilMicros: T0 + 1e9 }],
    ])("is refused for %s", async (_, query) => {
      await sessionWith(subject.provider, "s", numbered(5));
      const cursor = await cursorOf("s");
      await refusal(goOn("s", cursor, query), "invalid_argument");
      await refusal(goOn("s", await cursorOf("s", query)), "invalid_argument");
    });

    it("is refused for another session, even one with the same messages", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await refusal(goOn("fork", await cursorOf("s")), "invalid_argument");
    });

    it("is refused for a session made again under the same id", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const cursor = await cursorOf("s");
      await subject.provider.deleteSession("s");
      await sessionWith(subject.provider, "s", numbered(5));
      await refusal(goOn("s", cursor), "invalid_argument");
    });

    it("of loadSession is refused in the other direction", async () => {
      await sessionWith(subject.provider, "s", numbered(5));
      const { next } = await subject.provider.loadSession("s", { limit: 2 });
      await refusal(goOn("s", next as MessageCursor), "invalid_argument");
      await refusal(subject.provider.loadSession("s", { limit: 2, cursor: await cursorOf("s") }), "invalid_argument");
    });
  });
}
