import { describe, expect, it } from "vitest";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import type { BackupMessage } from "../../../src/domain/session-image.js";
import { amountText, type Usage, type UsageSums } from "../../../src/domain/usage.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { messageAt, refusal, sessionWith, sweepAway } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** A message whose usage is `tokens` of input and a thousandth of that in dollars. */
function used(id: string, seconds: number, tokens: number, more: Partial<NewChatMessage> = {}): NewChatMessage {
  const usage = { model: "m", inputTokens: tokens, cost: `0.${String(tokens).padStart(4, "0")}`, currency: "USD" };
  return messageAt(id, seconds, { usage, ...more });
}

/** The number of calls, their tokens and their cost. */
function brief(sums: UsageSums | undefined): readonly [number, number, string] | undefined {
  return sums && [sums.calls, sums.inputTokens, amountText(sums.costs.get("USD") ?? 0n)];
}

/** What a session used itself, and what it inherited: in GetSession, LoadSession and lists. */
async function usageOf(provider: StorageOperations, sessionId: string) {
  const session = await provider.getSession(sessionId);
  const { usage, inheritedUsage } = session;
  const loaded = (await provider.loadSession(sessionId, { limit: 1 })).session;
  expect({ usage: loaded.usage, inheritedUsage: loaded.inheritedUsage }).toEqual({ usage, inheritedUsage });
  const { sessions } = await provider.listSessions({ parentId: "", limit: 100, view: "full" });
  const listed = sessions.find((one) => one.sessionId === sessionId);
  expect({ usage: listed?.usage, inheritedUsage: listed?.inheritedUsage }).toEqual({ usage, inheritedUsage });
  return [brief(usage), brief(inheritedUsage)];
}

const NOTHING = [0, 0, "0"] as const;

export function describeUsage(subject: StorageProviderSubject): void {
  describe("usage", () => {
    const FULL: Required<Usage> = {
      model: "m",
      provider: "p",
      inputTokens: 0,
      outputTokens: 2,
      cachedInputTokens: 3,
      reasoningTokens: 4,
      cost: "0.10",
      currency: "EUR",
      startTimeMicros: 5,
      firstTokenTimeMicros: 6,
      durationMicros: 7,
    };

    it("is shown with the message wherever that is read", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1), messageAt("m2", 2, { usage: FULL })]);
      const { other } = subject;
      expect((await other.getMessage("s", "m2"))?.usage).toEqual(FULL);
      expect((await other.getMessage("s", "m1"))?.usage).toBeUndefined();
      expect((await other.listMessages("s", { limit: 9 })).messages.map(({ usage }) => usage)).toEqual([
        undefined,
        FULL,
      ]);
      const { sessions } = await other.listSessions({ parentId: "", limit: 1, view: "full" });
      expect(sessions[0]?.lastMessage?.usage).toEqual(FULL);
    });

    it("stands beside the error of a failed call in the preview of the last message", async () => {
      const data = {
        tool: "bash",
        callID: "c",
        state: { status: "error", input: {}, error: `boom${"!".repeat(300)}` },
      };
      await sessionWith(subject.provider, "s", [
        messageAt("m1", 1, { parts: [{ id: "", type: "tool", text: "", data }] }),
      ]);
      const preview = async () =>
        (await subject.other.listSessions({ parentId: "", limit: 1, view: "full" })).sessions[0]?.lastMessage;
      expect((await preview())?.error).toMatch(/^boom!{100,196}/);
      expect((await preview())?.error?.length).toBeLessThanOrEqual(200);
      await subject.provider.logMessages("s", [messageAt("m2", 2)]);
      expect((await preview())?.error).toBeUndefined();
    });

    it("is content: a repeated append needs the same, and nothing equals one that says nothing", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 1, { usage: {} }), used("m2", 2, 1)]);
      await subject.provider.logMessages("s", [messageAt("m1", 1), used("m2", 2, 1)]);
      for (const again of [used("m1", 1, 1), used("m2", 2, 2), messageAt("m2", 2)]) {
        await refusal(subject.other.logMessages("s", [again]), "already_exists");
      }
      expect(await usageOf(subject.other, "s")).toEqual([[1, 1, "0.0001"], NOTHING]);
    });

    it("is summed up over what is shown, through every kind of edit", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", [messageAt("m0", 0)]);
      expect(await usageOf(other, "s")).toEqual([undefined, undefined]);
      await provider.logMessages("s", [used("m1", 1, 1), messageAt("m2", 2), used("m3", 3, 10)]);
      await other.logMessages("s", [used("m4", 4, 100)]);
      expect(await usageOf(provider, "s")).toEqual([[3, 111, "0.0111"], NOTHING]);
      await provider.updateMessage("s", "m3", { usage: { inputTokens: 20 } });
      expect(await usageOf(other, "s")).toEqual([[3, 121, "0.0101"], NOTHING]);
      await other.logMessages("s", [used("old", 0.5, 1000)]);
      expect(await usageOf(provider, "s")).toEqual([[4, 1121, "0.1101"], NOTHING]);
      await provider.truncateMessages("s", "m3", { keepForUnrevert: true });
      expect(await usageOf(other, "s")).toEqual([[3, 1021, "0.1001"], NOTHING]);
      await provider.restoreMessages("s");
      expect(await usageOf(other, "s")).toEqual([[4, 1121, "0.1101"], NOTHING]);
      await provider.deleteMessage("s", "old");
      await provider.deleteMessage("s", "m1");
      expect(await usageOf(other, "s")).toEqual([[2, 120, "0.01"], NOTHING]);
      await provider.updateMessage("s", "m4", { usage: {} });
      expect((await other.getMessage("s", "m4"))?.usage).toBeUndefined();
      expect(await usageOf(other, "s")).toEqual([[1, 20, "0"], NOTHING]);
      await sweepAway(subject);
      await other.logMessages("s", [used("m5", 5, 5)]);
      expect(await usageOf(provider, "s")).toEqual([[2, 25, "0.0005"], NOTHING]);
    });

    it("an update that changes nothing of it is none", async () => {
      await sessionWith(subject.provider, "s", [used("m1", 1, 1)]);
      const { revision } = await subject.provider.getSession("s");
      await subject.provider.updateMessage("s", "m1", { usage: used("", 0, 1).usage });
      expect((await subject.provider.getSession("s")).revision).toBe(revision);
    });

    it("a fork counts what it inherited apart, and nothing twice", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "a", [used("m1", 1, 1), used("m2", 2, 10)]);
      await provider.forkConversation("a", "b", { as: "fork" });
      await provider.logMessages("b", [used("m3", 3, 100)]);
      await provider.forkConversation("b", "c", { as: "fork", upToMessageId: "m3" });
      await provider.updateMessage("c", "m1", { usage: { inputTokens: 2 } });
      expect(await usageOf(other, "a")).toEqual([[2, 11, "0.0011"], NOTHING]);
      expect(await usageOf(other, "b")).toEqual([
        [1, 100, "0.01"],
        [2, 11, "0.0011"],
      ]);
      expect(await usageOf(other, "c")).toEqual([NOTHING, [3, 112, "0.011"]]);
      // Copied back, messages are again those of the session that they were first written to.
      await provider.truncateMessages("a", null, {});
      await provider.forkConversation("c", "a", { as: "copy" });
      expect(await usageOf(other, "a")).toEqual([
        [2, 12, "0.001"],
        [1, 100, "0.01"],
      ]);
    });

    it("copies from many sessions are told apart, also by the one that they came from", async () => {
      const { provider, other } = subject;
      const names = Array.from({ length: 10 }, (_, i) => `from ${i}`);
      await sessionWith(provider, "all");
      for (const [i, name] of names.entries()) {
        await sessionWith(provider, name, [used(`m${i}`, i, i + 1)]);
        await provider.forkConversation(name, "all", { as: "copy" });
      }
      // Merged into one log, whose entries hold the sums of eight of these sessions apart.
      await provider.forkConversation("all", "merged", { as: "fork" });
      await sessionWith(provider, "target");
      await provider.forkConversation("merged", "target", { as: "copy" });
      expect(await usageOf(other, "target")).toEqual([NOTHING, [10, 55, "0.0055"]]);
      for (const [i, name] of names.entries()) {
        await provider.deleteSession(name);
        await provider.forkConversation("target", name, { as: "fork" });
        const own = [1, i + 1, amountText(BigInt(i + 1) * 10n ** 14n)];
        expect((await usageOf(other, name))[0]).toEqual(own);
      }
    });

    it("a draft has that of its start until its end says another", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s");
      for (const [id, usage] of [
        ["d1", undefined],
        ["d2", { outputTokens: 7 }],
      ] as const) {
        const { version } = await provider.startDraft("s", messageAt(id, 1, { usage: { outputTokens: 3 } }), {});
        expect((await other.listDrafts("s"))[0]?.message.usage?.outputTokens).toBe(3);
        const options = { version, usage };
        await provider.finishDraft("s", id, options);
        await other.finishDraft("s", id, options);
        expect((await other.getMessage("s", id))?.usage?.outputTokens).toBe(usage ? 7 : 3);
      }
      const another = { version: 1, usage: { outputTokens: 8 } };
      await refusal(provider.finishDraft("s", "d2", another), "failed_precondition");
      expect((await other.getSession("s")).usage).toMatchObject({ calls: 2, outputTokens: 10 });
    });

    it("an erasure keeps the numbers and removes the texts", async () => {
      const { provider, other } = subject;
      const usage = { ...FULL, model: "secret-model", provider: "secret-provider" };
      await sessionWith(provider, "s", [
        messageAt("m1", 1, { usage }),
        messageAt("m2", 2, { usage: { model: "secret-alone" } }),
      ]);
      await provider.forkConversation("s", "f", { as: "fork" });
      const before = await other.getSession("s");
      await provider.eraseMessage("s", "m1");
      await provider.eraseMessage("s", "m2");
      const { model: _model, provider: _provider, ...numbers } = FULL;
      expect((await other.getMessage("f", "m1"))?.usage).toEqual(expect.objectContaining(numbers));
      expect((await other.getMessage("f", "m1"))?.usage?.model).toBeUndefined();
      expect((await other.getMessage("s", "m2"))?.usage?.model).toBe("erased");
      expect((await other.getSession("s")).usage).toEqual(before.usage);
      expect((await other.getSession("f")).inheritedUsage).toEqual(before.usage);
      await sweepAway(subject);
      if (subject.stored) expect(await subject.stored()).not.toContain("secret");
      await provider.eraseMessage("s", "m1");
    });

    it("a restored session has the sums of its messages", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "s", [used("m1", 1, 1), messageAt("m2", 2), used("m3", 3, 10)]);
      await provider.forkConversation("s", "f", { as: "fork" });
      await provider.logMessages("f", [used("m4", 4, 100)]);
      const snapshot = await provider.snapshotSession("f");
      if (!snapshot) return expect.unreachable();
      const stored: BackupMessage[] = [];
      for (const range of snapshot.messages) stored.push(...(await provider.readStored(snapshot, range)));
      await provider.deleteSession("f");
      const image = { ...snapshot, origin: null, undo: null, messages: [{ first: 1, last: stored.length }] };
      await provider.restoreSession({ ...image, ancestry: [] }, async function* ({ first, last }) {
        for (let i = first; i <= last; i++) yield stored.slice(i - 1, i);
      });
      expect(await usageOf(other, "f")).toEqual([
        [1, 100, "0.01"],
        [2, 11, "0.0011"],
      ]);
    });
  });
}
