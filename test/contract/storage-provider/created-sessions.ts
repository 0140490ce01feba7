import { describe, expect, it } from "vitest";
import { RootPool } from "../../../src/pool/root-pool.js";
import type { StorageProvider } from "../../../src/storage/storage-provider.js";
import { history, message, numbered, refusal } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** Appends that make their session. The rule is SessionPool's, and it must hold on every store. */
export function describeCreatedSessions(subject: StorageProviderSubject): void {
  const pools = () =>
    [subject.provider, subject.other].map((storage) => new RootPool({ storage: storage as StorageProvider }).sessions);
  const creating = { createSession: true };

  describe("an append that makes its session", () => {
    it("makes the session once, and the same append again gets the same answer", async () => {
      const [one, two] = pools() as [RootPool["sessions"], RootPool["sessions"]];
      const first = await one.appendMessages("s", [message("m1"), message("m2")], creating);
      expect(first).toEqual({ messageIds: ["m1", "m2"], position: 0 });
      expect(await two.appendMessages("s", [message("m1"), message("m2")], creating)).toEqual(first);
      expect(await two.appendMessages("s", [message("m3")], creating)).toMatchObject({ position: 2 });
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2", "m3"]);
      expect((await one.listSessions({ limit: 10 })).sessions).toHaveLength(1);
    });

    it("loses none of many concurrent appends from two processes, and makes one session", async () => {
      const [one, two] = pools() as [RootPool["sessions"], RootPool["sessions"]];
      const ids = numbered(12);
      await Promise.all(ids.map((id, i) => (i % 2 ? one : two).appendMessages("s", [message(id)], creating)));
      expect([...(await history(subject.provider, "s"))].sort()).toEqual([...ids].sort());
      expect((await one.listSessions({ limit: 10 })).sessions).toHaveLength(1);
    });

    it("makes a new session after a delete, and none without the option", async () => {
      const [one, two] = pools() as [RootPool["sessions"], RootPool["sessions"]];
      await one.appendMessages("s", [message("m1")], creating);
      await two.deleteSession("s");
      await refusal(one.appendMessages("s", [message("m2")]), "not_found");
      await one.appendMessages("s", [message("m2")], creating);
      expect(await history(subject.other, "s")).toEqual(["m2"]);
    });

    it("leaves the session, empty, when the append is refused", async () => {
      const [one] = pools() as [RootPool["sessions"]];
      await refusal(one.appendMessages("s", [message("m1")], { ...creating, expectedPosition: 7 }), "aborted");
      expect(await subject.other.getSession("s")).toMatchObject({ messageCount: 0 });
    });

    it("makes no session for a message that is malformed or too far ahead", async () => {
      const [one] = pools() as [RootPool["sessions"]];
      const ahead = message("m1", { timestampMicros: subject.nowMicros + 301_000_000 });
      for (const refused of [ahead, message("m1", { role: "" }), message("..")]) {
        await refusal(one.appendMessages("s", [refused], creating), "invalid_argument");
        await refusal(one.drafts.start("s", refused, creating), "invalid_argument");
      }
      await refusal(subject.other.getSession("s"), "not_found");
    });
  });
}
