import { describe, expect, it } from "vitest";
import type { TurnAppend } from "../../../src/storage/storage-provider.js";
import { history, message, messageAt, messages, numbered, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeTurns(subject: StorageProviderSubject): void {
  describe("logTurn", () => {
    it("stores all appends in their order and gives each its outcome", async () => {
      await sessionWith(subject.provider, "s", ["m0"]);
      const outcomes = await subject.provider.logTurn("s", [
        append("m1"),
        append("m2", "m3"),
        { messages: [message("m4")], options: { expectedPosition: 4 } },
      ]);
      expect(outcomes).toEqual([
        { ok: true, result: { messageIds: ["m1"], position: 1 } },
        { ok: true, result: { messageIds: ["m2", "m3"], position: 2 } },
        { ok: true, result: { messageIds: ["m4"], position: 4 } },
      ]);
      expect(await history(subject.other, "s")).toEqual(["m0", "m1", "m2", "m3", "m4"]);
    });

    it("does not affect the others when one is refused", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m0", 0)]);
      const outcomes = await subject.provider.logTurn("s", [
        append("m1"),
        { messages: [message("m0", { role: "assistant" })] },
        { messages: [message("x")], options: { expectedPosition: 0 } },
        append("y", "y"),
        { messages: [messageAt("z", 301)] },
        append("m2"),
      ]);
      expect(outcomes.map((outcome) => (outcome.ok ? outcome.result.position : outcome.error))).toMatchObject([
        1,
        { code: "already_exists" },
        { code: "aborted" },
        { code: "invalid_argument" },
        { code: "invalid_argument" },
        2,
      ]);
      expect(await history(subject.other, "s")).toEqual(["m0", "m1", "m2"]);
    });

    it("stores a repetition within the turn once", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const outcomes = await subject.provider.logTurn("s", [
        append("m1"),
        append("m1"),
        { messages: [message("m1", { role: "assistant" })] },
      ]);
      expect(outcomes).toMatchObject([
        { ok: true, result: { position: 0 } },
        { ok: true, result: { position: 0 } },
        { ok: false, error: { code: "already_exists" } },
      ]);
      expect(await history(subject.provider, "s")).toEqual(["m1"]);
    });

    it("puts older messages in their places, beside appends at the end", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), messageAt("m2", 20)]);
      const outcomes = await subject.provider.logTurn("s", [
        { messages: [messageAt("a", 30)] },
        { messages: [messageAt("b", 5)] },
        { messages: [messageAt("c", 40)] },
      ]);
      expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, true]);
      expect(await history(subject.other, "s")).toEqual(["b", "m1", "m2", "a", "c"]);
    });

    it("refuses each append to an unknown session", async () => {
      const outcomes = await subject.provider.logTurn("nobody", [append("m1"), append("m2")]);
      expect(outcomes).toMatchObject([
        { ok: false, error: { code: "not_found" } },
        { ok: false, error: { code: "not_found" } },
      ]);
    });

    it("leaves out an append whose own call has ended", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const [gone, stays] = await subject.provider.logTurn("s", [
        { messages: [message("m1")], options: { signal: AbortSignal.abort() } },
        append("m2"),
      ]);
      expect(gone).toMatchObject({ ok: false, error: { code: "canceled" } });
      expect(stays).toMatchObject({ ok: true });
      expect(await history(subject.other, "s")).toEqual(["m2"]);
    });

    it("stores turns of several providers at once, each message once", async () => {
      await subject.provider.createSession({ sessionId: "s" });
      const turns = async (provider: typeof subject.provider, prefix: string) => {
        for (let i = 0; i < 5; i++) {
          const ids = numbered(6, `${prefix}${i}.`);
          const outcomes = await provider.logTurn("s", [append(...ids.slice(0, 1)), append(...ids.slice(1))]);
          for (const outcome of outcomes) expect(outcome).toMatchObject({ ok: true });
        }
      };
      await Promise.all([turns(subject.provider, "a"), turns(subject.other, "b")]);
      const ids = await history(subject.provider, "s");
      expect(new Set(ids).size).toBe(60);
      const own = ids.filter((id) => id.startsWith("a"));
      expect(own).toEqual([0, 1, 2, 3, 4].flatMap((i) => numbered(6, `a${i}.`)));
      await refusal(subject.provider.logMessages("s", [message("a0.1", { role: "tool" })]), "already_exists");
    });
  });
}

function append(...ids: readonly string[]): TurnAppend {
  return { messages: messages(...ids) };
}
