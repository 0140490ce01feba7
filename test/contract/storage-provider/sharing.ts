import { describe, expect, it } from "vitest";
import { history, message, messages, numbered, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeSharing(subject: StorageProviderSubject): void {
  const share = (source: string, target: string) => subject.provider.forkConversation(source, target, { as: "share" });

  describe("forkConversation as share", () => {
    it("makes a session with a copy of all messages", async () => {
      await subject.provider.createSession({ sessionId: "s", title: "t", metadata: { a: 1 } });
      await subject.provider.logMessages("s", messages("m1", "m2"));
      const result = await share("s", "shared");
      expect(result).toMatchObject({ forkPointId: "m2", copiedCount: 2 });
      expect(result.session).toMatchObject({ parentId: "s", title: "t", metadata: { a: 1 }, inheritedCount: 2 });
      expect(await history(subject.other, "shared")).toEqual(["m1", "m2"]);
    });

    it("is a snapshot, in which later changes of the source do not show", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      await share("s", "shared");
      await subject.provider.logMessages("s", [message("m3")]);
      await subject.other.truncateMessages("s", "m1");
      await subject.provider.deleteSession("s");
      expect(await history(subject.provider, "shared")).toEqual(["m1", "m2"]);
    });

    it("is returned to a retry, but not to a fork with its id", async () => {
      await sessionWith(subject.provider, "s", numbered(2));
      const first = await share("s", "shared");
      await subject.provider.logMessages("s", [message("m3")]);
      expect(await share("s", "shared")).toEqual(first);
      await refusal(subject.provider.forkConversation("s", "shared", { as: "fork" }), "already_exists");
    });

    it("can be forked and shared again and again", async () => {
      await sessionWith(subject.provider, "s0", ["m0"]);
      for (let i = 1; i <= 6; i++) {
        await subject.provider.forkConversation(`s${i - 1}`, `s${i}`, { as: i % 2 ? "share" : "fork" });
        await subject.other.logMessages(`s${i}`, [message(`m${i}`)]);
      }
      for (let i = 0; i < 6; i++) await subject.provider.deleteSession(`s${i}`);
      expect(await history(subject.provider, "s6")).toEqual(["m0", ...numbered(6)]);
    });

    it("refuses an unknown source", async () => {
      await refusal(share("nobody", "shared"), "not_found");
    });
  });
}
