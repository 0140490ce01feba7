import { describe, expect, it } from "vitest";
import type { Call } from "../../../src/domain/call.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { history, message, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const CHANGES: readonly (readonly [string, (provider: StorageOperations, call: Call) => Promise<unknown>])[] = [
  ["createSession", (provider, call) => provider.createSession({ sessionId: "new" }, call)],
  ["updateSession", (provider, call) => provider.updateSession("s", { title: "t" }, call)],
  ["deleteSession", (provider, call) => provider.deleteSession("s", call)],
  ["logMessages", (provider, call) => provider.logMessages("s", [message("x")], call)],
  ["forkConversation", (provider, call) => provider.forkConversation("s", "new", { as: "fork", ...call })],
  ["truncateMessages", (provider, call) => provider.truncateMessages("s", "m1", call)],
  ["restoreMessages", (provider, call) => provider.restoreMessages("s", call)],
];

export function describeCalls(subject: StorageProviderSubject): void {
  describe("a call that has ended", () => {
    const make = async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2", "m3"]);
      await subject.provider.truncateMessages("s", "m2", { keepForUnrevert: true });
    };

    it.each(CHANGES)("is refused by %s, which changes nothing", async (_, change) => {
      await make();
      const before = await subject.provider.getSession("s");
      await refusal(change(subject.provider, { deadlineMs: Date.now() - 1 }), "deadline_exceeded");
      await refusal(change(subject.other, { signal: AbortSignal.abort() }), "canceled");
      expect(await subject.other.getSession("s")).toEqual(before);
      expect(await history(subject.other, "s")).toEqual(["m1", "m2"]);
      await refusal(subject.other.getSession("new"), "not_found");
    });

    it("does not prevent the next call from working", async () => {
      await make();
      for (const [, change] of CHANGES) {
        await refusal(change(subject.provider, { signal: AbortSignal.abort() }), "canceled");
      }
      expect(await subject.provider.logMessages("s", [message("m3")])).toMatchObject({ position: 2 });
    });

    it("has no effect while its deadline is still ahead", async () => {
      await make();
      const call = { deadlineMs: Date.now() + 60_000, signal: new AbortController().signal };
      await subject.provider.logMessages("s", [message("x")], call);
      expect(await subject.provider.getSessionMessages("s", call)).toHaveLength(3);
    });
  });

  describe("ping", () => {
    it("resolves while the store answers", async () => {
      await expect(subject.provider.ping()).resolves.toBeUndefined();
    });
  });
}
