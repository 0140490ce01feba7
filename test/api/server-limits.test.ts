import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect as connectTcp } from "node:net";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import {
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/grpc/health/v1/health_pb.js";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../src/config/config.js";
import { PREFACE } from "../support/http2-frames.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";

const CHECK = "/grpc.health.v1.Health/Check";
const WATCH = "/grpc.health.v1.Health/Watch";
const APPEND = "/sessionpool.v1.MessageService/AppendMessage";

let server: TestServer;
const sessions: ClientHttp2Session[] = [];

afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await server.stop();
});

async function start(serverLimits: Partial<ServerLimits> = {}): Promise<void> {
  server = await startTestServer({ serverLimits: { ...DEFAULT_SERVER_LIMITS, ...serverLimits } });
}

describe("grpc.health.v1", () => {
  it("knows the existing services, and a watch of an unknown one gets SERVICE_UNKNOWN and stays open", async () => {
    await start();
    expect(await grpc(CHECK, health("sessionpool.v1.SessionService"))).toMatchObject({
      code: 0,
      statuses: ["SERVING"],
    });
    expect(await grpc(CHECK, health("nope"))).toMatchObject({ code: Code.NotFound });
    const watch = open(`http://${server.grpcAddress}`, WATCH);
    watch.stream.end(frame(health("nope")));
    await poll(() => watch.body().length > 0, "the state is reported");
    expect(statusesOf(watch.body())).toEqual(["SERVICE_UNKNOWN"]);
    expect(watch.isEnded()).toBe(false);
  });

  it("refuses bytes that are not protobuf, and names longer than that of any service", async () => {
    await start();
    expect(await grpc(CHECK, Buffer.from([0x0a, 5, 0x61]))).toMatchObject({ code: Code.InvalidArgument });
    expect(await grpc(WATCH, Buffer.from([0x0a]))).toMatchObject({ code: Code.InvalidArgument });
    for (const path of [CHECK, WATCH]) {
      expect(await grpc(path, health("n".repeat(2000)))).toMatchObject({ code: Code.ResourceExhausted });
    }
  });

  it("counts each watch against the limit of watchers", async () => {
    await start({ watchers: 1 });
    const first = open(`http://${server.grpcAddress}`, WATCH);
    first.stream.end(frame(health("")));
    await poll(() => first.body().length > 0, "the first watch is served");
    expect(await grpc(WATCH, health(""))).toMatchObject({ code: Code.ResourceExhausted });
    first.stream.close();
    await poll(async () => (await grpcOpens(WATCH, health(""))) === true, "a second watch is served");
  });
});

describe("a body that never ends", () => {
  it.each([
    ["gRPC", "grpc", APPEND, "application/grpc", Code.DeadlineExceeded, undefined],
    ["REST by HTTP/2", "http", "/session/s/message", "application/json", undefined, 408],
    ["Connect", "http", APPEND, "application/json", undefined, 504],
  ] as const)("ends the stream after the timeout (%s)", async (_name, port, path, type, code, status) => {
    await start({ bodyTimeoutMs: 100 });
    const url = port === "grpc" ? `http://${server.grpcAddress}` : server.httpUrl;
    const { stream, headers, isEnded } = open(url, path, { "content-type": type });
    stream.write(Buffer.from([0, 0, 0, 0, 9, 1]));
    await poll(() => headers() !== undefined, "an answer comes");
    if (code !== undefined) expect(headers()?.["grpc-status"]).toBe(String(code));
    if (status !== undefined) expect(Number(headers()?.[":status"])).toBe(status);
    await poll(isEnded, "the stream ends");
  });

  it("ends the connection after the timeout (REST over HTTP/1.1)", async () => {
    await start({ bodyTimeoutMs: 100 });
    const socket = connectTcp(server.httpPort, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.write("POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{");
    await poll(() => text.includes("\r\n\r\n"), "an answer comes");
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
  });

  it("is refused when the memory for requests is used up, and is counted until its stream ends", async () => {
    await start({ bufferedBytes: 100_000 });
    const held = open(`http://${server.grpcAddress}`, APPEND);
    const body = Buffer.alloc(60_000);
    body.writeUInt32BE(70_000, 1);
    held.stream.write(body);
    await poll(async () => (await buffered()) >= 60_000, "the body is counted");
    const second = open(`http://${server.grpcAddress}`, APPEND);
    second.stream.write(body);
    await poll(() => second.headers() !== undefined, "an answer comes");
    expect(second.headers()?.["grpc-status"]).toBe(String(Code.ResourceExhausted));
    await poll(second.isEnded, "its stream ends");
    held.stream.close();
    await poll(async () => (await buffered()) === 0, "no memory is held");
  });
});

it("a call of an unknown method is ended while its client is still sending (gRPC)", async () => {
  await start();
  const { stream, headers, isEnded } = open(`http://${server.grpcAddress}`, "/nope.Nope/Nope");
  stream.write(Buffer.from([0, 0, 0, 0, 9, 1]));
  await poll(isEnded, "the stream ends");
  expect(headers()).toMatchObject({ "grpc-status": "12", "grpc-message": "No%20such%20RPC:%20/nope.Nope/Nope" });
});

describe("a compressed request to the gRPC port", () => {
  const GZIP = { "content-type": "application/grpc", "grpc-encoding": "gzip" };
  const bomb = frame(gzipSync(Buffer.alloc(1_000_000)), 1);

  it("counts with its decompressed size", async () => {
    await start({ bufferedBytes: 100_000 });
    const { stream, headers, isEnded } = open(`http://${server.grpcAddress}`, APPEND, GZIP);
    stream.write(bomb);
    await poll(isEnded, "the call ends while its client has not ended it");
    expect(headers()?.["grpc-status"]).toBe(String(Code.ResourceExhausted));
    expect(headers()?.["grpc-message"]).toContain("100000%20bytes");
  });

  it("must not hold a second message, which would be decompressed beside the first", async () => {
    await start();
    const { stream, headers, isEnded } = open(`http://${server.grpcAddress}`, APPEND, GZIP);
    stream.write(Buffer.concat([bomb, bomb]));
    await poll(isEnded, "the call ends");
    expect(headers()?.["grpc-status"]).toBe(String(Code.Unimplemented));
  });

  it("is limited on methods that need no key, too", async () => {
    await start();
    const { stream, headers, isEnded } = open(`http://${server.grpcAddress}`, CHECK, GZIP);
    stream.end(frame(gzipSync(health("n".repeat(2000))), 1));
    await poll(isEnded, "the call ends");
    expect(headers()?.["grpc-status"]).toBe(String(Code.ResourceExhausted));
  });
});

describe("connections", () => {
  it.each(["grpcAddress", "httpUrl"] as const)("of HTTP/2 without a call are ended (%s)", async (port) => {
    await start({ connectionIdleMs: 50 });
    const session = connect(port === "httpUrl" ? server.httpUrl : `http://${server.grpcAddress}`);
    await poll(() => session.closed || session.destroyed, "the connection is ended");
  });

  it.each(["grpcAddress", "httpUrl"] as const)("of HTTP/2 that are old take no new calls (%s)", async (port) => {
    await start({ connectionAgeMs: 50 });
    const session = connect(port === "httpUrl" ? server.httpUrl : `http://${server.grpcAddress}`);
    await poll(() => session.closed || session.destroyed, "the connection is ended");
  });

  it("over HTTP/1.1 end with their next answer once they are old", async () => {
    await start({ connectionAgeMs: 1 });
    // The first answer may come before the connection is a millisecond old.
    await poll(async () => {
      const response = await fetch(`${server.httpUrl}/session`);
      await response.text();
      return response.headers.get("connection") === "close";
    }, "an answer ends its connection");
  });

  it("receive nothing before they have sent something, because an HTTP/2 session takes memory (gRPC)", async () => {
    await start();
    const silent = connectTcp(Number(server.grpcAddress.split(":")[1]), "127.0.0.1");
    await poll(() => silent.readyState === "open", "the socket is connected");
    expect(await grpc(CHECK, health(""))).toMatchObject({ code: 0 });
    expect(silent.read()).toBeNull();
    expect(silent.bytesRead).toBe(0);
    silent.write(PREFACE);
    await poll(() => silent.read() !== null, "the server answers");
    silent.destroy();
  });

  it("that stay silent make room for new ones, counted over both ports", async () => {
    await start({ connections: 4 });
    const silent = Array.from({ length: 8 }, (_, i) =>
      connectTcp(i % 2 === 0 ? server.httpPort : Number(server.grpcAddress.split(":")[1]), "127.0.0.1"),
    );
    let closed = 0;
    for (const socket of silent)
      socket
        .on("close", () => (closed += 1))
        .on("error", () => undefined)
        .resume();
    await poll(() => closed >= 4, "half of them are closed");
    expect((await fetch(`${server.httpUrl}/session`)).status).toBe(200);
    expect(await grpc(CHECK, health(""))).toMatchObject({ code: 0 });
    for (const socket of silent) socket.destroy();
  });
});

interface Opened {
  readonly stream: ReturnType<ClientHttp2Session["request"]>;
  readonly headers: () => IncomingHttpHeaders | undefined;
  readonly trailers: () => IncomingHttpHeaders | undefined;
  readonly body: () => Buffer;
  readonly isEnded: () => boolean;
}

function connect(url: string): ClientHttp2Session {
  const session = connectHttp2(url);
  session.on("error", () => undefined);
  sessions.push(session);
  return session;
}

function open(
  url: string,
  path: string,
  headers: Record<string, string> = { "content-type": "application/grpc" },
): Opened {
  const stream = connect(url).request({ ":method": "POST", ":path": path, te: "trailers", ...headers });
  let answered: IncomingHttpHeaders | undefined;
  let trailers: IncomingHttpHeaders | undefined;
  let isEnded = false;
  const chunks: Buffer[] = [];
  stream.on("response", (received) => {
    answered = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => undefined);
  stream.on("close", () => {
    isEnded = true;
  });
  return {
    stream,
    headers: () => answered,
    trailers: () => trailers,
    body: () => Buffer.concat(chunks),
    isEnded: () => isEnded,
  };
}

async function grpc(path: string, request: Uint8Array): Promise<{ code: number; statuses: string[] }> {
  const { stream, headers, trailers, body, isEnded } = open(`http://${server.grpcAddress}`, path);
  stream.end(frame(request));
  await poll(isEnded, "the call ends");
  return { code: Number((trailers() ?? headers())?.["grpc-status"]), statuses: statusesOf(body()) };
}

/** Opens a stream, ends it again, and resolves to whether it had begun. */
async function grpcOpens(path: string, request: Uint8Array): Promise<boolean> {
  const { stream, body, isEnded } = open(`http://${server.grpcAddress}`, path);
  stream.end(frame(request));
  await poll(() => isEnded() || body().length > 0, "the stream begins or ends");
  stream.close();
  return body().length > 0;
}

function health(service: string): Uint8Array {
  return toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service }));
}

function statusesOf(body: Buffer): string[] {
  if (body.length === 0) return [];
  return [ServingStatus[fromBinary(HealthCheckResponseSchema, body.subarray(5)).status]];
}

async function buffered(): Promise<number> {
  const text = await (await fetch(`${server.httpUrl}/metrics`)).text();
  return Number(/^session_pool_buffered_bytes (\d+)/m.exec(text)?.[1]);
}

function frame(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
