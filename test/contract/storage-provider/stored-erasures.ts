import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../../src/storage/history/log-history-provider.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { history, message, messageAt, refusal, sessionWith, sweepAway } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export const SECRET = "a secret that must go";
export const PARTS = [{ id: "", type: "text", text: SECRET }];
const MORE = [{ kind: "append_text", partId: "", text: `, and more of ${SECRET}` }] as const;

const secret = (given = {}) => message("secret", { parts: PARTS, ...given });

/** How a message `secret` of session `s` got out of sight. */
export interface StoredCase {
  readonly name: string;
  /** Options of the provider that does it. */
  readonly options?: EngineOptions;
  readonly copies: number;
  readonly arrange: (provider: StorageOperations, subject: StorageProviderSubject) => Promise<unknown>;
}

export const STORED_CASES: readonly StoredCase[] = [
  {
    name: "a message that was truncated after more ranges than the record remembers",
    options: { maxDropped: 2 },
    copies: 1,
    async arrange(provider) {
      await provider.forkConversation("s", "fork", { as: "fork" });
      for (let i = 0; i < 4; i++) {
        await provider.logMessages("s", [message(`x${i}`)]);
        await provider.truncateMessages("s", "m1");
      }
      await provider.logMessages("s", [secret()]);
      await provider.truncateMessages("s", "m1");
    },
  },
  {
    name: "a message that was deleted from among others, and all of them truncated",
    options: { maxDropped: 1 },
    copies: 1,
    async arrange(provider) {
      await provider.logMessages("s", [message("m2"), secret(), message("m3")]);
      await provider.deleteMessage("s", "secret");
      await provider.truncateMessages("s", null);
    },
  },
  {
    name: "a message that was reverted before others were appended",
    copies: 1,
    async arrange(provider) {
      await provider.logMessages("s", [secret()]);
      await provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      await provider.logMessages("s", [message("m2")]);
    },
  },
  {
    name: "old content of a message that was updated and is still shown",
    copies: 3,
    async arrange(provider) {
      await provider.logMessages("s", [secret()]);
      await provider.updateMessage("s", "secret", { parts: [{ id: "", type: "text", text: `again: ${SECRET}` }] });
      await provider.updateMessage("s", "secret", { parts: [] });
    },
  },
  {
    name: "old content of a message that was updated, and then deleted",
    options: { maxDropped: 1 },
    copies: 2,
    async arrange(provider) {
      await provider.logMessages("s", [secret()]);
      await provider.updateMessage("s", "secret", { parts: [] });
      await provider.deleteMessage("s", "secret");
    },
  },
  {
    name: "an older message that was put before others, and truncated",
    copies: 1,
    async arrange(provider) {
      await provider.logMessages("s", [messageAt("m2", 20)]);
      await provider.logMessages("s", [secret({ timestampMicros: messageAt("", 15).timestampMicros })]);
      await provider.truncateMessages("s", "m1");
    },
  },
  {
    name: "earlier messages with the id of the one that is shown",
    copies: 3,
    async arrange(provider, subject) {
      for (const role of ["user", "tool"]) {
        await provider.logMessages("s", [secret({ role })]);
        await provider.truncateMessages("s", "m1");
        subject.nowMicros += 1000;
      }
      await provider.logMessages("s", [message("secret")]);
    },
  },
  {
    name: "a message of a session that was deleted",
    copies: 1,
    async arrange(provider) {
      await provider.logMessages("s", [secret()]);
      await provider.deleteSession("s");
    },
  },
  {
    name: "a message of a session that was deleted and made again",
    copies: 1,
    async arrange(provider) {
      await provider.logMessages("s", [secret()]);
      await provider.deleteSession("s");
      await sessionWith(provider, "s", ["m1"]);
    },
  },
  {
    name: "a message that was removed in the fork, too",
    copies: 1,
    async arrange(provider) {
      await provider.logMessages("s", [secret()]);
      await provider.forkConversation("s", "fork", { as: "fork" });
      await provider.truncateMessages("s", "m1");
      await provider.deleteMessage("fork", "secret");
    },
  },
  {
    name: "a draft that was discarded",
    copies: 1,
    async arrange(provider) {
      await provider.startDraft("s", secret());
      await provider.extendDraft("s", "secret", 1, MORE);
      await provider.discardDraft("s", "secret");
    },
  },
  {
    name: "a draft that was discarded before a session with its id was made again, and has a message with its id",
    copies: 2,
    async arrange(provider) {
      await provider.startDraft("s", secret());
      await provider.discardDraft("s", "secret");
      await provider.deleteSession("s");
      await sessionWith(provider, "s", [message("secret")]);
    },
  },
  {
    name: "a draft that was abandoned, and discarded for that",
    options: { draftTimeoutMs: 0 },
    copies: 1,
    async arrange(provider) {
      await provider.startDraft("s", secret(), { discardWhenAbandoned: true });
      await provider.endAbandonedDrafts();
    },
  },
  {
    name: "a draft of a session that was deleted",
    copies: 1,
    async arrange(provider) {
      await provider.startDraft("s", secret());
      await provider.extendDraft("s", "secret", 1, MORE);
      await provider.deleteSession("s");
    },
  },
  {
    name: "a draft that was finished, and its message truncated",
    copies: 1,
    async arrange(provider, subject) {
      await provider.startDraft("s", secret());
      await provider.extendDraft("s", "secret", 1, MORE);
      subject.nowMicros += 1000;
      await provider.finishDraft("s", "secret", { version: 2 });
      await provider.truncateMessages("s", "m1");
    },
  },
  {
    name: "a draft whose id was taken, and both messages truncated",
    options: { draftTimeoutMs: 0 },
    copies: 2,
    async arrange(provider, subject) {
      const { other } = subject;
      await other.logMessages("s", [message("m2")]);
      await provider.startDraft("s", secret());
      subject.nowMicros += 1000;
      await other.logMessages("s", [message("secret")]);
      await provider.endAbandonedDrafts();
      expect(await history(other, "s")).toHaveLength(4);
      await provider.truncateMessages("s", "m1");
    },
  },
];

/** An erasure finds what is stored, however it left the session. */
export function describeStoredErasures(subject: StorageProviderSubject): void {
  const isStored = async () => (await subject.stored?.())?.includes(SECRET);

  describe("eraseMessage overwrites", () => {
    it.each(STORED_CASES)("$name", async ({ options, copies, arrange }) => {
      const provider = options ? subject.open(options) : subject.provider;
      await sessionWith(provider, "s", ["m1"]);
      await arrange(provider, subject);
      if (subject.stored) expect(await isStored()).toBe(true);
      expect(await subject.other.eraseMessage("s", "secret")).toEqual({ copies });
      if (subject.stored) expect(await isStored()).toBe(false);
      expect(await provider.eraseMessage("s", "secret")).toEqual({ copies });
    });
  });

  it("leaves a draft that is open alone, and says that there is no such message", async () => {
    await sessionWith(subject.provider, "s");
    for (const version of [1, 2]) {
      if (version === 1) await subject.provider.startDraft("s", secret());
      else await subject.provider.extendDraft("s", "secret", 1, MORE);
      await refusal(subject.other.eraseMessage("s", "secret"), "not_found");
      expect(await subject.other.listDrafts("s")).toMatchObject([{ version, message: { parts: [{ type: "text" }] } }]);
    }
  });

  it("leaves an earlier message with the same id alone as long as a fork shows it or could restore it", async () => {
    await sessionWith(subject.provider, "s", ["m1", secret()]);
    await subject.provider.forkConversation("s", "shows", { as: "fork" });
    await subject.provider.forkConversation("s", "restores", { as: "fork" });
    await subject.provider.truncateMessages("restores", "m1", { keepForUnrevert: true });
    await subject.provider.truncateMessages("s", "m1");
    subject.nowMicros += 1000;
    await subject.provider.logMessages("s", [message("secret")]);
    expect(await subject.provider.eraseMessage("s", "secret")).toEqual({ copies: 1 });
    expect(await subject.other.getMessage("shows", "secret")).toMatchObject({ parts: PARTS });
    await subject.provider.deleteSession("shows");
    await subject.provider.eraseMessage("s", "secret");
    await subject.other.restoreMessages("restores");
    expect(await subject.other.getMessage("restores", "secret")).toMatchObject({ parts: PARTS });
  });

  it("leaves nothing in files of what a sweep has cleared away, although it finds no message any more", async () => {
    await sessionWith(subject.provider, "s", ["m1", secret()]);
    await subject.provider.deleteSession("s");
    await sweepAway(subject);
    await refusal(subject.provider.eraseMessage("s", "secret"), "not_found");
    if (subject.stored) expect(await isStored()).toBe(false);
  });
}
