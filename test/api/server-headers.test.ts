import { connect as connectHttp2, constants, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { FrameClient } from "../support/frame-client.js";
import { GrpcClient } from "../support/grpc-client.js";
import { FLAG, FRAME, frame, headerBlock } from "../support/http2-frames.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { expectStillServing } from "../support/still-serving.js";

const LIMIT = 16 * 1024;
const TEXT = `The request line and the headers are larger than ${LIMIT} bytes together`;
const COUNT = "/sessionpool.v1.MessageService/CountMessages";
const GRPC = { ":method": "POST", ":path": COUNT, "content-type": "application/grpc", te: "trailers" };
const MAX_HEADER_LIST_SIZE = 6;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ metricsAddress: { host: "127.0.0.1", port: 0 } });
});

afterAll(async () => {
  await expectStillServing(server);
  await server.stop();
});

const ports = [
  ["gRPC", () => Number(server.grpcAddress.split(":").at(-1))],
  ["HTTP", () => server.httpPort],
  ["metrics", () => server.metricsPort as number],
] as const;

it.each(ports)("the %s port announces the limit", async (_name, port) => {
  const client = FrameClient.open(port());
  const { payload } = await client.awaitFrame(({ type, flags }) => type === FRAME.settings && flags === 0);
  const settings = new Map(
    Array.from({ length: payload.length / 6 }, (_, i) => [
      payload.readUInt16BE(6 * i),
      payload.readUInt32BE(6 * i + 2),
    ]),
  );
  expect(settings.get(MAX_HEADER_LIST_SIZE)).toBe(LIMIT);
  client.socket.destroy();
});

describe("headers over the limit that come before the client has confirmed the settings", () => {
  const kinds = [
    ["one header of 17 KB", manyHeaders(1, 17_000)],
    ["ninety headers of 1 KB", manyHeaders(90, 1000)],
    ["five hundred headers of 1 byte", manyHeaders(490, 1)],
  ] as const;

  it.each(kinds)("are refused by the gRPC port with resource_exhausted: %s", async (_what, headers) => {
    expect(await request(`http://${server.grpcAddress}`, { ...GRPC, ...headers })).toMatchObject({
      ":status": 200,
      "grpc-status": "8",
      "grpc-message": TEXT,
      "x-request-id": expect.any(String),
    });
  });

  it.each(kinds)("are refused by the HTTP port in the protocol of the request: %s", async (_what, headers) => {
    const rest = { ":method": "GET", ":path": "/session", ...headers };
    expect(await request(server.httpUrl, rest)).toMatchObject({ ":status": 431, body: expect.stringContaining(TEXT) });
    const json = { ":method": "POST", ":path": COUNT, "content-type": "application/json", ...headers };
    const connect = { ...json, "connect-protocol-version": "1" };
    expect(await request(server.httpUrl, connect)).toMatchObject({
      ":status": 431,
      body: JSON.stringify({ code: "resource_exhausted", message: TEXT }),
    });
    for (const type of ["application/grpc", "application/grpc-web+proto"]) {
      const answer = await request(server.httpUrl, { ...GRPC, ...headers, "content-type": type });
      expect(answer).toMatchObject({ ":status": 200, "grpc-status": "8" });
    }
  });
});

describe("headers over the limit that come after the client has confirmed the settings", () => {
  it.each(ports)("reset only their stream on the %s port, by ENHANCE_YOUR_CALM", async (_name, port) => {
    const client = FrameClient.open(port());
    await client.confirmSettings();
    client.send(...headerFrames(1, { ...GRPC, ...REQUEST, ...manyHeaders(30, 3000) }));
    const reset = await client.awaitFrame(({ type, streamId }) => type === FRAME.rstStream && streamId === 1);
    expect(reset.payload.readUInt32BE()).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    client.send(...headerFrames(3, { ...REQUEST, ":method": "GET", ":path": "/metrics" }, FLAG.endStream));
    await client.awaitFrame(({ type, streamId }) => type === FRAME.headers && streamId === 3);
    client.socket.destroy();
  });
});

describe.each(ports.slice(0, 2))("on the %s port", (_name, port) => {
  it("as many small headers as the limit allows are accepted", async () => {
    const url = `http://127.0.0.1:${port()}`;
    const answer = await request(url, { ...GRPC, ...manyHeaders(300, 4) });
    expect(answer["grpc-status"]).toBe("12");
  });

  it.each([
    ["before", false],
    ["after", true],
  ])("trailers over the limit reset only their stream, %s the settings are confirmed", async (_when, confirms) => {
    const client = FrameClient.open(port());
    if (confirms) await client.confirmSettings();
    client.send(...headerFrames(1, { ...GRPC, ...REQUEST }));
    const trailers = headerFrames(1, manyHeaders(30, 3000), FLAG.endStream);
    client.send(...trailers);
    const reset = await client.awaitFrame(({ type, streamId }) => type === FRAME.rstStream && streamId === 1);
    expect(reset.payload.readUInt32BE()).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    client.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    await client.awaitFrame(({ type, flags }) => type === FRAME.ping && flags === FLAG.ack);
    client.socket.destroy();
  });

  it.each([
    ["a header of 100 KB", headerFrames(3, { ...GRPC, ":scheme": "http", ":authority": "localhost", "x-a": long() })],
    ["trailers of 100 KB", headerFrames(1, { "x-a": long() }, FLAG.endStream)],
    ["too many continuations", [frame(FRAME.headers, 0, 3), ...Array(20).fill(frame(FRAME.continuation, 0, 3))]],
  ])("%s end the connection, and a watch on another one goes on", async (_what, frames) => {
    const sessionId = `w${Math.random()}`;
    const watching = new GrpcClient(server.grpcAddress);
    const grpc = new GrpcClient(server.grpcAddress);
    const append = (id: string) =>
      grpc.call(MessageService, "AppendMessage", {
        sessionId,
        createSession: true,
        message: { info: { id, role: "user" } },
      });
    expect(await append("m1")).toHaveProperty("answer");
    const events = watching.stream(MessageService, "WatchMessages", { sessionId });
    await new Promise((resolve) => events.once("metadata", resolve));
    const client = FrameClient.open(port());
    client.send(...headerFrames(1, { ...REQUEST, ...GRPC }));
    client.send(...(frames as Buffer[]));
    await client.awaitClose();
    const event = new Promise((resolve) => events.once("data", resolve));
    await append("m2");
    await event;
    events.on("error", () => undefined);
    events.cancel();
    watching.close();
    grpc.close();
  });
});

describe("over HTTP/1.1", () => {
  it.each([
    ["headers", `GET /session HTTP/1.1\r\nHost: localhost\r\nX-A: ${long()}\r\n\r\n`],
    ["a target", `GET /session?label=${long()} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    [
      "headers of Connect",
      `POST ${COUNT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-A: ${long()}\r\n\r\n`,
    ],
    [
      "trailers",
      `POST /session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: ${long()}\r\n\r\n`,
    ],
  ])("%s of 100 KB are refused with 431", async (_what, text) => {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(server.httpPort, "127.0.0.1", () => socket.write(text));
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      socket.on("error", () => undefined).once("close", () => resolve(received));
    });
    expect(answer).toMatch(/^HTTP\/1.1 431 Request Header Fields Too Large\r\n/);
    expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")))).toMatchObject({ code: 8, message: TEXT });
  });
});

const REQUEST = { ":scheme": "http", ":authority": "localhost" };

function long(): string {
  return "a".repeat(100_000);
}

function manyHeaders(count: number, bytes: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "a".repeat(bytes)]));
}

/** HEADERS and as many CONTINUATION frames as it takes. Pseudo-headers come first. */
function headerFrames(streamId: number, headers: Record<string, string>, flags = 0): Buffer[] {
  const sorted = Object.entries(headers).sort(([a], [b]) => Number(b.startsWith(":")) - Number(a.startsWith(":")));
  const block = headerBlock(Object.fromEntries(sorted));
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += 16_000) {
    const end = at + 16_000 < block.length ? 0 : FLAG.endHeaders;
    const piece = block.subarray(at, at + 16_000);
    frames.push(
      at === 0 ? frame(FRAME.headers, flags | end, streamId, piece) : frame(FRAME.continuation, end, streamId, piece),
    );
  }
  return frames;
}

/** Sends the request as the first one of its connection. Resolves to its headers, its trailers and its body. */
function request(url: string, headers: Record<string, string>): Promise<IncomingHttpHeaders & { body: string }> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(url, { maxSendHeaderBlockLength: 1_000_000 });
    session.on("error", reject);
    const stream = session.request(headers);
    let answer: IncomingHttpHeaders = {};
    let body = "";
    const take = (more: IncomingHttpHeaders) => {
      answer = { ...answer, ...more };
    };
    stream.on("response", take).on("trailers", take).on("error", reject);
    stream.setEncoding("utf8").on("data", (chunk) => {
      body += chunk;
    });
    stream.once("end", () => {
      session.destroy();
      resolve({ ...answer, "grpc-message": decodeURIComponent(String(answer["grpc-message"])), body });
    });
    stream.end();
  });
}
