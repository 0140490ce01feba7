import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import type { PartAttachment } from "../../../src/domain/chat-message.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { message, numbered, refusal, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const MIB = 1024 * 1024;

/** A part that names an attachment and says nothing else of it. */
export function naming(attachmentId: string): PartAttachment {
  return { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
}

/** A message whose only part names attachments. */
export function showing(id: string, ...attachmentIds: readonly string[]) {
  const parts = attachmentIds.map((one) => ({ id: "", type: "file", text: "", attachment: naming(one) }));
  return { ...message(id), parts };
}

async function* inChunks(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Bytes that differ from place to place. */
function pattern(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) % 251);
}

export async function bytesOf(provider: StorageOperations, sessionId: string, id: string, range = {}): Promise<Buffer> {
  const { pieces } = await provider.getAttachment(sessionId, id, range);
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

export function describeAttachments(subject: StorageProviderSubject): void {
  const upload = (
    attachmentId: string,
    bytes: Uint8Array = Buffer.from(`bytes of ${attachmentId}`),
    given = {},
    sessionId = "s",
  ) => subject.provider.uploadAttachment(sessionId, { attachmentId, ...given }, inChunks(bytes, 100_000));
  const sweepAll = async (idleMs = 1000) => {
    const sweeper = subject.open({ sweepAgeMs: 0, attachmentIdleMs: idleMs });
    // A database's own clock is not that of the test, and may count whole seconds.
    const store = subject.store?.();
    const sinceMs = await store?.timeMs();
    const passedMs = async () => {
      subject.nowMicros += 60_000_000;
      return store === undefined ? 60_000 : (await store.timeMs()) - (sinceMs ?? 0);
    };
    await expect.poll(passedMs).toBeGreaterThan(1000);
    for (let i = 0; i < 4; i++) {
      subject.nowMicros += 60_000_000;
      await sweeper.sweep();
    }
  };

  describe("attachments of a store that keeps none", () => {
    it("are unimplemented, and the sessions go on without them", async (context) => {
      if (subject.attaches) return context.skip("the store keeps attachments");
      await sessionWith(subject.provider, "s", ["m1"]);
      const calls = {
        upload: () => upload("a"),
        get: () => subject.provider.getAttachment("s", "a", {}),
        list: () => subject.provider.listAttachments("s", { limit: 1 }),
        delete: () => subject.provider.deleteAttachment("s", "a"),
        append: () => subject.provider.logMessages("s", [showing("m2", "a")]),
        draft: () => subject.provider.startDraft("s", showing("d", "a")),
      };
      for (const [name, call] of Object.entries(calls)) {
        const { message } = await refusal(call(), "unimplemented");
        expect(message, name).toContain("attachments");
      }
      await subject.provider.logMessages("s", [message("m3")]);
      await subject.provider.eraseMessage("s", "m1");
      await sweepAll();
      expect(await subject.provider.getMessageCount("s")).toBe(2);
    });
  });

  describe("attachments", () => {
    beforeEach((context) => {
      if (!subject.attaches) context.skip("the store keeps no attachments");
    });

    it.each([0, 1, 256 * 1024, 256 * 1024 + 1, 2 * MIB + 17])("keep %d bytes, and ranges of them", async (size) => {
      await sessionWith(subject.provider, "s");
      const bytes = pattern(size);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const made = await upload("a", bytes, { name: "a.bin", mediaType: "image/png" });
      expect(made).toMatchObject({ attachmentId: "a", name: "a.bin", mediaType: "image/png", size, sha256 });
      expect((await bytesOf(subject.other, "s", "a")).equals(bytes)).toBe(true);
      for (const [offset, length] of [
        [size >> 1, 10],
        [0, size],
        [Math.max(0, size - 1), undefined],
      ] as const) {
        const expected = bytes.subarray(offset, length === undefined ? undefined : offset + length);
        expect((await bytesOf(subject.other, "s", "a", { offset, length })).equals(expected)).toBe(true);
      }
      await refusal(bytesOf(subject.other, "s", "a", { offset: size + 1 }), "out_of_range");
    });

    it("are filled in where a message names them, and stay with every session that shows it", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const { sha256 } = await upload("a", undefined, { name: "a.txt", mediaType: "text/plain" });
      await subject.provider.logMessages("s", [showing("m2", "a")]);
      const [part] = (await subject.other.getMessage("s", "m2"))?.parts ?? [];
      expect(part?.attachment).toEqual({ attachmentId: "a", name: "a.txt", mediaType: "text/plain", size: 10, sha256 });
      await subject.provider.forkConversation("s", "f", { as: "fork" });
      await subject.provider.deleteSession("s");
      await sweepAll();
      expect(String(await bytesOf(subject.other, "f", "a"))).toBe("bytes of a");
      await subject.provider.logMessages("f", [showing("m3", "a")]);
      await subject.provider.truncateMessages("f", null);
      await refusal(bytesOf(subject.other, "f", "a"), "not_found");
      await refusal(subject.provider.logMessages("f", [showing("m4", "a")]), "invalid_argument");
    });

    it("are refused in a message that names one that its session has not", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "t", ["m1"]);
      await upload("a");
      await refusal(subject.provider.logMessages("t", [showing("m2", "a")]), "invalid_argument");
      await refusal(subject.provider.startDraft("t", showing("d", "a")), "invalid_argument");
      await refusal(subject.provider.updateMessage("t", "m1", { parts: showing("", "a").parts }), "invalid_argument");
      const wrong = showing("m2", "a");
      const parts = wrong.parts.map((part) => ({ ...part, attachment: { ...part.attachment, size: 3 } }));
      await refusal(subject.provider.logMessages("s", [{ ...wrong, parts }]), "invalid_argument");
      expect(await subject.provider.getMessageCount("s")).toBe(1);
    });

    it("are uploaded 16 at a time to one session", async () => {
      for (const id of ["s", "t"]) await sessionWith(subject.provider, id);
      let open = () => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      async function* held() {
        yield Buffer.from("x");
        await gate;
      }
      const start = (id: string, sessionId = "s") =>
        subject.provider.uploadAttachment(sessionId, { attachmentId: id }, held());
      const uploads = numbered(17, "a").map((id) => start(id));
      const error = await Promise.any(
        uploads.map(async (one) =>
          one.then(
            () => Promise.reject("stored"),
            (e) => e,
          ),
        ),
      );
      expect(error).toMatchObject({ code: "resource_exhausted" });
      expect(error.message).toContain("16 uploads to session");
      uploads.push(start("b", "t"));
      open();
      const outcomes = await Promise.allSettled(uploads);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(17);
      await upload("c");
    });

    it("are compared when a message is appended again, also where they have no name and no bytes", async () => {
      await sessionWith(subject.provider, "s");
      await upload("a", Buffer.alloc(0));
      await subject.provider.logMessages("s", [showing("m1", "a")]);
      const saying = (facts: Partial<PartAttachment>) => {
        const attachment = { ...naming("a"), ...facts };
        const parts = [{ id: "", type: "file", text: "", attachment }];
        return subject.provider.logMessages("s", [{ ...message("m1"), parts }]);
      };
      await saying({});
      await saying({ mediaType: "application/octet-stream" });
      for (const wrong of [{ name: "a" }, { size: 1 }, { mediaType: "text/plain" }]) {
        await refusal(saying(wrong), "already_exists");
      }
    });

    it("are named by no more parts of a draft than of a message", async () => {
      const provider = subject.open({ limits: { messageAttachments: 2 } });
      await sessionWith(provider, "s");
      await upload("a");
      await provider.startDraft("s", showing("d", "a"));
      const put = (id: string, attachment?: PartAttachment) =>
        ({ kind: "put_part", part: { id, type: "file", text: "", attachment } }) as const;
      await provider.extendDraft("s", "d", 1, [put("p", naming("a")), put("q", naming("a")), put("q")]);
      const { message } = await refusal(provider.extendDraft("s", "d", 2, [put("q", naming("a"))]), "invalid_argument");
      expect(message).toContain("3 attachments with these deltas; at most 2");
      await refusal(
        provider.finishDraft("s", "d", { version: 2, deltas: [put("q", naming("a"))] }),
        "invalid_argument",
      );
      await provider.extendDraft("s", "d", 2, [put("p"), put("q", naming("a"))]);
    });

    it("get the same answer when they are uploaded again, and are not replaced", async () => {
      await sessionWith(subject.provider, "s");
      const made = await upload("a");
      expect(await upload("a")).toEqual(made);
      await refusal(upload("a", Buffer.from("others")), "already_exists");
      await refusal(upload("a", undefined, { name: "other" }), "already_exists");
      await subject.provider.logMessages("s", [showing("m1", "a")]);
      await subject.provider.forkConversation("s", "f", { as: "fork" });
      await upload("a", undefined, {}, "f");
      await refusal(upload("a", Buffer.from("others"), {}, "f"), "already_exists");
    });

    it("can be named again after another upload, when the messages that named them are not shown any more", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      const made = await upload("a");
      await subject.provider.logMessages("s", [showing("m2", "a")]);
      await subject.provider.truncateMessages("s", "m1");
      expect(await upload("a")).toEqual(made);
      await subject.provider.logMessages("s", [showing("m3", "a")]);
      expect(String(await bytesOf(subject.other, "s", "a"))).toBe("bytes of a");
      // A fork that shows it only after an unrevert gets an upload of its own.
      await subject.provider.forkConversation("s", "f", { as: "fork" });
      await subject.provider.truncateMessages("f", "m1", { keepForUnrevert: true });
      await refusal(upload("a", Buffer.from("others"), {}, "f"), "already_exists");
      await upload("a", undefined, {}, "f");
      await subject.provider.logMessages("f", [showing("m4", "a")]);
      await subject.provider.deleteSession("s");
      await sweepAll();
      expect(String(await bytesOf(subject.other, "f", "a"))).toBe("bytes of a");
    });

    it("that nothing names are removed when they are idle, and others are not", async () => {
      await sessionWith(subject.provider, "s");
      for (const id of ["idle", "named", "drafted"]) await upload(id);
      await subject.provider.logMessages("s", [showing("m1", "named")]);
      await subject.provider.startDraft("s", showing("d", "drafted"));
      await subject.provider.finishDraft("s", "d", { version: 1 });
      await sweepAll();
      await refusal(bytesOf(subject.provider, "s", "idle"), "not_found");
      for (const id of ["named", "drafted"])
        expect(String(await bytesOf(subject.other, "s", id))).toBe(`bytes of ${id}`);
      const uid = (await subject.store?.().readRecord("s"))?.uid as string;
      expect(await subject.store?.().attachments?.list(uid, "", 10)).toHaveLength(2);
    });

    it("leave with the messages that named them", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      for (const id of ["a", "b"]) await upload(id);
      await subject.provider.logMessages("s", [showing("m2", "a"), showing("m3", "a", "b")]);
      await subject.provider.deleteMessage("s", "m3");
      await sweepAll(10 * 86_400_000);
      expect(String(await bytesOf(subject.provider, "s", "a"))).toBe("bytes of a");
      await refusal(bytesOf(subject.provider, "s", "b"), "not_found");
      await subject.provider.deleteSession("s");
      await sweepAll();
      expect(await subject.store?.().attachments?.listSeen("stored", Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
    });

    it("are copied with messages, under another id where theirs is taken", async () => {
      await sessionWith(subject.provider, "s");
      await sessionWith(subject.provider, "t");
      for (const id of ["a", "b"]) await upload(id);
      await upload("b", Buffer.from("another b"), {}, "t");
      await subject.provider.logMessages("s", [showing("m1", "a", "b")]);
      await subject.provider.forkConversation("s", "t", { as: "copy" });
      await subject.provider.deleteSession("s");
      await sweepAll();
      const [a, b] = (await subject.other.getMessage("t", "m1"))?.parts ?? [];
      expect(a?.attachment?.attachmentId).toBe("a");
      expect(String(await bytesOf(subject.other, "t", "a"))).toBe("bytes of a");
      expect(b?.attachment?.attachmentId).not.toBe("b");
      expect(String(await bytesOf(subject.other, "t", b?.attachment?.attachmentId ?? ""))).toBe("bytes of b");
    });

    it("are listed by id, with the messages and drafts that show them", async () => {
      await sessionWith(subject.provider, "s");
      for (const id of numbered(5, "a")) await upload(id);
      await subject.provider.logMessages("s", [showing("m1", "a1", "a3"), showing("m2", "a3", "a2")]);
      await subject.provider.startDraft("s", showing("d", "a3", "a4"));
      const listed: [string, readonly string[]][] = [];
      let cursor: Awaited<ReturnType<typeof subject.provider.listAttachments>>["next"];
      do {
        const page = await subject.other.listAttachments("s", { limit: 3, cursor });
        listed.push(
          ...page.attachments.map(
            ({ attachmentId, messageIds }) => [attachmentId, [...messageIds].sort()] as [string, string[]],
          ),
        );
        cursor = page.next;
      } while (cursor);
      expect(listed).toEqual([
        ["a1", ["m1"]],
        ["a2", ["m2"]],
        ["a3", ["d", "m1", "m2"]],
        ["a4", ["d"]],
      ]);
    });

    it("are listed in pages that end before their limit of bytes", async () => {
      await sessionWith(subject.provider, "s");
      const ids = numbered(6, "a");
      for (const id of ids) await upload(id, undefined, { name: "n".repeat(255) });
      await subject.provider.logMessages("s", [showing("m1", ...ids)]);
      const narrow = subject.open({ limits: { pageBytes: 1200 } });
      const pages: (readonly string[])[] = [];
      let cursor: Awaited<ReturnType<typeof narrow.listAttachments>>["next"];
      do {
        const page = await narrow.listAttachments("s", { limit: 5, cursor });
        pages.push(page.attachments.map(({ attachmentId }) => attachmentId));
        cursor = page.next;
      } while (cursor);
      expect(pages.flat()).toEqual(ids);
      expect(pages.map(({ length }) => length)).toEqual([2, 2, 2]);
    });

    it("are listed when more hidden messages than are read at a time named them before", async () => {
      await sessionWith(subject.provider, "s");
      for (const id of ["a", "b"]) await upload(id);
      await subject.provider.logMessages("s", [showing("m0", "b")]);
      await subject.provider.logMessages(
        "s",
        numbered(1000, "x").map((id) => showing(id, "a")),
      );
      await subject.provider.truncateMessages("s", "m0");
      await subject.provider.logMessages("s", [showing("m1", "a")]);
      const { attachments } = await subject.other.listAttachments("s", { limit: 10 });
      expect(attachments.map(({ attachmentId, messageIds }) => [attachmentId, messageIds])).toEqual([
        ["a", ["m1"]],
        ["b", ["m0"]],
      ]);
    });

    it("are deleted only while nothing names them", async () => {
      await sessionWith(subject.provider, "s");
      for (const id of ["a", "b"]) await upload(id);
      await subject.provider.logMessages("s", [showing("m1", "a")]);
      await refusal(subject.provider.deleteAttachment("s", "a"), "failed_precondition");
      await subject.provider.startDraft("s", message("d"));
      await subject.provider.deleteAttachment("s", "b");
      await refusal(subject.provider.deleteAttachment("s", "b"), "not_found");
      await refusal(subject.provider.logMessages("s", [showing("m2", "b")]), "invalid_argument");
      await upload("b", Buffer.from("another b"));
      expect(String(await bytesOf(subject.other, "s", "b"))).toBe("another b");
    });

    it("are erased with the only message that names them", async () => {
      await sessionWith(subject.provider, "s");
      for (const id of ["a", "b"]) await upload(id);
      await subject.provider.logMessages("s", [showing("m1", "a", "b"), showing("m2", "b")]);
      await subject.provider.eraseMessage("s", "m1");
      await refusal(bytesOf(subject.provider, "s", "a"), "not_found");
      expect(String(await bytesOf(subject.other, "s", "b"))).toBe("bytes of b");
      const uid = (await subject.store?.().readRecord("s"))?.uid as string;
      expect(await subject.store?.().attachments?.list(uid, "", 10)).toHaveLength(1);
    });
  });
}
