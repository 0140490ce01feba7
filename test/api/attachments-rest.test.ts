import "../../src/harden.js";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import { FrameClient } from "../support/frame-client.js";
import { FLAG, FRAME, frame, headerBlock } from "../support/http2-frames.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";

const PIECE = 256 * 1024;
const LIMIT = 1024 * 1024;
/** Longer than a piece, and no two parts of it are alike. */
const BYTES = Buffer.from(Array.from({ length: PIECE + 1000 }, (_, i) => (i * 31 + (i >> 8)) % 251));
const SHA256 = createHash("sha256").update(BYTES).digest("hex");
const TAG = `"${SHA256}"`;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
  readonly json: any;
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ limits: { ...DEFAULT_LIMITS, attachmentBytes: LIMIT } });
  await post("/session", "{}", { "content-type": "application/json" }, "sessionId=");
  await send("POST", "/session", { "content-type": "application/json" }, JSON.stringify({ sessionId: "s" }));
  await upload("attachment_id=a&name=scan.png", BYTES, { "content-type": "image/png" });
});
afterAll(() => server.stop());

function post(path: string, body: string, headers: Record<string, string>, query: string): Promise<Answer> {
  return send("POST", `${path}?${query}`, headers, body);
}

/** Sends a request over HTTP/1.1 with the headers as they are. */
function send(method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer) {
  return new Promise<Answer>((resolve, reject) => {
    const options = { port: server.httpPort, host: "127.0.0.1", method, path, headers, agent: false };
    const outgoing = httpRequest(options, async (incoming) => {
      const received = Buffer.concat(await incoming.toArray());
      const isJson = incoming.headers["content-type"] === "application/json" && received.length > 0;
      const json = isJson ? JSON.parse(received.toString()) : undefined;
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: received, json });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Sends a request over HTTP/2. */
async function send2(method: string, path: string, headers: Record<string, string> = {}, body?: Buffer) {
  const session = connectHttp2(server.httpUrl);
  const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [answered] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
  const received = Buffer.concat(await stream.toArray());
  session.close();
  return { status: answered[":status"], headers: answered, body: received };
}

function upload(query: string, bytes: Buffer | string, headers: Record<string, string> = {}): Promise<Answer> {
  return send("POST", `/session/s/attachment?${query}`, headers, bytes);
}

function download(id: string, headers: Record<string, string> = {}): Promise<Answer> {
  return send("GET", `/session/s/attachment/${id}`, headers);
}

async function idsOf(session: string): Promise<string[]> {
  const { json } = await send("GET", `/session/${session}/attachment`);
  return json.attachments.map((one: { attachmentId: string }) => one.attachmentId);
}

describe("a download", () => {
  test("is the bytes, with what a browser needs to treat them safely", async () => {
    const { status, headers, body } = await download("a");
    expect({ status, isSame: body.equals(BYTES) }).toEqual({ status: 200, isSame: true });
    expect(headers).toMatchObject({
      "content-type": "image/png",
      "content-length": String(BYTES.length),
      etag: TAG,
      "accept-ranges": "bytes",
      "content-disposition": 'inline; filename="scan.png"',
      "cache-control": "private, no-cache, no-transform",
      vary: "Authorization",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
    });
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none';.*; sandbox$/);
    expect(headers).not.toHaveProperty("content-encoding");
    expect(headers).not.toHaveProperty("last-modified");
  });

  test("is never compressed", async () => {
    await upload("attachment_id=text", "a".repeat(5000), { "content-type": "text/plain" });
    const { headers, body } = await download("text", { "accept-encoding": "gzip, br" });
    expect(headers).not.toHaveProperty("content-encoding");
    expect(body).toHaveLength(5000);
  });

  test("by HEAD has the same headers and no body", async () => {
    const whole = await download("a");
    const { status, headers, body } = await send("HEAD", "/session/s/attachment/a", { range: "bytes=0-1" });
    expect({ status, bytes: body.length }).toEqual({ status: 200, bytes: 0 });
    for (const name of ["date", "x-request-id", "connection", "keep-alive"]) {
      delete headers[name];
      delete whole.headers[name];
    }
    expect(headers).toEqual(whole.headers);
  });

  test.each([
    ["bytes=0-0", 0, 0],
    ["bytes=5-9", 5, 9],
    ["BYTES=5-9", 5, 9],
    [`bytes=${PIECE - 2}-${PIECE + 1}`, PIECE - 2, PIECE + 1],
    [`bytes=${PIECE}-`, PIECE, BYTES.length - 1],
    ["bytes=-7", BYTES.length - 7, BYTES.length - 1],
    ["bytes=-99999999999999999999", 0, BYTES.length - 1],
    ["bytes=0-99999999999999999999", 0, BYTES.length - 1],
  ])("of the range %s is these bytes", async (range, first, last) => {
    const { status, headers, body } = await download("a", { range });
    expect(status).toBe(206);
    expect(headers["content-range"]).toBe(`bytes ${first}-${last}/${BYTES.length}`);
    expect(headers["content-length"]).toBe(String(last - first + 1));
    expect(headers.etag).toBe(TAG);
    expect(body.equals(BYTES.subarray(first, last + 1))).toBe(true);
  });

  test.each(["bytes=0-1,5-6", "bytes=9-5", "bytes=-", "bytes=a-b", "items=0-1", "bytes", "bytes=0-1,", "bytes=1 - 2"])(
    "ignores the range %s",
    async (range) => {
      const { status, body } = await download("a", { range });
      expect([status, body.length]).toEqual([200, BYTES.length]);
    },
  );

  test.each([`bytes=${BYTES.length}-`, `bytes=${BYTES.length + 1}-${BYTES.length + 2}`, "bytes=-0"])(
    "of the range %s is refused with 416",
    async (range) => {
      const { status, headers, json } = await download("a", { range });
      expect(status).toBe(416);
      expect(headers["content-range"]).toBe(`bytes */${BYTES.length}`);
      expect(json).toMatchObject({
        code: 11,
        message: `Range is "${range}"; the attachment has ${BYTES.length} bytes`,
      });
    },
  );

  test("of an empty attachment ignores ranges", async () => {
    await upload("attachment_id=empty", "");
    for (const range of ["bytes=0-", "bytes=-5"]) {
      const { status, headers, body } = await download("empty", { range });
      expect([status, headers["content-length"], body.length]).toEqual([200, "0", 0]);
      expect(headers["content-type"]).toBe("application/octet-stream");
    }
  });

  test("goes on by If-Range only with the same bytes", async () => {
    const part = await download("a", { range: "bytes=5-9", "if-range": TAG });
    expect([part.status, part.body.length]).toEqual([206, 5]);
    for (const other of ['"other"', `W/${TAG}`, "Thu, 26 Nov 2026 00:00:00 GMT"]) {
      const whole = await download("a", { range: "bytes=5-9", "if-range": other });
      expect([other, whole.status, whole.body.length]).toEqual([other, 200, BYTES.length]);
    }
  });

  test.each([TAG, `W/${TAG}`, `"x", ${TAG}`, "*"])("is 304 with If-None-Match %s", async (tag) => {
    for (const more of [{}, { range: "bytes=1-2" }]) {
      const { status, headers, body } = await download("a", { "if-none-match": tag, ...more });
      expect([status, body.length]).toEqual([304, 0]);
      expect(headers).toMatchObject({ etag: TAG, "cache-control": "private, no-cache, no-transform" });
      expect(headers).not.toHaveProperty("content-type");
    }
    expect((await send("HEAD", "/session/s/attachment/a", { "if-none-match": tag })).status).toBe(304);
  });

  test("is whole with another tag in If-None-Match", async () => {
    expect((await download("a", { "if-none-match": '"other"' })).body.equals(BYTES)).toBe(true);
  });

  test("is 412 unless If-Match has its strong tag", async () => {
    for (const tag of [TAG, "*", `"x", ${TAG}`]) {
      expect((await download("a", { "if-match": tag })).body.equals(BYTES)).toBe(true);
    }
    for (const tag of ['"x"', `W/${TAG}`]) {
      const { status, json } = await download("a", { "if-match": tag });
      expect([status, json.code]).toEqual([412, 9]);
    }
  });

  test("of another id, or by offset and length, is refused as JSON", async () => {
    const missing = await download("none");
    expect([missing.status, missing.json.code]).toEqual([404, 5]);
    expect((await download("none", { range: "bytes=0-1" })).status).toBe(404);
    const { status, json } = await download("a?offset=3&length=5");
    expect([status, json.message]).toEqual([400, expect.stringContaining("Range")]);
  });

  test.each(["script", "style", "worker", "serviceworker"])("is not served to be run as %s", async (use) => {
    await upload("attachment_id=code", "alert(1)", { "content-type": "text/javascript" });
    const { status, json } = await download("code", { "sec-fetch-dest": use });
    expect([status, json.code]).toEqual([403, 7]);
    expect((await download("code", { "sec-fetch-dest": "document" })).status).toBe(200);
  });

  test("goes over HTTP/2, too", async () => {
    const whole = await send2("GET", "/session/s/attachment/a");
    expect([whole.status, whole.body.equals(BYTES)]).toEqual([200, true]);
    const part = await send2("GET", "/session/s/attachment/a", { range: "bytes=-3" });
    expect([part.status, part.body]).toEqual([206, BYTES.subarray(-3)]);
    expect((await send2("HEAD", "/session/s/attachment/a")).headers["content-length"]).toBe(String(BYTES.length));
  });
});

describe("an upload", () => {
  test("is the body, and a repetition gets the same answer", async () => {
    const query = "attachment_id=up&name=notes%20%E2%9C%93.txt";
    const { status, json } = await upload(query, "hello", { "content-type": "text/plain; charset=utf-8" });
    expect(status).toBe(200);
    expect(json).toEqual({
      attachmentId: "up",
      mediaType: "text/plain; charset=utf-8",
      name: "notes ✓.txt",
      size: "5",
      sha256: createHash("sha256").update("hello").digest("hex"),
      createTime: expect.stringMatching(/Z$/),
      messageIds: [],
    });
    const again = await upload(query, "hello", { "content-type": "text/plain; charset=utf-8" });
    expect(again.json).toEqual(json);
    const other = await upload(query, "hallo", { "content-type": "text/plain; charset=utf-8" });
    expect([other.status, other.json.code]).toEqual([409, 6]);
  });

  test("needs neither an id nor a type nor any byte", async () => {
    const { json } = await upload("", "");
    expect(json).toMatchObject({ mediaType: "application/octet-stream", name: "", size: "0" });
    expect(json.attachmentId).toMatch(/^[0-9A-Z]{26}$/);
  });

  test("makes the session if asked to, and is not found otherwise", async () => {
    expect((await send("POST", "/session/made/attachment", {}, "x")).status).toBe(404);
    expect((await send("POST", "/session/made/attachment?create_session=true&attachment_id=x", {}, "x")).status).toBe(
      200,
    );
    await send("POST", "/session/made/message", { "content-type": "application/json" }, named("x"));
    expect(await idsOf("made")).toEqual(["x"]);
  });

  test("goes over HTTP/2, too", async () => {
    const path = "/session/s/attachment?attachment_id=up2";
    const { status, body } = await send2("POST", path, { "content-type": "image/png" }, BYTES);
    expect([status, JSON.parse(body.toString())]).toEqual([200, expect.objectContaining({ sha256: SHA256 })]);
  });

  test("is taken as it is, whatever its type says", async () => {
    const type = "multipart/form-data; boundary=x";
    const { json } = await upload("attachment_id=form", "--x--", { "content-type": type });
    expect(json).toMatchObject({ mediaType: type, size: "5" });
    expect((await upload("attachment_id=json", "{", { "content-type": "application/json" })).status).toBe(200);
  });

  test("over the limit is 413, by Content-Length before any byte is sent", async () => {
    const { status, json } = await upload("attachment_id=big", Buffer.alloc(LIMIT + 1));
    expect([status, json.code, json.message]).toEqual([413, 8, `The body is larger than ${LIMIT} bytes`]);
    const chunked = await upload("attachment_id=big", Buffer.alloc(LIMIT + 1), { "transfer-encoding": "chunked" });
    expect([chunked.status, chunked.json.code]).toEqual([413, 8]);
    const [ours, none] = [await raw(LIMIT), await raw(LIMIT + 1)];
    expect(ours).toMatch(/^HTTP\/1.1 100 Continue\r\n/);
    expect(none).toMatch(/^HTTP\/1.1 413 /);
    expect(none).toMatch(/\r\nconnection: close\r\n/i);
    expect((await download("big")).status).toBe(404);
  });

  test("is checked against the digest, the size and the type that it names", async () => {
    const digest = createHash("sha256").update("hello").digest("base64");
    const wrong = createHash("sha256").update("other").digest("base64");
    const hex = createHash("sha256").update("hello").digest("hex");
    const right: [string, Record<string, string>][] = [
      ["d1", { "content-digest": `sha-256=:${digest}:` }],
      ["d2", { "content-digest": `md5=:AAAA:, sha-256=:${digest}:;x=1` }],
      ["d3", { digest: `MD5=AAAA==,SHA-256=${digest}` }],
      ["d4", { digest: `sha-256=${digest}`, "content-digest": `sha-256=:${digest}:` }],
      ["d5", { "content-digest": "md5=:AAAA:" }],
      [
        `d6&sha256=${hex.toUpperCase()}&size=5&media_type=a%2Fb`,
        { "content-type": "a/b", "content-digest": `sha-256=:${digest}:` },
      ],
    ];
    for (const [id, headers] of right) {
      expect([id, (await upload(`attachment_id=${id}`, "hello", headers)).status]).toEqual([id, 200]);
    }
    const refused: [string, Record<string, string>][] = [
      ["", { "content-digest": `sha-256=:${wrong}:` }],
      ["", { digest: `SHA-256=${wrong}` }],
      ["", { digest: `sha-256=${wrong}`, "content-digest": `sha-256=:${digest}:` }],
      ["", { "content-digest": `sha-256=:${digest}:, sha-256=:${wrong}:` }],
      ["", { "content-digest": `sha-256=${digest}` }],
      ["", { "content-digest": "sha-256=:AAAA:" }],
      ["", { "content-digest": `sha-256=:${digest.slice(0, -1)}:` }],
      ["", { "content-digest": "what" }],
      ["", { digest: "SHA-256=hello" }],
      [`sha256=${"0".repeat(64)}`, { "content-digest": `sha-256=:${digest}:` }],
      [`sha256=${"0".repeat(64)}`, {}],
      ["size=4", {}],
      ["media_type=a%2Fb", { "content-type": "a/c" }],
      ["", { "content-type": "nonsense" }],
      ["chunk=aGVsbG8%3D", {}],
    ];
    for (const [query, headers] of refused) {
      const { status, json } = await upload(`attachment_id=refused&${query}`, "hello", headers);
      expect([query, headers, status, json.code]).toEqual([query, headers, 400, 3]);
    }
    expect((await download("refused")).status).toBe(404);
  });

  test("is not decoded", async () => {
    const { status, json, headers } = await upload("", "x", { "content-encoding": "gzip" });
    expect([status, json.code, headers["accept-encoding"]]).toEqual([415, 3, "identity"]);
    expect((await upload("", "x", { "content-encoding": "identity" })).status).toBe(200);
  });

  test("that its client gives up leaves nothing", async () => {
    const stored = /session_pool_attachment_stored_bytes_total\{front="rest"\} (\d+)\n/;
    const storedBytes = async () => Number(stored.exec((await send("GET", "/metrics")).body.toString())?.[1]);
    const before = await storedBytes();
    // More than may be under way at a time.
    for (let i = 0; i < 9; i++) {
      const socket = connect(server.httpPort, "127.0.0.1");
      socket.write("POST /session/s/attachment HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc");
      await once(socket, "connect");
      await send("GET", "/session/s");
      socket.resetAndDestroy();
      await resetUpload(i % 2 === 0);
    }
    await poll(async () => (await upload("attachment_id=after", "whole")).status === 200, "they have ended");
    const early = /session_pool_uploads_ended_early_total\{front="rest"\} (\d+)\n/;
    const ended = async () => Number(early.exec((await send("GET", "/metrics")).body.toString())?.[1]);
    await poll(async () => (await ended()) >= 13, "all that had begun have been counted");
    expect(await storedBytes()).toBe(before + "whole".length);
  });
});

describe("hostile requests", () => {
  test("put no headers into answers", async () => {
    for (const query of ["name=a%0d%0aX-Evil:%201", "name=%00", "media_type=a%2Fb%0d%0aX-Evil:%201", "name=%c2%85"]) {
      const { status, json } = await upload(`attachment_id=evil&${query}`, "x");
      expect([query, status, json.code]).toEqual([query, 400, 3]);
    }
    // A header may have characters of Latin-1, which no header of ours repeats.
    const type = "text/plain; x=\u00e9";
    expect((await upload("attachment_id=latin&name=%22%3b%20a%3d%22", "x", { "content-type": type })).status).toBe(200);
    const { headers } = await download("latin");
    expect(headers["content-type"]).toBe("text/plain");
    expect(headers["content-disposition"]).toBe('inline; filename="_; a=_"');
  });

  test("store nothing that is shorter or longer than they say", async () => {
    const head = "POST /session/s/attachment?attachment_id=length HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
    const short = connect(server.httpPort, "127.0.0.1");
    short.end(`${head}10\r\n\r\nshort`);
    await short.toArray();
    expect((await download("length")).status).toBe(404);
    const both = connect(server.httpPort, "127.0.0.1");
    both.end(`${head}3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`);
    expect(Buffer.concat(await both.toArray()).toString()).toMatch(/^HTTP\/1.1 400 /);
    expect((await download("length")).status).toBe(404);
    const long = connect(server.httpPort, "127.0.0.1");
    long.end(`${head}3\r\n\r\nabcdef\r\n\r\n`);
    await long.toArray();
    // The connection may end before the answer, but what follows the body never becomes part of it.
    const { status, body } = await download("length");
    expect(status === 404 || body.toString() === "abc").toBe(true);
    const path = "/session/s/attachment?attachment_id=length2";
    await expect(send2("POST", path, { "content-length": "10" }, Buffer.from("short"))).rejects.toThrow();
    expect((await download("length2")).status).toBe(404);
  });

  test("get the bytes once, however many ranges they ask for", async () => {
    const range = `bytes=${Array.from({ length: 1500 }, (_, i) => `${i}-`).join(",")}`;
    const { status, body } = await download("a", { range });
    expect([status, body.length]).toEqual([200, BYTES.length]);
  });
});

describe("the other routes", () => {
  test("list what messages name, and delete what none does", async () => {
    const json = { "content-type": "application/json" };
    await upload("attachment_id=named", "x");
    await send("POST", "/session/s/message", json, named("named", "m1"));
    expect((await send("GET", "/session/s/attachment")).json).toEqual({
      attachments: [expect.objectContaining({ attachmentId: "named", size: "1", messageIds: ["m1"] })],
      nextPageToken: "",
    });
    const inUse = await send("DELETE", "/session/s/attachment/named");
    expect([inUse.status, inUse.json.code]).toEqual([400, 9]);
    await upload("attachment_id=unnamed", "x");
    expect((await send("DELETE", "/session/s/attachment/unnamed")).json).toEqual({});
    expect((await send("DELETE", "/session/s/attachment/unnamed")).status).toBe(404);
    const { headers } = await send("OPTIONS", "/session/s/attachment/named");
    expect(headers.allow).toBe("DELETE, GET, HEAD, OPTIONS");
  });

  test("give the part of a message what is known of its attachment", async () => {
    const { json } = await send("GET", "/session/s/message/m1");
    const sha256 = createHash("sha256").update("x").digest("hex");
    const attachment = { attachmentId: "named", mediaType: "application/octet-stream", name: "", size: "1", sha256 };
    expect(json.parts).toEqual([{ id: "", type: "file", text: "", attachment: { ...attachment, missing: false } }]);
  });
});

function named(attachmentId: string, id = "m"): string {
  return JSON.stringify({ info: { id, role: "user" }, parts: [{ type: "file", attachment: { attachmentId } }] });
}

/** Begins an upload over HTTP/2, and resets its stream when it has begun, or at once. */
async function resetUpload(atOnce: boolean): Promise<void> {
  const client = FrameClient.open(server.httpPort);
  const path = { ":method": "POST", ":scheme": "http", ":authority": "localhost", ":path": "/session/s/attachment" };
  const begin = [
    frame(FRAME.headers, FLAG.endHeaders, 1, headerBlock(path)),
    frame(FRAME.data, 0, 1, Buffer.from("abc")),
  ];
  const reset = frame(FRAME.rstStream, 0, 1, Buffer.from([0, 0, 0, 8]));
  const isAnswered = (id: number) =>
    client.awaitFrame(({ type, streamId }) => type === FRAME.headers && streamId === id);
  if (atOnce) client.send(...begin, reset);
  else {
    client.send(...begin);
    await send("GET", "/session/s");
    client.send(reset);
  }
  client.send(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 3, headerBlock({ ...path, ":method": "GET" })));
  await isAnswered(3);
  client.socket.destroy();
}

/** The first bytes of the answer to an upload that waits to be allowed to send its body. */
async function raw(length: number): Promise<string> {
  const socket = connect(server.httpPort, "127.0.0.1");
  const head = `POST /session/s/attachment HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: ${length}`;
  socket.write(`${head}\r\n\r\n`);
  const [first] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return first.toString();
}
