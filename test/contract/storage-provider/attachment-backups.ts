import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import { MessageBody } from "../../../src/domain/message-body.js";
import type {
  BackupAttachment,
  BackupMessage,
  RestoredImage,
  RestoreOutcome,
  SessionSnapshot,
  SharedAttachment,
} from "../../../src/domain/session-image.js";
import { bytesOf, showing } from "./attachments.js";
import { message, refusal, sessionWith, sweepAway } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const EMPTY = { parentId: "", forkPointId: "", inheritedCount: 0, title: "", revision: 1, origin: null } as const;
const TIMES = { createTimeMicros: 1, updateTimeMicros: 1 };

/** Attachments on their way to a backup and back. */
export function describeAttachmentBackups(subject: StorageProviderSubject): void {
  const upload = (attachmentId: string, bytes: Uint8Array, sessionId = "s") =>
    subject.provider.uploadAttachment(sessionId, { attachmentId, name: "ä.bin" }, inPieces(bytes));
  const snapshotOf = async (sessionId: string): Promise<SessionSnapshot> =>
    (await subject.provider.snapshotSession(sessionId)) ?? expect.unreachable(`there is no session ${sessionId}`);
  const namedIn = async (snapshot: SessionSnapshot): Promise<string[]> => {
    const ranges = [...snapshot.messages, ...(snapshot.undo ?? [])];
    const messages = await Promise.all(ranges.map((range) => subject.provider.readStored(snapshot, range)));
    return messages.flat().flatMap(({ body }) => body.attachments.map(({ log }) => log));
  };
  const restore = (
    image: Pick<RestoredImage, "sessionId" | "messages"> & Partial<RestoredImage>,
    ...messages: readonly BackupMessage[]
  ): Promise<RestoreOutcome> =>
    subject.provider.restoreSession(
      { ...EMPTY, ...TIMES, ancestry: [], undo: null, ...image },
      async function* ({ first, last }) {
        yield messages.slice(first - 1, last);
      },
    );
  const isRepaired = async () => {
    const report = await subject.open({ sweepAgeMs: 0 }).sweep({ repair: true });
    expect(report).toMatchObject({ repairedForks: 0, orphans: 0 });
  };

  const needsAttachments = () =>
    beforeEach((context) => {
      if (!subject.attaches) context.skip("the store keeps no attachments");
    });

  describe("readStoredAttachment", () => {
    needsAttachments();

    it("reads what messages name, in pieces, also what an unrevert would bring back", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const bytes = pattern(600_000);
      await upload("a", bytes);
      await upload("b", Buffer.alloc(0));
      await subject.provider.logMessages("s", [showing("m2", "a"), showing("m3", "b")]);
      await subject.provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      const snapshot = await snapshotOf("s");
      const [a = "", b = ""] = await namedIn(snapshot);
      const content = await subject.other.readStoredAttachment(snapshot, a);
      expect(content?.attachment).toMatchObject({ attachmentId: "a", name: "ä.bin", size: 600_000 });
      expect((await joined(content?.pieces)).equals(bytes)).toBe(true);
      expect(await joined((await subject.other.readStoredAttachment(snapshot, b))?.pieces)).toHaveLength(0);
    });

    it("is aborted once the session was cleared away", async () => {
      await sessionWith(subject.provider, "s");
      await upload("a", pattern(600_000));
      await subject.provider.logMessages("s", [showing("m", "a")]);
      const snapshot = await snapshotOf("s");
      const [log = ""] = await namedIn(snapshot);
      const begun = await subject.provider.readStoredAttachment(snapshot, log);
      await subject.provider.deleteSession("s");
      await sweepAway(subject);
      await refusal(joined(begun?.pieces), "aborted");
      await refusal(subject.provider.readStoredAttachment(snapshot, log), "aborted");
    });
  });

  describe("restoreSession with attachments", () => {
    needsAttachments();

    it("brings back each once, with its id, name, type and time", async () => {
      const bytes = pattern(300_000);
      const a = backedUp(1, "a", bytes);
      const outcome = await restore(
        { sessionId: "s", messages: [{ first: 1, last: 2 }], undo: [{ first: 1, last: 3 }] },
        naming("m1", a),
        naming("m2", a, backedUp(2, "empty", Buffer.alloc(0))),
        naming("m3", backedUp(3, "undone", pattern(5))),
      );
      expect(outcome).toMatchObject({ kind: "restored" });
      expect(a.opened).toBe(1);
      expect((await bytesOf(subject.other, "s", "a")).equals(bytes)).toBe(true);
      expect(await bytesOf(subject.other, "s", "empty")).toHaveLength(0);
      expect(await bytesOf(subject.other, "s", "undone")).toHaveLength(5);
      const { attachments } = await subject.other.listAttachments("s", { limit: 10 });
      expect(attachments).toMatchObject([
        { attachmentId: "a", name: "a.bin", mediaType: "image/png", createTimeMicros: 77, messageIds: ["m1", "m2"] },
        { attachmentId: "empty", messageIds: ["m2"] },
      ]);
      await refusal(upload("a", pattern(3)), "already_exists");
      await sweepAway(subject);
      expect((await bytesOf(subject.provider, "s", "a")).equals(bytes)).toBe(true);
    });

    it("shares those of a living session, also where no shared message names them, until that is gone", async () => {
      const a = backedUp(1, "a", pattern(9));
      const source = await restore({ sessionId: "s", messages: [{ first: 1, last: 1 }] }, naming("m1", a));
      const sharedAttachments = attachmentsOf(source);
      expect([...sharedAttachments.keys()]).toEqual([1]);
      const image = { messages: [{ first: 1, last: 1 }], sharedAttachments };
      expect((await restore({ sessionId: "f", ...image }, naming("m2", a))).kind).toBe("restored");
      expect(a.opened).toBe(1);
      await isRepaired();
      await subject.provider.deleteSession("s");
      await sweepAway(subject);
      expect(await bytesOf(subject.other, "f", "a")).toHaveLength(9);
      expect(await restore({ sessionId: "g", ...image }, naming("m2", a))).toEqual({ kind: "unshared" });
      await isRepaired();
    });

    it("does not share one that is about to be removed", async ({ skip }) => {
      const { store } = subject;
      if (store === undefined) return skip("the histories of this provider are not in a LogStore");
      await sessionWith(subject.provider, "s");
      await upload("a", pattern(9));
      // While a draft is open, what is deleted is only marked.
      await subject.provider.startDraft("s", message("d"));
      const [row] = (await store().attachments?.find((await snapshotOf("s")).uid, ["a"])) ?? [];
      const sharedAttachments = new Map([[1, { log: row?.log ?? "", ownerId: "s" }]]);
      const image = { ...EMPTY, ...TIMES, ancestry: [], undo: null, messages: [{ first: 1, last: 1 }] };
      const outcome = await subject.provider.restoreSession(
        { ...image, sessionId: "f", sharedAttachments },
        async function* () {
          await subject.other.deleteAttachment("s", "a");
          yield [naming("m2", backedUp(1, "a", pattern(9)))];
        },
      );
      expect(outcome).toEqual({ kind: "unshared" });
      await subject.provider.discardDraft("s", "d");
      await sweepAway(subject);
      expect(await store().attachments?.findLog(row?.log ?? "")).toBeNull();
      await isRepaired();
    });

    it("keeps two with one id, of which an ancestor shows one", async () => {
      const outcome = await restore(
        {
          sessionId: "s",
          ancestry: [{ sessionId: "p", ranges: [{ first: 2, last: 2 }] }],
          messages: [{ first: 1, last: 1 }],
        },
        naming("m1", backedUp(1, "a", pattern(4))),
        naming("m2", backedUp(2, "a", pattern(8))),
      );
      expect(outcome.kind).toBe("restored");
      await sweepAway(subject);
      expect(await bytesOf(subject.other, "s", "a")).toHaveLength(4);
      const snapshot = await snapshotOf("s");
      const [range] = snapshot.ancestry[0]?.ranges ?? [];
      const [stored] = range === undefined ? [] : await subject.provider.readStored(snapshot, range);
      const [named] = stored?.body.attachments ?? [];
      const content = await subject.provider.readStoredAttachment(snapshot, named?.log ?? "");
      expect(await joined(content?.pieces)).toHaveLength(8);
    });

    it("stores nothing when bytes are missing or others, and leaves nothing when it fails half way", async () => {
      const whole = backedUp(1, "a", pattern(600_000));
      for (const broken of [
        { ...whole, open: async () => ({ ...(await whole.open()), pieces: inPieces(pattern(599_999)) }) },
        { ...whole, open: async () => ({ ...(await whole.open()), pieces: inPieces(pattern(600_000).fill(1)) }) },
        { ...whole, open: () => Promise.reject(new Error("The file became shorter")) },
      ]) {
        const image = { sessionId: "s", messages: [{ first: 1, last: 2 }] };
        await expect(restore(image, naming("m1", backedUp(2, "b", pattern(7))), naming("m2", broken))).rejects.toThrow(
          /has \d+ bytes|became shorter/,
        );
        await refusal(subject.provider.getSession("s"), "not_found");
      }
      await sweepAway(subject);
      await isRepaired();
      // A file keeps what was deleted until it is cleaned.
      await subject.store?.().cleanFiles?.();
      if (subject.stored !== undefined) expect(await subject.stored()).not.toContain("a.bin");
      for (const state of ["arriving", "stored", "doomed"] as const) {
        expect((await subject.store?.().attachments?.listSeen(state, Number.MAX_SAFE_INTEGER, 9)) ?? []).toEqual([]);
      }
    });

    it("is not held by the limits of calls", async () => {
      const small = subject.open({
        limits: { ...DEFAULT_LIMITS, attachmentBytes: 1, sessionAttachmentBytes: 1, messageAttachments: 1 },
      });
      const image = { ...EMPTY, ...TIMES, sessionId: "s", ancestry: [], undo: null, messages: [{ first: 1, last: 1 }] };
      const named = [backedUp(1, "a", pattern(9)), backedUp(2, "b", pattern(9))];
      const outcome = await small.restoreSession(image, async function* () {
        yield [naming("m1", ...named)];
      });
      expect(outcome.kind).toBe("restored");
      expect(await bytesOf(subject.other, "s", "b")).toHaveLength(9);
    });
  });
}

function attachmentsOf(outcome: RestoreOutcome): ReadonlyMap<number, SharedAttachment> {
  return outcome.kind === "restored" ? outcome.attachments : expect.unreachable(`it is ${outcome.kind}`);
}

async function* inPieces(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000);
}

async function joined(pieces: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces ?? []) all.push(piece);
  return Buffer.concat(all);
}

function pattern(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 13 + (i >> 7)) % 241);
}

/** An attachment as a backup has it, and how often it was opened. */
function backedUp(number: number, attachmentId: string, bytes: Uint8Array): BackupAttachment & { opened: number } {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const facts = { mediaType: "image/png", name: `${attachmentId}.bin`, size: bytes.length, createTimeMicros: 77 };
  const one = {
    number,
    attachmentId,
    opened: 0,
    open: async () => {
      one.opened += 1;
      return { attachment: { attachmentId, sha256, ...facts }, pieces: inPieces(bytes) };
    },
  };
  return one;
}

function naming(id: string, ...attachments: readonly BackupAttachment[]): BackupMessage {
  const parts = attachments.map(({ attachmentId }) => ({
    id: "",
    type: "file",
    text: "",
    attachment: { attachmentId, mediaType: "image/png", name: "", size: 0, sha256: "" },
  }));
  const body = MessageBody.of({ ...message(id), parts });
  return { id, role: "user", timestampMicros: 5, body, originSessionId: "s", attachments };
}
