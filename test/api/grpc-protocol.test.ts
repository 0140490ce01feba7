import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { BaseServerInterceptingCall } from "@grpc/grpc-js/build/src/server-interceptors.js";
import { StreamDecoder } from "@grpc/grpc-js/build/src/stream-decoder.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { HealthCheckRequestSchema } from "../../gen/grpc/health/v1/health_pb.js";
import { AppendMessageRequestSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import { CHUNK_BYTES } from "../../src/server/limits/own-chunks.js";
import { FrameClient } from "../support/frame-client.js";
import { FLAG, FRAME, frame, headerBlock } from "../support/http2-frames.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";

const APPEND = "/sessionpool.v1.MessageService/AppendMessage";
const WATCH = "/sessionpool.v1.MessageService/WatchMessages";
const CHECK = "/grpc.health.v1.Health/Check";
const MESSAGE = Buffer.from(
  toBinary(
    AppendMessageRequestSchema,
    create(AppendMessageRequestSchema, {
      sessionId: "s",
      createSession: true,
      message: { info: { role: "user" }, parts: [{ type: "text", text: "a".repeat(50) }] },
    }),
  ),
);
const BODY = Buffer.from(encodeEnvelope(0, MESSAGE));
const HEADERS = headerBlock({
  ":method": "POST",
  ":scheme": "http",
  ":path": APPEND,
  ":authority": "localhost",
  "content-type": "application/grpc",
});
const UNNAMED = "The message is marked as compressed, but no header names the compression";

let server: TestServer;
let client: ClientHttp2Session;

beforeAll(async () => {
  server = await startTestServer();
});

beforeEach(() => {
  client = connect(`http://${server.grpcAddress}`);
});

afterEach(async () => {
  client.close();
  await fetch(`${server.httpUrl}/session/s`, { method: "DELETE" });
});

afterAll(() => server.stop());

/** Headers and trailers together. The stream ends although the client does not end its side. */
async function call(body: Buffer, headers: IncomingHttpHeaders = {}, path = APPEND): Promise<IncomingHttpHeaders> {
  const stream = client.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const fields: IncomingHttpHeaders = {};
  stream.on("response", (received) => Object.assign(fields, received));
  stream.on("trailers", (received) => Object.assign(fields, received));
  stream.write(body);
  await once(stream.resume(), "close");
  const text = fields["grpc-message"];
  return { ...fields, ...(text !== undefined && { "grpc-message": decodeURIComponent(String(text)) }) };
}

async function stored(): Promise<unknown> {
  const answer = await fetch(`${server.httpUrl}/session/s/message:count`);
  return answer.status === 404 ? undefined : ((await answer.json()) as { count: string }).count;
}

describe("a message on the gRPC port", () => {
  it.each([
    ["no compression", {}, MESSAGE, 0],
    ["identity", { "grpc-encoding": "identity" }, MESSAGE, 0],
    ["gzip", { "grpc-encoding": "gzip" }, gzipSync(MESSAGE), 1],
    ["deflate", { "grpc-encoding": "deflate" }, deflateSync(MESSAGE), 1],
    ["gzip that this message does without", { "grpc-encoding": "gzip" }, MESSAGE, 0],
    ["a content type with the format", { "content-type": "application/grpc+proto" }, MESSAGE, 0],
    ["a content type with a parameter", { "content-type": "Application/GRPC; charset=utf-8" }, MESSAGE, 0],
  ] as const)("is taken with %s", async (_what, headers, message, flags) => {
    const stream = client.request({
      ":method": "POST",
      ":path": APPEND,
      "content-type": "application/grpc",
      ...headers,
    });
    stream.end(encodeEnvelope(flags, message));
    const trailers = new Promise<IncomingHttpHeaders>((resolve) => stream.on("trailers", resolve));
    await buffer(stream);
    expect(await trailers).toMatchObject({ "grpc-status": "0" });
    expect(await stored()).toBe("1");
  });

  it.each([
    ["is marked as compressed", {}, Code.Internal, UNNAMED, 1],
    ["is marked as compressed by identity", { "grpc-encoding": "identity" }, Code.Internal, UNNAMED, 1],
    ["has an unknown flag", {}, Code.InvalidArgument, "The frame of the message has unknown flags (2)", 2],
    [
      "has an unknown flag beside the known one",
      { "grpc-encoding": "gzip" },
      Code.InvalidArgument,
      "The frame of the message has unknown flags (129)",
      129,
    ],
  ] as const)("is refused when it %s", async (_what, headers, code, text, flags) => {
    const body = Buffer.from(encodeEnvelope(flags, gzipSync(MESSAGE)));
    for (const path of [APPEND, WATCH, CHECK]) {
      expect(await call(body, headers, path), path).toMatchObject({
        "grpc-status": String(code),
        "grpc-message": text,
      });
    }
    expect(await stored()).toBeUndefined();
  });

  it.each([
    ["zstd", 1, MESSAGE],
    ["zstd", 0, MESSAGE],
    ["br", 1, brotliCompressSync(MESSAGE)],
  ])("is refused with the compression %s and the flags %i; what is known is told", async (encoding, flags, message) => {
    for (const path of [APPEND, WATCH, CHECK]) {
      const answer = await call(Buffer.from(encodeEnvelope(flags, message)), { "grpc-encoding": encoding }, path);
      expect(answer, path).toMatchObject({
        "grpc-status": String(Code.Unimplemented),
        "grpc-message": `Unknown compression ${encoding}: use gzip, deflate or identity`,
        "grpc-accept-encoding": "identity,deflate,gzip",
      });
    }
    expect(await stored()).toBeUndefined();
  });

  it.each([
    ["none", Buffer.alloc(0), "The request holds no message; this method takes one"],
    ["a part of one", Buffer.from(encodeEnvelope(0, MESSAGE)).subarray(0, 20), "The request holds no message"],
    ["two", Buffer.concat([encodeEnvelope(0, MESSAGE), encodeEnvelope(0, MESSAGE)]), "holds more than one message"],
  ])("is the only one: a request with %s is refused", async (_what, body, text) => {
    for (const path of [APPEND, WATCH]) {
      const stream = client.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
      stream.end(body);
      const [fields] = await once(stream.resume(), "response");
      expect(fields["grpc-status"], path).toBe(String(Code.Unimplemented));
      expect(decodeURIComponent(fields["grpc-message"]), path).toContain(text);
    }
    expect(await stored()).toBeUndefined();
  });

  it("is kept in memory without the other frames that arrived with it", async () => {
    const kept: number[] = [];
    const write = vi.spyOn(StreamDecoder.prototype, "write").mockImplementation((chunk) => {
      kept.push(chunk.buffer.byteLength - chunk.length);
      return [];
    });
    const http2 = FrameClient.open(Number(server.grpcAddress.split(":").at(-1)));
    const junk = frame(FRAME.unknown, 0, 0, Buffer.alloc(16_000));
    const [first, rest] = [frame(FRAME.data, 0, 1, BODY.subarray(0, 1)), frame(FRAME.data, 0, 1, BODY.subarray(1))];
    http2.send(frame(FRAME.headers, FLAG.endHeaders, 1, HEADERS), first, junk);
    await poll(() => kept.length === 1, "the first chunk arrives");
    http2.send(junk, rest, junk);
    await poll(() => kept.length === 2, "the rest arrives");
    write.mockRestore();
    http2.socket.destroy();
    for (const others of kept) expect(others).toBeLessThanOrEqual(CHUNK_BYTES);
  });

  it("is answered without an iteration of the event loop between the data and its end", async () => {
    const told: number[] = [];
    const { sendStatus } = BaseServerInterceptingCall.prototype;
    const spy = vi.spyOn(BaseServerInterceptingCall.prototype, "sendStatus").mockImplementation(function (
      this: BaseServerInterceptingCall,
      status,
    ) {
      const { stream } = this as unknown as { readonly stream: ServerHttp2Stream };
      stream.once("wantTrailers", () => told.push(stream.writableLength));
      sendStatus.call(this, status);
    });
    const stream = client.request({ ":method": "POST", ":path": APPEND, "content-type": "application/grpc" });
    stream.end(BODY);
    await buffer(stream);
    spy.mockRestore();
    // The data was still being sent when the trailers were asked for.
    expect(told).toEqual([expect.toSatisfy((bytes) => bytes > 0)]);
  });

  it("is taken by methods that need no key, too", async () => {
    const check = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, {}));
    const stream = client.request({ ":method": "POST", ":path": CHECK, "content-type": "application/grpc" });
    stream.end(encodeEnvelope(0, check));
    expect((await buffer(stream)).subarray(5)).toEqual(Buffer.from([8, 1]));
  });
});

describe("another protocol on the gRPC port", () => {
  it.each([
    "application/grpc+json",
    "application/grpc-web",
    "application/grpc-web+proto",
    "application/grpcish",
    "application/json",
    "application/connect+proto",
    undefined,
  ])("is refused: %s", async (type) => {
    const answer = await call(BODY, { "content-type": type, "x-request-id": "r-1" });
    expect(answer).toMatchObject({
      ":status": 415,
      "content-type": "application/grpc",
      "grpc-status": String(Code.InvalidArgument),
      "grpc-message": `Content-Type must be application/grpc or application/grpc+proto on the gRPC port; it is ${type === undefined ? "missing" : JSON.stringify(type)}`,
      "x-request-id": "r-1",
    });
    expect(await stored()).toBeUndefined();
  });

  it.each(["GET", "PUT", "OPTIONS"])("is refused: %s", async (method) => {
    const stream = client.request(
      { ":method": method, ":path": APPEND, "content-type": "application/grpc" },
      { endStream: false },
    );
    const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.on("response", resolve));
    stream.write(BODY);
    await once(stream.resume(), "close");
    expect(await answered).toMatchObject({ ":status": 405, allow: "POST", "grpc-status": String(Code.Unimplemented) });
    expect(await stored()).toBeUndefined();
  });
});
