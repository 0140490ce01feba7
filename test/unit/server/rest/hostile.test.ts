import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ApiError } from "../../../../src/api/api-error.js";
import { RestServer } from "./rest-server.js";

const BODY_BYTES = 64 * 1024;

let server: RestServer;
let server2: RestServer;
const unhandled: unknown[] = [];
const note = (error: unknown): number => unhandled.push(error);

beforeAll(async () => {
  process.on("unhandledRejection", note);
  server = await RestServer.start({ limits: { bodyBytes: BODY_BYTES } });
  server2 = await RestServer.start({ limits: { bodyBytes: BODY_BYTES }, http2: true });
});
afterAll(async () => {
  await server.stop();
  await server2.stop();
  process.off("unhandledRejection", note);
});
afterEach(async () => {
  for (const one of [server, server2]) one.pipeline.refusedKey = undefined;
  // Whatever was sent, both servers must still answer and must have reported no error.
  expect((await server.request("GET", "/session/s")).status).toBe(200);
  expect((await server2.request2("GET", "/session/s")).status).toBe(200);
  expect([...server.unexpected, ...server2.unexpected, ...unhandled]).toEqual([]);
});

/** Sends bytes as they are. Resolves to everything that the server sends until it closes the connection. */
function sendRaw(text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(server.port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => {});
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    socket.end(text);
  });
}

function get(target: string, version = "1.1", headers = "Host: x\r\n"): Promise<string> {
  return sendRaw(Buffer.from(`GET ${target} HTTP/${version}\r\n${headers}Connection: close\r\n\r\n`, "latin1"));
}

describe("over HTTP/1", () => {
  test("a request with HTTP/1.0 and a Host is answered", async () => {
    const answer = await get("/session/s", "1.0");
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain("\r\n\r\n{");
  });

  test("a stream over HTTP/1.0 is not chunked", async () => {
    expect(await get("/session/s/message:watch", "1.0")).not.toMatch(/transfer-encoding/i);
  });

  test.each([
    ["http://example.com/session/s", 200],
    ["HTTPS://x:1/session/s?session_id=s", 200],
    ["http://example.com", 404],
    ["http://example.com?x", 404],
    ["ftp://example.com/session/s", 404],
    ["*", 404],
    ["/", 404],
    ["?", 400],
    ["session", 400],
    ["/session/%", 400],
    ["/session/%c3%28", 400],
    ["/session/\xe9", 400],
    [`/session/${"a%2f".repeat(2000)}`, 200],
    [`/session/${"../".repeat(2000)}`, 404],
    [`/${"a/".repeat(4000)}`, 404],
    [`/session?${"&".repeat(8000)}`, 200],
    [`/session/s/message?${"a=1&".repeat(2000)}`, 400],
    [`/session/${"a".repeat(20_000)}`, 431],
    ["/session/a\\b", 200],
    ["/session/a#b", 200],
  ])("GET %.40s gets the status %i", async (target, status) => {
    expect(await get(target)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test("several pipelined requests, some of them bad, are answered in order", async () => {
    const answers = await sendRaw(
      "GET /session/s HTTP/1.1\r\nHost: x\r\n\r\nGET /session/% HTTP/1.1\r\nHost: x\r\n\r\n" +
        "POST /session HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\n{}" +
        "GET /session/s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual([200, 400, 415, 200].map((status) => `HTTP/1.1 ${status}`));
  });

  test.each([
    "POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    "POST /session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    "POST /session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
    "POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    "POST /session HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n\x1f\x8b",
    "POST /session HTTP/1.1\r\n",
    "\x00\x01\x02\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n",
  ])("%j does not succeed", async (text) => {
    expect(await sendRaw(text)).not.toMatch(/^HTTP\/1\.1 2/);
    expect(server.pipeline.calls.filter(({ method }) => method === "CreateSession")).toEqual([]);
  });

  test.each(["headers", "body"])("a client may disconnect after its %s", async (when) => {
    const socket = connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    const seen = server.pipeline.calls.length;
    server.pipeline.answer = (_method, _request, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new ApiError(Code.Canceled, "gone")));
        socket.destroy();
      });
    socket.write("POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n{");
    if (when === "headers") socket.destroy();
    else socket.write(`${" ".repeat(3998)}}`);
    await once(socket, "close");
    if (when === "body") await expect.poll(() => server.pipeline.calls.at(seen)?.call.signal.aborted).toBe(true);
    server.pipeline.answer = async ({ desc }) => ({ $typeName: desc.output.typeName });
  });

  test("a client that is still sending gets its answer, and the connection stays usable", async () => {
    server.pipeline.refusedKey = new ApiError(Code.Unauthenticated, "no");
    const socket = connect(server.port, "127.0.0.1");
    const size = 8 * 1024 * 1024;
    socket.write(`POST /session HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n`);
    const [head] = await once(socket, "data");
    expect(String(head)).toMatch(/^HTTP\/1\.1 401 /);
    server.pipeline.refusedKey = undefined;
    socket.write(Buffer.alloc(size));
    socket.write("GET /session/s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test("a client that never stops sending is disconnected", async () => {
    const socket = connect(server.port, "127.0.0.1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    socket.write("POST /session HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(0x10000), Buffer.from("\r\n")]);
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    const write = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", write);
    write();
    await closed;
    expect(answer).toMatch(/^HTTP\/1\.1 415 /);
  });

  test("random bytes anywhere in a request cause no server error", async () => {
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.stringMatching(/^[%/.:{}?&=+ a-f0-9]{0,60}$/),
      fc.constantFrom(
        "session",
        "/session/",
        "%2e",
        "%",
        "message:",
        "\u0000",
        '{"',
        "[[[[",
        "application/json",
        "gzip",
      ),
    );
    const request = fc.record({
      method: fc.constantFrom("GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "X"),
      path: fc.array(hostile, { maxLength: 5 }).map((parts) => `/session/${parts.join("")}`),
      name: fc.constantFrom(
        "content-type",
        "content-encoding",
        "accept",
        "accept-encoding",
        "grpc-timeout",
        "host",
        "x",
      ),
      value: hostile,
      body: fc.oneof(hostile, fc.json()),
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, name, value, body }) => {
        const bytes = Buffer.from(body);
        const head = `${method} ${path} HTTP/1.1\r\n${name}: ${value}\r\ncontent-length: ${bytes.length}\r\nconnection: close\r\n\r\n`;
        const answer = await sendRaw(Buffer.concat([Buffer.from(head), bytes]));
        expect(answer).toMatch(/^(HTTP\/1\.1 [1-4]\d\d |$)/);
      }),
      { numRuns: 500 },
    );
  });
});

describe("over HTTP/2", () => {
  test.each([
    ["GET", "/session/s", 200],
    ["HEAD", "/session/s", 200],
    ["GET", "/session/%", 400],
    ["GET", "/session/é", 400],
    ["OPTIONS", "*", 204],
    ["PUT", "/session", 405],
    ["GET", "//session", 404],
  ])("%s %s gets the status %i", async (method, path, status) => {
    const answer = await server2.request2(method, path);
    expect(answer.status).toBe(status);
  });

  test("a request may have a body or none", async () => {
    const headers = { "content-type": "application/json" };
    expect((await server2.request2("POST", "/session", { headers, body: '{"title":"t"}' })).status).toBe(200);
    expect(server2.pipeline.last.request.title).toBe("t");
    expect((await server2.request2("POST", "/session")).status).toBe(200);
    expect(server2.pipeline.last.request.title).toBe("");
    const large = await server2.request2("POST", "/session", { headers, body: Buffer.alloc(BODY_BYTES + 1) });
    expect([large.status, (large.json as { code: number }).code]).toEqual([413, Code.ResourceExhausted]);
  });

  test.each([
    ["unread", 415, { "content-type": "text/plain" }],
    ["half read", 413, {}],
  ])("a client that is still sending what is %s gets its answer", async (_, status, headers) => {
    const session = connectHttp2(`http://127.0.0.1:${server2.port}`);
    const stream = session.request({ ":method": "POST", ":path": "/session", ...headers });
    stream.resume();
    stream.write(Buffer.alloc(4 * 1024 * 1024));
    const [received] = await once(stream, "response");
    expect(received[":status"]).toBe(status);
    stream.end();
    await once(stream, "close");
    session.close();
  });

  test("the stream of a client that never stops sending is reset without an error", async () => {
    const session = connectHttp2(`http://127.0.0.1:${server2.port}`);
    const stream = session.request({ ":method": "POST", ":path": "/session", "content-type": "text/plain" });
    stream.resume();
    const aborted = new Promise((resolve) => stream.once("aborted", resolve));
    const write = (): void => {
      while (!stream.destroyed && stream.write(Buffer.alloc(0x10000)));
    };
    stream.on("drain", write);
    write();
    await aborted;
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
    session.destroy();
  });

  test("a client may reset its stream while it sends", async () => {
    const session = connectHttp2(`http://127.0.0.1:${server2.port}`);
    for (const code of [constants.NGHTTP2_CANCEL, constants.NGHTTP2_INTERNAL_ERROR, constants.NGHTTP2_NO_ERROR]) {
      const stream = session.request({ ":method": "POST", ":path": "/session" });
      stream.on("error", () => {});
      stream.write('{"');
      stream.close(code);
      await new Promise((resolve) => stream.once("close", resolve));
    }
    session.destroy();
  });
});
