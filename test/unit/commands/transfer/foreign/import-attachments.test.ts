import { randomBytes } from "node:crypto";
import { strToU8, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../../../src/domain/limits.js";
import type { RootPool } from "../../../../../src/pool/root-pool.js";
import { importTarget } from "../../../../support/importing.js";

const PNG = randomBytes(300_000);
const LONG = "A line of a log that a tool printed. ö\n".repeat(12_000);
const SESSION = "1d1f8f2e-0000-4000-8000-000000000001";

/** A transcript of Claude Code with a picture that the user sent, and a result with a long text and a picture. */
const TRANSCRIPT = [
  claudeLine("u1", null, "user", [
    { type: "text", text: "What is this?" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PNG.toString("base64") } },
    { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
  ]),
  claudeLine("r1", "u1", "user", [
    { type: "tool_result", tool_use_id: "t1", content: LONG },
    {
      type: "tool_result",
      tool_use_id: "t2",
      content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: PNG.toString("base64") } }],
    },
  ]),
];

describe("an import of another program's file", () => {
  it("of Claude Code keeps pictures and long results as attachments, each once, and adds them only once", async () => {
    const target = importTarget();
    for (let i = 0; i < 2; i++) {
      const { imported, text } = await target.importFile(lines(TRANSCRIPT), { name: `${SESSION}.jsonl` });
      expect([imported, text]).toEqual([1 - i, expect.not.stringContaining("Mended")]);
    }
    const { messages } = (await target.sessions()).get(SESSION) ?? expect.unreachable();
    const [text, picture, small] = messages[0]?.parts ?? [];
    expect(text).toMatchObject({ type: "text", text: "What is this?" });
    const id = picture?.attachment?.attachmentId ?? "";
    expect(picture).toMatchObject({
      type: "image",
      attachment: { mediaType: "image/png", name: "", size: PNG.length },
      data: {
        source: { type: "base64", media_type: "image/png", data: "" },
        $attachments: [{ path: ["data", "source", "data"], attachment_id: id, form: "base64" }],
      },
    });
    expect(small).toMatchObject({ data: { source: { data: "AAAA" } } });
    expect(small?.attachment).toBeUndefined();
    const [long, second] = messages[1]?.parts ?? [];
    expect(long).toMatchObject({ type: "tool_result", attachment: { mediaType: "text/plain; charset=utf-8" } });
    expect(LONG.startsWith(long?.text ?? "-")).toBe(true);
    expect(Buffer.byteLength(long?.text ?? "")).toBeGreaterThan(16 * 1024 - 4);
    expect(second?.attachment?.attachmentId).toBe(id);
    await target.use(async (pool) => {
      expect((await bytesOf(pool, SESSION, id)).equals(PNG)).toBe(true);
      expect(String(await bytesOf(pool, SESSION, long?.attachment?.attachmentId ?? ""))).toBe(LONG);
      expect((await pool.sessions.attachments.list(SESSION)).attachments).toHaveLength(2);
    });
  });

  it("that grew uploads what the new messages name, and what they share with others only once", async () => {
    const target = importTarget();
    const file = { name: `${SESSION}.jsonl` };
    await target.importFile(lines(TRANSCRIPT.slice(0, 1)), file);
    const more = [...TRANSCRIPT, claudeLine("u2", "r1", "user", [{ type: "text", text: LONG.slice(0, -9) }])];
    expect(await target.importFile(lines(more), file)).toMatchObject({ imported: 0, grown: 1 });
    const { messages } = (await target.sessions()).get(SESSION) ?? expect.unreachable();
    expect(messages).toHaveLength(3);
    await target.use(async (pool) => {
      const { attachments } = await pool.sessions.attachments.list(SESSION);
      expect(attachments.map(({ size }) => size).sort((a, b) => a - b)).toEqual(
        [PNG.length, Buffer.byteLength(LONG), Buffer.byteLength(LONG) - 10].sort((a, b) => a - b),
      );
    });
  });

  it("of OpenCode keeps data URLs as attachments, under their names", async () => {
    const url = `data:image/webp;base64,${PNG.toString("base64")}`;
    const part = { id: "p1", type: "file", mime: "image/webp", filename: "ä.webp", url };
    const own = { id: "p2", type: "text", text: "", $attachments: "the program's own" };
    const target = importTarget();
    await target.importFile({
      info: { id: "ses_1", title: "T" },
      messages: [{ info: { id: "m1", role: "user" }, parts: [part, own] }],
    });
    const { messages } = (await target.sessions()).get("ses_1") ?? expect.unreachable();
    const [file, escaped] = messages[0]?.parts ?? [];
    expect(file).toMatchObject({
      ...{ id: "p1", type: "file", text: "" },
      attachment: { mediaType: "image/webp", name: "ä.webp", size: PNG.length },
      data: { mime: "image/webp", url: "data:image/webp;base64,", $attachments: [{ form: "data_url" }] },
    });
    expect(escaped?.data).toEqual({ $$attachments: "the program's own" });
  });

  it("of ChatGPT's archive takes its files along, and one that is too large or damaged costs no other", async () => {
    const large = Buffer.alloc(400_000, "x");
    const files = ["file-one-a.png", "file-two-b.bin", "dalle/file_three.dat", "file-four.pdf"];
    const archive = Buffer.from(
      zipSync(
        {
          "conversations.json": strToU8(JSON.stringify([conversation()])),
          [files[0] ?? ""]: new Uint8Array(PNG),
          [files[1] ?? ""]: new Uint8Array(large),
          [files[2] ?? ""]: new Uint8Array(Buffer.from("three")),
          [files[3] ?? ""]: new Uint8Array(PNG.subarray(0, 9000)),
        },
        { level: 0 },
      ),
    );
    // A byte in the middle of the last file.
    const at = archive.indexOf(PNG.subarray(4000, 4100), archive.indexOf("file-four.pdf"));
    archive.writeUInt8(archive.readUInt8(at) ^ 1, at);
    const target = importTarget();
    const limits = { ...DEFAULT_LIMITS, attachmentBytes: 350_000 };
    const { leftOut, text } = await target.importFile(archive, { name: "export.zip", limits });
    expect([leftOut, text]).toEqual([2, expect.stringContaining("files that cannot be read or are too large")]);
    const { messages } = (await target.sessions()).get("c1") ?? expect.unreachable();
    const [message] = messages;
    expect(message?.parts.map(({ type, data, attachment }) => [type, data?.filename, attachment?.size])).toEqual([
      ["file", "picture.png", PNG.length],
      ["file", "file_three.dat", 5],
      ["text", undefined, undefined],
      ["file", "b.bin", undefined],
      ["file", "four.pdf", undefined],
    ]);
    expect(message?.parts[0]?.attachment).toMatchObject({ mediaType: "image/png", name: "picture.png" });
    await target.use(async (pool) => {
      const id = message?.parts[0]?.attachment?.attachmentId ?? "";
      expect((await bytesOf(pool, "c1", id)).equals(PNG)).toBe(true);
    });
  });
});

function claudeLine(uuid: string, parentUuid: string | null, type: string, content: unknown) {
  const common = { sessionId: SESSION, isSidechain: false, timestamp: "2025-11-03T10:00:00.250Z" };
  return { ...common, parentUuid, uuid, type, message: { role: type, content } };
}

function lines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join("");
}

function conversation() {
  const parts = [
    { content_type: "image_asset_pointer", asset_pointer: "file-service://file-one" },
    { content_type: "image_asset_pointer", asset_pointer: "sediment://file_three" },
    "Look",
  ];
  const attachments = [
    { id: "file-one", name: "picture.png", mime_type: "image/png" },
    { id: "file-two", name: "b.bin" },
    { id: "file-four", name: "four.pdf" },
  ];
  const message = {
    id: "m1",
    author: { role: "user" },
    content: { content_type: "multimodal_text", parts },
    metadata: { attachments },
  };
  return {
    conversation_id: "c1",
    title: "T",
    current_node: "n1",
    mapping: { n1: { id: "n1", message, parent: null, children: [] } },
  };
}

async function bytesOf({ sessions }: RootPool, sessionId: string, attachmentId: string): Promise<Buffer> {
  const { pieces } = await sessions.attachments.get(sessionId, attachmentId);
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
