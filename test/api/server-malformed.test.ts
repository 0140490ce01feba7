import { connect as connectH2, constants, type IncomingHttpHeaders } from "node:http2";
import { createConnection } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CountMessagesRequestSchema, MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { DEFAULT_SERVER_LIMITS } from "../../src/config/config.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { expectStillServing } from "../support/still-serving.js";

const BODY_BYTES = 64 * 1024;
const COUNT = "/sessionpool.v1.MessageService/CountMessages";
const GET_SESSION = "/sessionpool.v1.SessionService/GetSession";
const CHUNKED = "Transfer-Encoding: chunked\r\n\r\n";
const GARBAGE = Buffer.from([0xff, 0xff, 0xff, 0xff]);
const VALID = Buffer.from(
  toBinary(CountMessagesRequestSchema, create(CountMessagesRequestSchema, { sessionId: "nobody" })),
);

let server: TestServer;
let grpc: GrpcClient;

beforeAll(async () => {
  server = await startTestServer({ serverLimits: { ...DEFAULT_SERVER_LIMITS, bodyBytes: BODY_BYTES } });
  grpc = new GrpcClient(server.grpcAddress);
});

afterAll(async () => {
  await expectStillServing(server);
  grpc.close();
  await server.stop();
});

describe("the gRPC port answers", () => {
  it("invalid_argument to bytes that are not a message", async () => {
    const outcome = await grpc.callBytes(MessageService.method.countMessages, GARBAGE);
    expect(outcome).toMatchObject({ code: 3, message: expect.stringContaining("CountMessagesRequest") });
  });

  it("resource_exhausted to a message that is too large", async () => {
    const bytes = Buffer.alloc(BODY_BYTES + 1024 * 1024 + 1);
    expect(await grpc.callBytes(MessageService.method.countMessages, bytes)).toMatchObject({ code: 8 });
  });

  it("with an error that shortens a quoted value that is too long for a header", async () => {
    const label = "l".repeat(100_000);
    expect(await grpc.call(SessionService, "ListSessions", { label: [label] })).toMatchObject({
      code: 3,
      message: expect.stringMatching(/^label\[0\] is "l+…l+"; it must be key=value$/),
    });
  });

  it("invalid_argument to text that contains a lone surrogate", async () => {
    const id = Buffer.from(VALID);
    id.set([0xed, 0xa0, 0x80], 2);
    expect(await grpc.callBytes(MessageService.method.countMessages, id)).toMatchObject({ code: 3 });
  });

  it.each([
    ["broken gzip", { "grpc-encoding": "gzip" }, Buffer.concat([Buffer.from([1, 0, 0, 0, 4]), GARBAGE]), "3"],
    ["truncated gzip", { "grpc-encoding": "gzip" }, frame(gzipSync(VALID).subarray(0, 15), 1), "3"],
    ["gzip that grows too large", { "grpc-encoding": "gzip" }, frame(gzipSync(Buffer.alloc(2 ** 21)), 1), "8"],
    ["good deflate", { "grpc-encoding": "deflate" }, frame(deflateSync(VALID), 1), "5"],
    ["an unknown compression", { "grpc-encoding": "zip" }, frame(VALID, 1), "12"],
    ["a broken timeout", { "grpc-timeout": "soon" }, frame(VALID), "3"],
    ["a timeout of no time at all", { "grpc-timeout": "0S" }, frame(VALID), "4"],
    ["a timeout beyond all timers", { "grpc-timeout": "99999999M" }, frame(VALID), "5"],
    ["no message", {}, Buffer.alloc(0), "12"],
    ["two messages", {}, Buffer.concat([frame(VALID), frame(VALID)]), "12"],
    ["a frame that is cut off", {}, frame(VALID).subarray(0, 7), "12"],
    ["good gzip", { "grpc-encoding": "gzip" }, frame(gzipSync(VALID), 1), "5"],
  ])("%s", async (_what, headers, body, code) => {
    const answer = await h2Request(`http://${server.grpcAddress}`, COUNT, { ...GRPC_HEADERS, ...headers }, body);
    expect(answer.grpcStatus).toBe(code);
  });

  it.each(["-1S", "1.5S", "123456789S", "1 S", "1s", "1S, 1S"])(
    "a timeout of %j as the HTTP port does",
    async (timeout) => {
      const headers = { ...GRPC_HEADERS, "grpc-timeout": timeout };
      const answers = [];
      for (const url of [`http://${server.grpcAddress}`, server.httpUrl]) {
        answers.push(await h2Request(url, COUNT, headers, frame(VALID)));
      }
      const text = `Grpc-Timeout must be up to 8 digits and one of H M S m u n; it is ${JSON.stringify(timeout)}`;
      const expected = { status: 200, grpcStatus: "3", grpcMessage: text };
      expect(answers).toEqual([expected, expected]);
    },
  );

  it.each([
    ["an unknown method", "/sessionpool.v1.MessageService/Nope", "12"],
    ["an unknown service", "/nope.Nope/Nope", "12"],
    ["a strange path", "/%", "12"],
  ])("%s", async (_what, path, code) => {
    const answer = await h2Request(`http://${server.grpcAddress}`, path, GRPC_HEADERS, frame(VALID));
    expect(answer.grpcStatus).toBe(code);
  });

  it("with a closed connection to bytes that are not HTTP/2", async () => {
    const answer = await rawRequest(
      Number(server.grpcAddress.split(":")[1]),
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    expect(answer).not.toContain("200");
  });
});

describe("Connect answers", () => {
  it.each([
    ["malformed JSON", "{", 400, "invalid_argument"],
    ["an empty body", "", 400, "invalid_argument"],
    ["JSON that is not an object", "[]", 400, "invalid_argument"],
    ["an unknown field", '{"sessionId":"a","nope":1}', 400, "invalid_argument"],
    ["a field given under both its names", '{"sessionId":"a","session_id":"a"}', 400, "invalid_argument"],
    ["a wrong type", '{"sessionId":5}', 400, "invalid_argument"],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400, "invalid_argument"],
    ["a body that is too large", `{"sessionId":"${"a".repeat(BODY_BYTES)}"}`, 429, "resource_exhausted"],
  ])("%s", async (_what, body, status, code) => {
    expect(await post(COUNT, "application/json", body)).toMatchObject({ status, body: { code } });
  });

  it.each([
    ["malformed protobuf", {}, GARBAGE, 400, "invalid_argument"],
    ["broken gzip", { "content-encoding": "gzip" }, GARBAGE, 400, "invalid_argument"],
    ["an unknown compression", { "content-encoding": "toString" }, VALID, 501, "unimplemented"],
    [
      "gzip that grows too large",
      { "content-encoding": "gzip" },
      gzipSync(Buffer.alloc(BODY_BYTES + 1)),
      429,
      "resource_exhausted",
    ],
    ["a broken timeout", { "connect-timeout-ms": "soon" }, VALID, 400, "invalid_argument"],
    ["a timeout of no time at all", { "connect-timeout-ms": "0" }, VALID, 504, "deadline_exceeded"],
    ["good gzip", { "content-encoding": "gzip" }, gzipSync(VALID), 404, "not_found"],
    ["a timeout longer than any timer", { "connect-timeout-ms": "9999999999" }, VALID, 404, "not_found"],
  ])("%s (binary)", async (_what, headers, body, status, code) => {
    expect(await post(COUNT, "application/proto", body, headers)).toMatchObject({ status, body: { code } });
  });

  it.each([
    ["encoding=json", 400],
    ["message=%7B%7D", 400],
    ["encoding=json&message=%7B", 400],
    ["encoding=json&base64=1&message=***", 400],
    ["encoding=proto&base64=1&message=_____w", 400],
    ["encoding=json&compression=gzip&base64=1&message=_____w", 400],
    ["encoding=json&message=%7B%7D&message=%7B%7D", 400],
    ["encoding=xml&message=%7B%7D", 415],
    [`encoding=proto&base64=1&message=${VALID.toString("base64url")}`, 404],
    [`encoding=json&base64=1&message=${Buffer.from('{"sessionId":"nobody"}').toString("base64url")}`, 404],
    ["encoding=json&message=%", 400],
  ])("GET with %s", async (query, status) => {
    const response = await fetch(`${server.httpUrl}${COUNT}?${query}`);
    expect(response.status).toBe(status);
    const code = { 400: "invalid_argument", 404: "not_found" }[status];
    if (code !== undefined) expect(await response.json()).toMatchObject({ code });
  });

  it.each([
    ["GET", "/sessionpool.v1.SessionService/DeleteSession?encoding=json&message=%7B%7D", "POST"],
    ["PUT", "/sessionpool.v1.SessionService/DeleteSession", "POST"],
    ["DELETE", COUNT, "GET, POST"],
    ["OPTIONS", COUNT, "GET, POST"],
    ["GET", "/sessionpool.v1.MessageService/WatchMessages", "POST"],
  ])("405 with the methods that are allowed to %s %s", async (method, path, allow) => {
    const response = await fetch(server.httpUrl + path, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
  });

  it("415 to other media types", async () => {
    expect((await post(COUNT, "text/plain", "{}")).status).toBe(415);
  });

  it("an error to each stream of malformed frames", async () => {
    const watch = "/sessionpool.v1.MessageService/WatchMessages";
    for (const body of [Buffer.from([9]), frame(Buffer.from("{"), 0), frame(Buffer.from("{}"), 4), Buffer.alloc(0)]) {
      const response = await fetch(`${server.httpUrl}${watch}`, {
        method: "POST",
        headers: { "content-type": "application/connect+json" },
        body,
      });
      const end = Buffer.from(await response.arrayBuffer());
      expect(end[0]).toBe(2);
      expect(JSON.parse(end.subarray(5).toString())).toMatchObject({
        error: { code: expect.stringMatching(/invalid_argument|unimplemented/) },
      });
    }
  });

  it("404 to methods of TodoTrackerService", async () => {
    expect((await post("/sessionpool.v1.TodoTrackerService/AddTodo", "application/json", "{}")).status).toBe(404);
  });
});

describe("an integer that a double cannot hold", () => {
  const append = (n: string) => `{"sessionId":"s","message":{"info":{"role":"user","metadata":{"n":${n}}}}}`;

  it.each([
    ["9007199254740993", 400],
    ["9007199254740992", 404],
  ])("is refused by Connect JSON with the path of its field, unlike the next smaller one: %s", async (n, status) => {
    const answer = await fetch(`${server.httpUrl}/sessionpool.v1.MessageService/AppendMessage`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: append(n),
    });
    expect(answer.status).toBe(status);
    const { message } = (await answer.json()) as { message: string };
    if (status === 400) expect(message).toMatch(/^message\.info\.metadata\.n: the integer 9007199254740993/);
  });
});

describe("gRPC and gRPC-Web on the HTTP port answer", () => {
  it.each([
    ["bytes that are not a message", {}, frame(GARBAGE), "3"],
    ["broken gzip", { "grpc-encoding": "gzip" }, frame(GARBAGE, 1), "3"],
    ["a compressed message without the name of its compression", {}, frame(gzipSync(VALID), 1), "13"],
    ["a message that is too large", {}, frame(Buffer.alloc(BODY_BYTES + 1)), "8"],
    ["a broken timeout", { "grpc-timeout": "soon" }, frame(VALID), "3"],
    ["a good call", {}, frame(VALID), "5"],
  ])("%s", async (_what, headers, body, code) => {
    const answer = await h2Request(server.httpUrl, COUNT, { ...GRPC_HEADERS, ...headers }, body);
    expect(answer.grpcStatus).toBe(code);
    const response = await fetch(`${server.httpUrl}${COUNT}`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+proto", ...headers },
      body,
    });
    expect(Buffer.from(await response.arrayBuffer()).toString("latin1")).toContain(`grpc-status: ${code}`);
  });
});

describe("the HTTP port answers", () => {
  it.each([
    ["no host", `POST ${GET_SESSION} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`],
    ["a port number out of range", `POST ${GET_SESSION} HTTP/1.1\r\nHost: a:99999\r\nContent-Length: 0\r\n\r\n`],
    ["an invalid host", `GET /session HTTP/1.1\r\nHost: a/../%\r\n\r\n`],
    ["HTTP/1.0 without a host", "GET /session HTTP/1.0\r\n\r\n"],
    ["an invalid request line", "NONSENSE\r\n\r\n"],
    ["two hosts", "GET /session HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n"],
    [
      "two hosts besides a target in absolute form",
      "GET http://localhost/session HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ],
    [
      "a Content-Length together with chunks",
      `POST /session HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n${CHUNKED}0\r\n\r\n`,
    ],
    [
      "a transfer coding after chunked",
      `POST /session HTTP/1.1\r\nHost: a\r\n${CHUNKED.replace("\r\n\r\n", ", gzip\r\n\r\n")}0\r\n\r\n`,
    ],
    ["a chunk without a size", `POST /session HTTP/1.1\r\nHost: localhost\r\n${CHUNKED}{}\r\n0\r\n\r\n`],
    ["a header on two lines", "GET /session HTTP/1.1\r\nHost: localhost\r\nX-A: a\r\n b\r\n\r\n"],
    ["lines without a carriage return", "GET /session HTTP/1.1\nHost: localhost\n\n"],
    ["a space before a colon", "GET /session HTTP/1.1\r\nHost : localhost\r\n\r\n"],
    ["two lengths", "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
  ])("400 to %s", async (_what, text) => {
    expect(await rawRequest(server.httpPort, text)).toMatch(/^HTTP\/1.1 400 /);
  });

  it("501 to a transfer coding that it does not decode", async () => {
    const head = "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const body = "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    expect(await rawRequest(server.httpPort, head + body)).toMatch(/^HTTP\/1.1 501 /);
  });

  it("400 to an invalid authority", async () => {
    const answer = await h2Request(server.httpUrl, GET_SESSION, { ":authority": "%" }, Buffer.from("{}"));
    expect(answer.status).toBe(400);
  });

  it.each(["h2c", "websocket"])("200 to an HTTP/1.1 request that offers to upgrade to %s", async (protocol) => {
    const offer = `Connection: Upgrade, close\r\nUpgrade: ${protocol}\r\n`;
    const body = `Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
    const get = await rawRequest(server.httpPort, `GET /session HTTP/1.1\r\nHost: localhost\r\n${offer}\r\n`);
    expect(get).toMatch(/^HTTP\/1.1 200 /);
    const post = await rawRequest(server.httpPort, `POST /session HTTP/1.1\r\nHost: localhost\r\n${offer}${body}`);
    expect(post).toMatch(/^HTTP\/1.1 200 /);
  });

  it("431 to more headers than the limit, which it names", async () => {
    const answer = await rawRequest(
      server.httpPort,
      `GET /session?label=${"x".repeat(16_384)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 431 Request Header Fields Too Large\r\n/);
    expect(answer).toContain("The request line and the headers are larger than 16384 bytes together");
  });

  it("200 to HTTP/1.0 with a host", async () => {
    expect(await rawRequest(server.httpPort, "GET /session HTTP/1.0\r\nHost: localhost\r\n\r\n")).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });
});

describe("a request target in absolute form", () => {
  it.each([
    ["/healthz", "GET", ""],
    ["/session?limit=1", "GET", ""],
    ["/readyz", "HEAD", ""],
    ["/sessionpool.v1.SessionService/ListSessions", "POST", "{}"],
  ])("is served as if it were only the path: %s", async (path, method, body) => {
    const headers = `Host: evil.example\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const answer = await rawRequest(server.httpPort, `${method} http://localhost${path} HTTP/1.1\r\n${headers}${body}`);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it("is refused for a host that is not served, whatever the Host header says", async () => {
    const text = "GET http://evil.example/session HTTP/1.1\r\nHost: localhost\r\n\r\n";
    expect(await rawRequest(server.httpPort, text)).toMatch(/^HTTP\/1.1 421 /);
  });
});

describe("bytes that are not a request, pipelined after a request", () => {
  it.each([
    ["a call", "GET /session HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["a stream", "GET /session/nobody/message:watch HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ])("end the connection, and their error does not answer the request before them: %s", async (_what, request) => {
    expect(await rawRequest(server.httpPort, `${request}NONSENSE\r\n\r\n`)).not.toContain(" 400 ");
  });
});

describe("the HTTP port survives", () => {
  it.each([
    ["a connection that sends nothing", ""],
    ["half a preface", "PRI * HT"],
    ["a preface followed by garbage", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\0".repeat(100)}`],
    ["an upgrade", "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
    ["a CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    [
      "a body that never comes",
      `POST ${GET_SESSION} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    ],
    ["a stream that is abandoned at once", "GET /session/nobody/message:watch HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ])("%s", async (_what, text) => {
    await abandonedRequest(server.httpPort, text);
    expect((await fetch(`${server.httpUrl}/healthz`)).status).toBe(200);
  });

  it("requests that arrive one byte at a time", async () => {
    const text = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    expect(await rawRequest(server.httpPort, ...text)).toMatch(/^HTTP\/1.1 200 /);
  });

  it("HTTP/2 streams that are reset", async () => {
    const session = connectH2(server.httpUrl);
    const stream = session.request({ ":method": "POST", ":path": COUNT, ...GRPC_HEADERS });
    stream.on("error", () => undefined);
    stream.write(frame(VALID).subarray(0, 6));
    stream.close(constants.NGHTTP2_CANCEL);
    await new Promise((resolve) => stream.once("close", resolve));
    session.destroy();
    expect((await fetch(`${server.httpUrl}/healthz`)).status).toBe(200);
  });
});

it("serves HTTP/1.1 and HTTP/2 on one port", async () => {
  expect((await fetch(`${server.httpUrl}/session`)).status).toBe(200);
  const answer = await h2Request(server.httpUrl, "/sessionpool.v1.SessionService/ListSessions", {}, Buffer.from("{}"));
  expect(answer.status).toBe(200);
  expect(SessionService.method.listSessions.name).toBe("ListSessions");
});

const GRPC_HEADERS = { "content-type": "application/grpc", te: "trailers" };

function frame(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

async function post(
  path: string,
  contentType: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${server.httpUrl}${path}`, {
    method: "POST",
    headers: { "content-type": contentType, ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

interface H2Answer {
  readonly status: number;
  readonly grpcStatus: string | undefined;
  readonly grpcMessage: string | undefined;
}

function h2Request(url: string, path: string, headers: Record<string, string>, body: Buffer): Promise<H2Answer> {
  return new Promise((resolve, reject) => {
    const session = connectH2(url);
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/json",
      ...headers,
    });
    const answer: { -readonly [K in keyof H2Answer]: H2Answer[K] } = {
      status: 0,
      grpcStatus: undefined,
      grpcMessage: undefined,
    };
    const takeStatus = (headers: IncomingHttpHeaders) => {
      if (headers["grpc-status"] === undefined) return;
      answer.grpcStatus = String(headers["grpc-status"]);
      answer.grpcMessage = decodeURIComponent(String(headers["grpc-message"]));
    };
    stream.on("response", (head) => {
      answer.status = head[":status"] ?? 0;
      takeStatus(head);
    });
    stream.on("trailers", takeStatus);
    stream.on("error", () => undefined);
    stream.on("close", () => {
      session.destroy();
      resolve(answer);
    });
    stream.resume();
    stream.end(body);
  });
}

/** Sends the pieces one after the other. Resolves to everything that was received once the other side has closed. */
function rawRequest(port: number, ...pieces: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1");
    let answer = "";
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      answer += chunk;
      if (answer.includes("\r\n\r\n")) socket.end();
    });
    socket.on("close", () => resolve(answer));
    const sendNext = () => {
      const piece = pieces.shift();
      if (piece !== undefined) socket.write(piece, () => setImmediate(sendNext));
    };
    sendNext();
  });
}

function abandonedRequest(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1", () => socket.write(text, () => socket.resetAndDestroy()));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
  });
}
