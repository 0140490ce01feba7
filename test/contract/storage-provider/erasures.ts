import { describe, expect, it } from "vitest";
import { ERASED_PARTS } from "../../../src/domain/erasure.js";
import { history, message, messageAt, messages, refusal, SECOND, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

export function describeErasures(subject: StorageProviderSubject): void {
  const secret = (given = {}) => message("secret", { metadata: { from: "a.b" }, ...given });
  const shown = async (sessionId: string, id = "secret") => {
    const found = await subject.other.getMessage(sessionId, id);
    return found && { parts: found.parts, metadata: found.metadata };
  };
  const erased = { parts: ERASED_PARTS, metadata: undefined };

  describe("eraseMessage", () => {
    it("overwrites parts and metadata, and keeps everything else of the message", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret(), "m3"]);
      const before = await subject.provider.getMessage("s", "secret");
      expect(await subject.provider.eraseMessage("s", "secret")).toEqual({ copies: 1 });
      expect(await subject.other.getMessage("s", "secret")).toEqual({ ...before, ...erased });
      expect(await history(subject.other, "s")).toEqual(["m1", "secret", "m3"]);
      expect(await shown("s", "m1")).toMatchObject({ parts: message("m1").parts });
      expect(await subject.other.getMessageCount("s")).toBe(3);
    });

    it("gives the same answer again, and changes nothing more", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await subject.provider.eraseMessage("s", "secret");
      const { revision } = await subject.provider.getSession("s");
      expect(await subject.other.eraseMessage("s", "secret")).toEqual({ copies: 1 });
      expect(await subject.provider.getSession("s")).toMatchObject({ revision });
      expect(await shown("s")).toEqual(erased);
    });

    it("finishes one that was interrupted, although the message had been updated before", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      const { revision } = await subject.provider.getSession("s");
      await subject.provider.updateMessage("s", "secret", { parts: message("other").parts });
      const stopped = new AbortController();
      const interrupted = { signal: stopped.signal, onProgress: () => stopped.abort() };
      await refusal(subject.provider.eraseMessage("s", "secret", interrupted), "canceled");
      await subject.other.eraseMessage("s", "secret");
      expect(await shown("s")).toEqual(erased);
      expect(await subject.provider.getSession("s")).toMatchObject({ revision: revision + 2 });
      await subject.other.eraseMessage("s", "secret");
      expect(await subject.provider.getSession("s")).toMatchObject({ revision: revision + 2 });
    });

    it("finishes one that was interrupted, although another message was erased at the same position", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await subject.provider.eraseMessage("s", "m1");
      await subject.provider.deleteMessage("s", "m1");
      const { revision } = await subject.provider.getSession("s");
      const stopped = new AbortController();
      const interrupted = { signal: stopped.signal, onProgress: () => stopped.abort() };
      await refusal(subject.provider.eraseMessage("s", "secret", interrupted), "canceled");
      await subject.other.eraseMessage("s", "secret");
      expect(await subject.provider.getSession("s")).toMatchObject({ revision: revision + 1 });
    });

    it("reaches forks, forks of forks and shares, whichever of them is named", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret(), "m3"]);
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.forkConversation("fork", "grandchild", { as: "fork", upToMessageId: "secret" });
      await subject.provider.forkConversation("s", "share", { as: "share" });
      await subject.provider.deleteSession("s");
      await subject.provider.eraseMessage("grandchild", "secret");
      for (const sessionId of ["fork", "grandchild", "share"]) expect(await shown(sessionId)).toEqual(erased);
      expect(await shown("fork", "m3")).toMatchObject({ parts: message("m3").parts });
    });

    it("reaches copies that were merged into other sessions", async () => {
      await sessionWith(subject.provider, "s", [messageAt("m1", 10), secret({ timestampMicros: subject.nowMicros })]);
      await sessionWith(subject.provider, "full", [messageAt("t1", 5), messageAt("t2", 15)]);
      await sessionWith(subject.provider, "empty");
      await subject.provider.forkConversation("s", "full", { as: "copy" });
      await subject.provider.forkConversation("full", "empty", { as: "copy" });
      expect(await subject.provider.eraseMessage("empty", "secret")).toEqual({ copies: 3 });
      for (const sessionId of ["s", "full", "empty"]) expect(await shown(sessionId)).toEqual(erased);
    });

    it("reaches copies that were made of many segments", async () => {
      const provider = subject.open({ maxSegments: 4, mergeSegments: 3 });
      await sessionWith(provider, "s", [messageAt("first", 0), messageAt("last", 100)]);
      for (let i = 1; i <= 8; i++) await provider.logMessages("s", [messageAt(`m${i}`, 100 - 10 * i)]);
      await provider.logMessages("s", [messageAt("secret", 45)]);
      for (let i = 1; i <= 8; i++) await provider.logMessages("s", [messageAt(`n${i}`, 99 - 10 * i)]);
      await provider.eraseMessage("s", "secret");
      expect(await shown("s")).toEqual(erased);
    });

    it("reaches messages that a revert removed, which stay erased when they come back", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret(), "m3"]);
      await subject.provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      expect(await subject.provider.eraseMessage("s", "secret")).toEqual({ copies: 1 });
      expect(await subject.provider.restoreMessages("s")).toBe(2);
      expect(await shown("s")).toEqual(erased);
    });

    it("reaches messages that a truncate has removed, as long as they are stored", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.truncateMessages("s", "m1");
      expect(await subject.provider.eraseMessage("s", "secret")).toEqual({ copies: 1 });
      expect(await shown("fork")).toEqual(erased);
    });

    it("leaves other messages with the same id alone", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await sessionWith(subject.provider, "t", [secret()]);
      await subject.provider.eraseMessage("s", "secret");
      expect(await shown("t")).toMatchObject({ metadata: { from: "a.b" } });
    });

    it("erases the message that has the id now, not one that had it before", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.truncateMessages("s", "m1");
      subject.nowMicros += 1000;
      await subject.provider.logMessages("s", [secret({ role: "tool" })]);
      await subject.provider.eraseMessage("s", "secret");
      expect(await shown("s")).toEqual(erased);
      expect(await shown("fork")).toMatchObject({ metadata: { from: "a.b" } });
    });

    it("gives every session that shows the message a new revision but no new time, and no other", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await subject.provider.forkConversation("s", "with", { as: "fork" });
      await subject.provider.forkConversation("s", "without", { as: "fork", upToMessageId: "m1" });
      const revisions = async () => {
        const found = await Promise.all(["s", "with", "without"].map((id) => subject.other.getSession(id)));
        return found.map(({ revision }) => revision);
      };
      const [s = 0, withIt = 0, without = 0] = await revisions();
      const { updateTimeMicros } = await subject.other.getSession("s");
      subject.nowMicros += SECOND;
      await subject.provider.eraseMessage("s", "secret");
      expect(await revisions()).toEqual([s + 1, withIt + 1, without]);
      expect(await subject.other.getSession("s")).toMatchObject({ updateTimeMicros });
    });

    it("keeps an undo unchanged", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret(), "m3"]);
      await subject.provider.truncateMessages("s", "secret", { keepForUnrevert: true });
      await subject.provider.eraseMessage("s", "secret");
      expect(await subject.provider.restoreMessages("s")).toBe(1);
      expect(await history(subject.other, "s")).toEqual(["m1", "secret", "m3"]);
    });

    it("lets appends continue, and refuses a retry of the erased one", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await subject.provider.eraseMessage("s", "secret");
      await refusal(subject.provider.logMessages("s", [secret()]), "already_exists");
      expect(await subject.provider.logMessages("s", messages("m3"))).toMatchObject({ position: 2 });
      await subject.other.logMessages("s", [messageAt("m0", -5)]);
      expect(await history(subject.other, "s")).toEqual(["m0", "m1", "secret", "m3"]);
    });

    it("carries over to copies made afterwards", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret()]);
      await sessionWith(subject.provider, "t", ["t1"]);
      await subject.provider.eraseMessage("s", "secret");
      await subject.provider.forkConversation("s", "fork", { as: "fork" });
      await subject.provider.forkConversation("s", "t", { as: "copy" });
      for (const sessionId of ["fork", "t"]) expect(await shown(sessionId)).toEqual(erased);
    });

    it("refuses unknown sessions and messages", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await refusal(subject.provider.eraseMessage("s", "nobody"), "not_found");
      await refusal(subject.provider.eraseMessage("nobody", "m1"), "not_found");
    });

    it("reports its progress, round by round", async () => {
      await sessionWith(subject.provider, "s", [secret()]);
      await sessionWith(subject.provider, "t", ["m1"]);
      const told: unknown[] = [];
      await subject.provider.eraseMessage("s", "secret", { onProgress: (progress) => told.push(progress) });
      expect(told).toEqual([1, 2, 3].map((round) => ({ round, sessions: 2, copies: 1 })));
    });
  });

  describe("a follower of a session whose message is erased", () => {
    it("gets the erased message as an update", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret(), "m3"]);
      const ending = new AbortController();
      const events = await subject.other.followMessages("s", 0, { signal: ending.signal });
      const told: string[] = [];
      for await (const event of events) {
        const message = event.kind === "appended" || event.kind === "updated" ? event.message : undefined;
        told.push(`${event.kind} ${message?.id} ${message?.parts[0]?.type}`);
        if (told.length === 3) await subject.provider.eraseMessage("s", "secret");
        if (told.length === 4) break;
      }
      ending.abort();
      expect(told).toEqual(["appended m1 text", "appended secret text", "appended m3 text", "updated secret erased"]);
    });

    it("does not get the old content when it resumes or has not read it yet", async () => {
      await sessionWith(subject.provider, "s", ["m1", secret(), "m3"]);
      const ending = new AbortController();
      const events = await subject.provider.followMessages("s", 0, { signal: ending.signal });
      const { value: first } = await events[Symbol.asyncIterator]().next();
      await subject.other.eraseMessage("s", "secret");
      for (const from of [first.at, 0]) {
        const told: string[] = [];
        for await (const event of await subject.other.followMessages("s", from, { signal: ending.signal })) {
          told.push(event.kind === "appended" ? `${event.message.id} ${event.message.parts[0]?.type}` : event.kind);
          if (told.at(-1) === "m3 text") break;
        }
        expect(told.slice(-2)).toEqual(["secret erased", "m3 text"]);
        expect(told.join()).not.toContain("secret text");
      }
      ending.abort();
    });
  });
}
