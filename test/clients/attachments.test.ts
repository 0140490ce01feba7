import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream, openAsBlob, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  Code,
  createSessionPoolClient,
  type SessionPoolClient,
  type UploadSource,
} from "../../clients/typescript/src/index.js";
import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { startTestServer, type TestServer } from "../support/server.js";

const MIB = 1024 * 1024;
const bytes = new Uint8Array(randomBytes(3 * MIB + 5));
const sha256 = createHash("sha256").update(bytes).digest("hex");

let server: TestServer;
let client: SessionPoolClient;

beforeAll(async () => {
  server = await startTestServer();
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
  await client.sessions.createSession({ sessionId: "s" });
});

afterAll(() => server.stop());

async function* slices(size = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const fileOf = (name: string) => {
  const path = join(tmpdir(), `session-pool-${process.pid}-${name}`);
  writeFileSync(path, bytes);
  return path;
};

/** Starts a server for a test; resolves to its address. */
async function addressOf(front: Server): Promise<string> {
  await once(front.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    front.closeAllConnections();
    front.close();
  });
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
}

describe("the TypeScript client", () => {
  const sources: readonly [string, () => UploadSource | Promise<UploadSource>][] = [
    ["bytes", () => bytes],
    ["part of a buffer", () => new Uint8Array([...new Uint8Array(7), ...bytes]).subarray(7)],
    ["an ArrayBuffer", () => bytes.buffer],
    ["a Blob", () => new Blob([bytes])],
    ["a Blob of a file", () => openAsBlob(fileOf("blob"))],
    ["a ReadStream", () => createReadStream(fileOf("stream"))],
    ["a ReadableStream", () => new Blob([bytes]).stream()],
    ["a generator", () => slices()],
  ];

  it.each(sources)("uploads %s, with progress", async (name, sourceOf) => {
    const sent: number[] = [];
    const onProgress = (count: number, total: number | undefined) => {
      sent.push(count);
      if (total !== undefined) expect(total).toBe(bytes.length);
    };
    const stored = await client.uploadAttachment("s", await sourceOf(), {
      name: "Kyōto & ü.bin",
      mediaType: "image/png",
      onProgress,
    });
    expect(stored).toMatchObject({ name: "Kyōto & ü.bin", mediaType: "image/png", size: bytes.length, sha256 });
    expect(sent).toEqual(sent.toSorted((a, b) => a - b));
    expect(sent.at(-1)).toBe(bytes.length);
    expect(sent.length).toBeGreaterThan(2);
    const plain = await client.uploadAttachment("s", await sourceOf());
    expect(plain).toMatchObject({ size: bytes.length, sha256, mediaType: "application/octet-stream", name: "" });
    expect((await client.downloadAttachment("s", stored.attachmentId)).attachment).toEqual({
      ...{
        attachmentId: stored.attachmentId,
        mediaType: "image/png",
        name: "Kyōto & ü.bin",
        size: bytes.length,
        sha256,
      },
    });
    expect(name).not.toBe("");
  });

  it("takes name and media type from a File, and makes the session", async () => {
    const file = new File([], "notes: 1.txt", { type: "text/plain" });
    const options = { attachmentId: "notes", sha256: createHash("sha256").digest("hex"), createSession: true };
    const stored = await client.uploadAttachment("made", file, options);
    expect(stored).toMatchObject({ attachmentId: "notes", name: "notes: 1.txt", mediaType: "text/plain", size: 0 });
    expect(await client.uploadAttachment("made", file, options)).toEqual(stored);
    const download = await client.downloadAttachment("made", "notes");
    expect(download.attachment.name).toBe("notes_ 1.txt");
    expect(await download.bytes()).toHaveLength(0);
  });

  it("takes a path and the URL of a file, and their name", async () => {
    const path = fileOf("Kyōto #1.bin");
    for (const source of [path, pathToFileURL(path)]) {
      const stored = await client.uploadAttachment("s", source);
      expect(stored).toMatchObject({ name: basename(path), size: bytes.length, sha256 });
    }
    await expect(client.uploadAttachment("s", join(tmpdir(), "is not there"))).rejects.toMatchObject({
      code: "ENOENT",
    });
    expect(await client.uploadAttachment("s", path, { name: "" })).toMatchObject({ name: "" });
  });

  it("downloads all or a range, once, in every form, with progress", async () => {
    const { attachmentId } = await client.uploadAttachment("s", bytes, { mediaType: "text/plain; charset=utf-8" });
    const progress: [number, number][] = [];
    const options = { offset: 10, length: 2 * MIB, onProgress: (...now: [number, number]) => void progress.push(now) };
    const range = await client.downloadAttachment("s", attachmentId, options);
    expect(range).toMatchObject({ offset: 10, length: 2 * MIB, attachment: { size: bytes.length, sha256 } });
    expect(Buffer.compare(await range.bytes(), bytes.subarray(10, 10 + 2 * MIB))).toBe(0);
    expect(progress.at(-1)).toEqual([2 * MIB, 2 * MIB]);
    await expect(range.bytes()).rejects.toThrow(new TypeError("A download can be read once"));
    const end = await client.downloadAttachment("s", attachmentId, { offset: bytes.length - 3 });
    expect(await end.bytes()).toEqual(bytes.subarray(-3));
    const blob = await (await client.downloadAttachment("s", attachmentId)).blob();
    expect([blob.type, blob.size]).toEqual(["text/plain; charset=utf-8", bytes.length]);
    const streamed = await new Response((await client.downloadAttachment("s", attachmentId)).stream()).arrayBuffer();
    expect(Buffer.compare(new Uint8Array(streamed), bytes)).toBe(0);
    await client.uploadAttachment("s", new TextEncoder().encode("Grüße"), { attachmentId: "hello" });
    expect(await (await client.downloadAttachment("s", "hello")).text()).toBe("Grüße");
    const unread = await client.downloadAttachment("s", attachmentId);
    await unread.cancel();
    const broken = await client.downloadAttachment("s", attachmentId);
    for await (const chunk of broken) if (chunk.length > 0) break;
  });

  it("lists what messages show page by page, and deletes what nothing names", async () => {
    const ids = ["a", "b", "c"];
    for (const attachmentId of [...ids, "unnamed"])
      await client.uploadAttachment("list", new Uint8Array(1), { attachmentId, createSession: true });
    for (const attachmentId of ids)
      await client.append("list", {
        info: { id: `m-${attachmentId}`, role: "user" },
        parts: [{ type: "file", attachment: { attachmentId } }],
      });
    const listed: [string, readonly string[]][] = [];
    for await (const one of client.listAttachments("list", { pageSize: 2 }))
      listed.push([one.attachmentId, one.messageIds]);
    expect(listed).toEqual(ids.map((id) => [id, [`m-${id}`]]));
    const [first] = (await client.messages.listMessages({ sessionId: "list" })).messages;
    expect(first?.parts[0]?.attachment).toMatchObject({ attachmentId: "a", size: 1 });
    await client.deleteAttachment("list", "unnamed");
    await expect(client.deleteAttachment("list", "a")).rejects.toMatchObject({ code: Code.FailedPrecondition });
  });

  it("passes on the service's errors, those of a source, and an abort", async () => {
    const limited = await startTestServer({ limits: { ...DEFAULT_LIMITS, attachmentBytes: 1000 } });
    onTestFinished(() => limited.stop());
    const small = createSessionPoolClient({ baseUrl: limited.httpUrl });
    await small.sessions.createSession({ sessionId: "s" });
    for (const source of [new Uint8Array(1001), new Blob([new Uint8Array(1001)]).stream()])
      await expect(small.uploadAttachment("s", source)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    await expect(client.uploadAttachment("nobody", bytes)).rejects.toMatchObject({ code: Code.NotFound });
    await expect(client.downloadAttachment("s", "nothing")).rejects.toMatchObject({ code: Code.NotFound });
    await client.uploadAttachment("s", new Uint8Array(5), { attachmentId: "five" });
    await expect(client.uploadAttachment("s", new Uint8Array(6), { attachmentId: "five" })).rejects.toMatchObject({
      code: Code.AlreadyExists,
    });
    await expect(client.downloadAttachment("s", "five", { offset: 5 })).rejects.toMatchObject({
      code: Code.OutOfRange,
    });
    for (const range of [{ offset: -1 }, { offset: 0.5 }, { length: 0 }])
      await expect(client.downloadAttachment("s", "five", range)).rejects.toThrow(RangeError);
    const failing = (async function* () {
      yield new Uint8Array(5);
      throw new Error("The disk is gone");
    })();
    await expect(client.uploadAttachment("s", failing, { attachmentId: "failing" })).rejects.toThrow(
      "The disk is gone",
    );
    await expect(client.downloadAttachment("s", "failing")).rejects.toMatchObject({ code: Code.NotFound });
    const abort = new AbortController();
    const endless = (async function* () {
      for (;;) yield new Uint8Array(1000);
    })();
    const onProgress = () => abort.abort();
    await expect(client.uploadAttachment("s", endless, { onProgress, signal: abort.signal })).rejects.toMatchObject({
      code: Code.Canceled,
    });
    await expect(client.downloadAttachment("s", "five", { signal: abort.signal })).rejects.toMatchObject({
      code: Code.Canceled,
    });
  });

  it("throws what a source or onProgress throws as it is, at once", async () => {
    const { attachmentId } = await client.uploadAttachment("s", bytes);
    const error = new Error("The page is gone");
    const onProgress = vi.fn(() => {
      throw error;
    });
    const download = await client.downloadAttachment("s", attachmentId, { onProgress });
    await expect(download.bytes()).rejects.toBe(error);
    expect(onProgress).toHaveBeenCalledOnce();
    for (const source of [bytes, new Blob([bytes]), slices()]) {
      onProgress.mockClear();
      await expect(client.uploadAttachment("s", source, { onProgress })).rejects.toBe(error);
      expect(onProgress).toHaveBeenCalledOnce();
    }
    const failing = (async function* () {
      yield new Uint8Array(5);
      throw error;
    })();
    await expect(client.uploadAttachment("s", failing)).rejects.toBe(error);
  });

  it("sends keys and tickets, also anew when a key is refused, and works beside a transport", async () => {
    const seen: (string | undefined)[] = [];
    const front = createServer((request, response) => {
      seen.push(request.headers.authorization);
      request.resume();
      response.writeHead(request.headers.authorization === "Bearer new" ? 200 : 401, {
        "Content-Type": "application/json",
      });
      request.on("end", () =>
        response.end(
          JSON.stringify(
            response.statusCode === 200 ? { attachmentId: "a" } : { code: Code.Unauthenticated, message: "old" },
          ),
        ),
      );
    });
    const baseUrl = await addressOf(front);
    const keyed = createSessionPoolClient({ baseUrl, key: (_signal, refused) => (refused === "old" ? "new" : "old") });
    expect(await keyed.uploadAttachment("s", new Uint8Array(1))).toMatchObject({ attachmentId: "a" });
    expect(seen).toEqual(["Bearer old", "Bearer new"]);
    const once = createSessionPoolClient({ baseUrl, key: (_signal, refused) => (refused === "old" ? "new" : "old") });
    await expect(once.uploadAttachment("s", slices())).rejects.toMatchObject({ code: Code.Unauthenticated });
    const withTicket = createSessionPoolClient({ baseUrl, ticket: "t" });
    await expect(withTicket.downloadAttachment("s", "a")).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect(seen.at(-1)).toBe("Bearer t");

    const transport = createGrpcTransport({ baseUrl: `http://${server.grpcAddress}` });
    const byGrpc = createSessionPoolClient({ transport, baseUrl: server.httpUrl });
    expect((await byGrpc.uploadAttachment("s", bytes)).sha256).toBe(sha256);
    await expect(createSessionPoolClient({ transport }).uploadAttachment("s", bytes)).rejects.toMatchObject({
      code: Code.Unimplemented,
    });
  });

  it("repeats and resumes what connections cut, and stores nothing twice", async () => {
    let seed = 7;
    const random = () => {
      seed = (seed * 16807) % 2147483647;
      return seed / 2147483647;
    };
    const proxy = await startCuttingProxy(server.httpPort, { maxBytes: 1_500_000, random });
    onTestFinished(() => proxy.close());
    const cut = createSessionPoolClient({ baseUrl: proxy.url, retries: 100 });
    const small = bytes.subarray(0, MIB);
    const { attachmentId } = await cut.uploadAttachment("s", small, { createSession: true });
    const big = await client.uploadAttachment("s", bytes);
    for (const [id, whole] of [
      [attachmentId, small],
      [big.attachmentId, bytes],
    ] as const) {
      const download = await cut.downloadAttachment("s", id);
      expect(Buffer.compare(await download.bytes(), whole)).toBe(0);
    }
    expect(proxy.cuts).toBeGreaterThan(2);
  });

  it("notices bytes that are not those of the attachment", async () => {
    const answers = [
      { status: 200, headers: { ETag: `"${sha256}"`, "Content-Length": "3" }, body: "abc" },
      { status: 200, headers: { ETag: `"${sha256}"`, "Content-Length": "30" }, body: "abc" },
      { status: 200, headers: { ETag: `"${"0".repeat(64)}"`, "Content-Length": "30" }, body: "abc" },
    ];
    const front = createServer((_request, response) => {
      const { status, headers, body } = answers.shift() as (typeof answers)[number];
      response.writeHead(status, headers);
      response.write(body);
      setImmediate(() => (body.length < Number(headers["Content-Length"]) ? response.destroy() : response.end()));
    });
    const baseUrl = await addressOf(front);
    const other = createSessionPoolClient({ baseUrl });
    const damaged = await other.downloadAttachment("s", "a");
    await expect(damaged.bytes()).rejects.toMatchObject({ code: Code.DataLoss });
    const replaced = await other.downloadAttachment("s", "a");
    await expect(replaced.bytes()).rejects.toMatchObject({ code: Code.Aborted });
  });
});
