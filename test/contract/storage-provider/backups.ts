import { describe, expect, it } from "vitest";
import { MessageBody } from "../../../src/domain/message-body.js";
import type { BackupMessage, RestoredImage, SessionSnapshot } from "../../../src/domain/session-image.js";
import { history, idsOf, message, messages, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** The operations that export and import are built on. */
export function describeBackups(subject: StorageProviderSubject): void {
  const snapshotOf = async (sessionId: string): Promise<SessionSnapshot> => {
    const snapshot = await subject.provider.snapshotSession(sessionId);
    return snapshot ?? expect.unreachable(`there is no session ${sessionId}`);
  };
  const readAll = async (snapshot: SessionSnapshot, ranges: SessionSnapshot["messages"]): Promise<BackupMessage[]> => {
    const all: BackupMessage[] = [];
    for (const range of ranges) {
      for (let first = range.first; first <= range.last; ) {
        const some = await subject.provider.readStored(snapshot, { ...range, first });
        all.push(...some);
        first += some.length;
      }
    }
    return all;
  };

  describe("scanSessions", () => {
    it("lists every living session exactly once, however few at a time", async () => {
      const ids = ["a", "b", "c", "d", "e"];
      for (const id of ids) await sessionWith(subject.provider, id, ["m"]);
      await subject.provider.deleteSession("c");
      const found: string[] = [];
      for (let after: string | undefined = ""; after !== undefined; ) {
        const page: Awaited<ReturnType<typeof subject.provider.scanSessions>> = await subject.provider.scanSessions(
          after,
          2,
        );
        found.push(...page.keys.map(({ sessionId }) => sessionId));
        after = page.next;
      }
      expect(found.sort()).toEqual(["a", "b", "d", "e"]);
    });
  });

  describe("snapshotSession", () => {
    it("shows the session at one moment, whatever happens afterwards", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2", "m3"]);
      const snapshot = await snapshotOf("s");
      await subject.other.truncateMessages("s", "m1");
      await subject.other.logMessages("s", messages("m4"));
      expect((await readAll(snapshot, snapshot.messages)).map(({ id }) => id)).toEqual(["m1", "m2", "m3"]);
    });

    it("holds the messages that a revert removed, until an append", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      await subject.provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      const reverted = await snapshotOf("s");
      expect((await readAll(reverted, reverted.undo ?? [])).map(({ id }) => id)).toEqual(["m1", "m2"]);
      await subject.provider.logMessages("s", messages("m3"));
      expect((await snapshotOf("s")).undo).toBeNull();
    });

    it("holds labels and the time of expiry", async () => {
      const expireTimeMicros = Date.UTC(2200, 0, 1) * 1000;
      await subject.provider.createSession({ sessionId: "s", labels: { b: "2", a: "1" }, expireTimeMicros });
      expect(await snapshotOf("s")).toMatchObject({ labels: { a: "1", b: "2" }, expireTimeMicros });
    });

    it("is null for a missing session", async () => {
      expect(await subject.provider.snapshotSession("nobody")).toBeNull();
    });
  });

  describe("restoreSession", () => {
    it("brings back fields, shared and own messages, ancestry and undo, and the session can be used", async () => {
      await sessionWith(subject.provider, "source", ["m1", "m2"]);
      const [range] = (await snapshotOf("source")).messages;
      const shared = { ...(range as SessionSnapshot["messages"][number]), ownerId: "source" };
      const image: RestoredImage = {
        sessionId: "s",
        parentId: "source",
        forkPointId: "m2",
        inheritedCount: 2,
        title: "T",
        metadata: { a: [1] },
        labels: { user: "ada" },
        expireTimeMicros: Date.UTC(2200, 0, 1) * 1000,
        createTimeMicros: 1_000_000,
        updateTimeMicros: 2_000_000,
        revision: 7,
        origin: { kind: "fork", sourceSessionId: "source", upToMessageId: "m2", sourceLives: true },
        ancestry: [{ sessionId: "gone", ranges: [{ first: 1, last: 1 }] }],
        messages: [shared],
        undo: [shared, { first: 2, last: 3 }],
      };
      const late = subject.nowMicros + 5;
      const written = [1, 2, 3].map(
        (i): BackupMessage => ({
          role: "user",
          body: MessageBody.of(message(`n${i}`)),
          id: `n${i}`,
          timestampMicros: late + i,
          originSessionId: "gone",
        }),
      );
      const outcome = await subject.provider.restoreSession(image, async function* ({ first, last }) {
        yield written.slice(first - 1, last);
      });
      expect(outcome.kind).toBe("restored");
      await subject.provider.deleteSession("source");
      const { other } = subject;
      expect(await other.getSession("s")).toMatchObject({
        parentId: "source",
        forkPointId: "m2",
        inheritedCount: 2,
        title: "T",
        metadata: { a: [1] },
        labels: { user: "ada" },
        expireTimeMicros: Date.UTC(2200, 0, 1) * 1000,
        createTimeMicros: 1_000_000,
        // A session is never updated long before its last message.
        updateTimeMicros: subject.nowMicros - 3_600_000_000,
        revision: 7,
        reverted: true,
        messageCount: 2,
      });
      const { sessions } = await other.listSessions({ parentId: "", labels: ["user=ada"], limit: 10 });
      expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["s"]);
      expect(idsOf(await other.getSessionMessages("s", { includeAncestors: true }))).toEqual(["n1", "m1", "m2"]);
      expect(await other.restoreMessages("s")).toBe(2);
      expect(await history(other, "s")).toEqual(["m1", "m2", "n2", "n3"]);
      await other.logMessages("s", messages("after"));
      expect(await history(subject.provider, "s")).toEqual(["m1", "m2", "n2", "n3", "after"]);
      expect((await other.getMessage("s", "n2"))?.originSessionId).toBe("gone");
    });
  });
}
