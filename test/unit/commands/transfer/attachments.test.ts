import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { BACKUP_LIMITS } from "../../../../src/commands/transfer/file-shapes.js";
import { PIECE_BYTES } from "../../../../src/domain/attachment.js";
import type { RootPool } from "../../../../src/pool/root-pool.js";
import { backupOf, checked, openMemory, openPool, restore } from "./backup-pools.js";

const BYTES = Buffer.from(Uint8Array.from({ length: PIECE_BYTES + 9 }, (_, i) => i % 255));

describe("an export", () => {
  it("has each attachment once, after the messages of the session that names it first", async () => {
    const lines = (await backupOf(await filled())).trimEnd().split("\n");
    const kinds = lines.map((line) => Object.keys(JSON.parse(line))[0]);
    expect(kinds).toEqual([
      ...["format", "session", "message", "message", "attachment", "piece", "piece", "attachment"],
      ...["session", "message", "todos"],
    ]);
    const sha256 = createHash("sha256").update(BYTES).digest("hex");
    expect(JSON.parse(lines[4] ?? "")).toMatchObject({
      attachment: { attachmentId: "a", mediaType: "image/png", name: "ä.png", size: BYTES.length, sha256 },
    });
    expect(lines.slice(2, 4).map((line) => JSON.parse(line).message.attachments)).toEqual([
      [["a", 1]],
      [
        ["a", 1],
        ["b", 2],
      ],
    ]);
    expect(JSON.parse(lines[9] ?? "").message.attachments).toEqual([["a", 1]]);
  });

  it("holds no attachment that only a draft names, or nothing", async () => {
    const pool = await openPool(openMemory);
    await pool.sessions.createSession({ sessionId: "s" });
    for (const id of ["a", "b"]) await pool.sessions.attachments.upload("s", { attachmentId: id }, BYTES);
    await pool.sessions.drafts.start("s", naming("d", "a"));
    expect(await backupOf(pool)).not.toContain("attachment");
  });

  it("without attachments keeps what messages say of them, and an import counts those", async () => {
    const text = await backupOf(await filled(), { attachments: false });
    expect(text).not.toContain('{"attachment"');
    const pool = await openPool(openMemory);
    const { sections } = await checked(text);
    expect(sections[0]?.file.missingCount).toBe(2);
    await restore(pool, text);
    const [part] = (await pool.sessions.getMessage("s", "m1"))?.parts ?? [];
    expect(part?.attachment).toMatchObject({ attachmentId: "a", name: "ä.png", size: BYTES.length, missing: true });
    await expect(pool.sessions.attachments.get("s", "a")).rejects.toMatchObject({ code: "not_found" });
    expect(await backupOf(pool)).toBe(text);
  });

  it("calls an attachment missing whose bytes the store has lost", async () => {
    const pool = await filled();
    const store = pool.database.namespace("default");
    const { uid } = (await store.readRecord("s")) ?? expect.unreachable();
    const [row] = (await store.attachments?.find(uid, ["b"])) ?? [];
    await store.attachments?.remove(row?.log ?? "");
    const lines = (await backupOf(pool)).split("\n");
    expect(JSON.parse(lines[3] ?? "").message.parts).toMatchObject([
      { attachment: { attachmentId: "a", missing: false } },
      { attachment: { attachmentId: "b", missing: true } },
    ]);
  });
});

describe("an import", () => {
  it("does not write again what forks share, nor what is there", async () => {
    const text = await backupOf(await filled());
    const pool = await openPool(openMemory);
    await restore(pool, text);
    const usage = async (id: string) => {
      const store = pool.database.namespace("default");
      return store.attachments?.usage((await store.readRecord(id))?.uid ?? "");
    };
    expect([await usage("s"), await usage("fork")]).toEqual([
      { bytes: BYTES.length, arriving: 0 },
      { bytes: 0, arriving: 0 },
    ]);
    await pool.sessions.deleteSession("fork");
    expect(await restore(pool, text)).toMatchObject({ imported: 1, existing: 1 });
    expect(await usage("fork")).toEqual({ bytes: 0, arriving: 0 });
    expect(await bytesOf(pool, "fork", "a")).toEqual(BYTES);
  });

  it.each([
    [
      "a changed byte",
      (line: string) => line.replace(/":"..../, '":"BBBB'),
      /^Lines 6 to 7: their SHA-256 is another$/,
    ],
    ["a byte that is no base64", (line: string) => line.replace(/A/, "\u00ff"), /^Line 6: it is not base64$/],
    ["a line that ends early", (line: string) => line.slice(0, 99), /^Line 6: it is not base64$/],
    ["a line that is missing", () => "", /^Line 6: they have 9 bytes, not 262153$/],
  ])("with %s in a piece costs only that attachment, and names the line", async (_, damage, place) => {
    const lines = (await backupOf(await filled())).split("\n");
    const bytes = lines.map((line, i) => Buffer.from(i === 5 ? damage(line) : line, i === 5 ? "latin1" : "utf8"));
    const text = Buffer.concat(bytes.flatMap((line) => (line.length === 0 ? [] : [line, Buffer.from("\n")])));
    const pool = await openPool(openMemory);
    const { notes } = await checked(text);
    expect(notes?.leftOutCount).toBe(1);
    expect(notes?.lines()[0]).toBe("Left out: 1 × attachments whose bytes are damaged");
    expect(notes?.lines()[1]?.trim()).toMatch(place);
    expect(await restore(pool, text)).toMatchObject({ imported: 2 });
    const parts = (await pool.sessions.getMessage("s", "m2"))?.parts ?? [];
    expect(parts.map(({ attachment }) => attachment?.missing)).toEqual([true, undefined]);
    expect(await bytesOf(pool, "s", "b")).toHaveLength(0);
  });

  it("gives a session an attachment again that somebody has removed from its source", async () => {
    const text = await backupOf(await filled());
    const pool = await openPool(openMemory);
    await restore(pool, text);
    for (const id of ["s", "fork"]) await pool.sessions.deleteSession(id);
    expect(await restore(pool, text)).toMatchObject({ imported: 2 });
    expect(await bytesOf(pool, "s", "a")).toEqual(BYTES);
  });

  it("holds more attachments, and larger ones, than may be stored now", () => {
    for (const limit of ["messageAttachments", "attachmentBytes", "sessionAttachmentBytes"] as const) {
      expect(BACKUP_LIMITS[limit]).toBe(Number.POSITIVE_INFINITY);
    }
  });
});

function naming(id: string, ...attachmentIds: readonly string[]) {
  const empty = { mediaType: "", name: "", size: 0, sha256: "" };
  const parts = attachmentIds.map((one) => ({
    ...{ id: "", type: "file", text: "" },
    attachment: { attachmentId: one, ...empty },
  }));
  return { id, role: "user", parts };
}

/** A session with two attachments, of which two messages name the first one, and a fork that names it in its own. */
async function filled() {
  const pool = await openPool(openMemory);
  const { sessions } = pool;
  await sessions.createSession({ sessionId: "s" });
  await sessions.attachments.upload("s", { attachmentId: "a", mediaType: "image/png", name: "ä.png" }, BYTES);
  await sessions.attachments.upload("s", { attachmentId: "b" }, Buffer.alloc(0));
  await sessions.appendMessages("s", [naming("m1", "a"), naming("m2", "a", "b")]);
  await sessions.forkSession("s", { newSessionId: "fork" });
  await sessions.appendMessages("fork", [naming("m3", "a")]);
  return pool;
}

async function bytesOf({ sessions }: RootPool, sessionId: string, attachmentId: string): Promise<Buffer> {
  const { pieces } = await sessions.attachments.get(sessionId, attachmentId);
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
