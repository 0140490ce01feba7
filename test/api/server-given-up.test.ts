import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { makeCertificate } from "../support/certificate.js";
import { FrameClient } from "../support/frame-client.js";
import { FLAG, FRAME, frame, headerBlock } from "../support/http2-frames.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";

const CALL = {
  ...{ ":method": "POST", ":scheme": "http", ":path": "/sessionpool.v1.MessageService/AppendMessage" },
  ...{ ":authority": "localhost", "content-type": "application/grpc", te: "trailers" },
};
const UINT32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const GIVEN_UP = [
  ["data on stream 0", frame(FRAME.data, 0, 0, Buffer.from("abcd"))],
  ["a header block that cannot be decoded", frame(FRAME.headers, FLAG.endHeaders, 3, Buffer.alloc(7, 255))],
  ["settings of the wrong size", frame(FRAME.settings, 0, 0, Buffer.alloc(1))],
  ["a ping of the wrong size", frame(FRAME.ping, 0, 0, Buffer.alloc(1))],
  ["a frame larger than the server accepts", frame(FRAME.data, 0, 1, Buffer.alloc(20_000))],
  ["a promise, which only servers may make", frame(FRAME.pushPromise, FLAG.endHeaders, 1, UINT32(2))],
  ["a window that overflows", Buffer.concat(Array(2).fill(frame(FRAME.windowUpdate, 0, 0, UINT32(0x7fff_ffff))))],
  ["a reset of stream 0", frame(FRAME.rstStream, 0, 0, UINT32(8))],
  ["an unexpected continuation", frame(FRAME.continuation, FLAG.endHeaders, 0)],
] as const;

let folder: string;
let tls: { certPath: string; keyPath: string };
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-given-up-"));
  tls = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  await makeCertificate(tls);
});

afterAll(() => rmSync(folder, { recursive: true }));

afterEach(() => {
  vi.useRealTimers();
});

const grpcPort = (): number => Number(server.grpcAddress.split(":").at(-1));
const PORTS = [
  ["gRPC", grpcPort, false],
  ["HTTP", () => server.httpPort, false],
  ["gRPC with TLS", grpcPort, true],
  ["HTTP with TLS", () => server.httpPort, true],
] as const;

describe.each(PORTS)("a connection of the %s port that has begun a call", (_name, port, isSecure) => {
  it.each(GIVEN_UP)(
    "is ended at once when it brings %s, and the call does not hold up a stop",
    async (_what, bytes) => {
      server = await startTestServer({ shutdownMs: 600_000, ...(isSecure && { tls }) });
      const client = FrameClient.open(port(), { tls: isSecure });
      client.send(frame(FRAME.headers, FLAG.endHeaders, 1, headerBlock(CALL)), bytes);
      await client.awaitClose();
      await expectToStop();
    },
  );
});

describe.each(PORTS)("the server survives, on the %s port, in one piece", (_name, port, isSecure) => {
  const begun = frame(FRAME.headers, FLAG.endHeaders, 1, headerBlock(CALL));
  const list = headerBlock({ ...CALL, ":path": "/sessionpool.v1.MessageService/ListMessages" });
  const complete = [
    frame(FRAME.headers, FLAG.endHeaders, 1, list),
    frame(FRAME.data, FLAG.endStream, 1, Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x73])),
  ];
  const noPing = frame(FRAME.ping, FLAG.ack, 0, Buffer.alloc(8));
  const goaway = (code: number) => frame(FRAME.goaway, 0, 0, Buffer.concat([UINT32(0), UINT32(code)]));
  it.each([
    ["a farewell, a call and a broken ping", [goaway(0), begun, frame(FRAME.ping, 0, 0, Buffer.alloc(9))]],
    ["a farewell, a call and an unexpected continuation", [goaway(0), begun, frame(FRAME.continuation, 0, 1)]],
    ["a farewell with an error and a call", [goaway(2), ...complete]],
    ["an answer to no ping and a call", [noPing, ...complete]],
  ])("%s", async (_what, frames) => {
    server = await startTestServer({ shutdownMs: 600_000, ...(isSecure && { tls }) });
    const client = FrameClient.open(port(), { tls: isSecure });
    client.send(...frames);
    await client.awaitClose();
    await expectToStop();
  });
});

describe.each(PORTS)("on the %s port", (_name, port, isSecure) => {
  it("a stop finds connections that were given up before", async () => {
    server = await startTestServer({ shutdownMs: 600_000, ...(isSecure && { tls }) });
    const clients = Array.from({ length: 5 }, () => FrameClient.open(port(), { tls: isSecure }));
    for (const client of clients) {
      client.send(frame(FRAME.headers, FLAG.endHeaders, 1, headerBlock(CALL)), GIVEN_UP[0][1]);
    }
    await Promise.all(clients.map((client) => client.awaitFrame(({ type }) => type === FRAME.goaway)));
    for (const client of clients) client.socket.destroy();
    await expectToStop();
  });

  // On a busy machine it may fall quiet twice: also before it has confirmed the server's settings.
  it("a sound connection is asked once when it falls quiet, and stays", { retry: 2 }, async () => {
    server = await startTestServer({ ...(isSecure && { tls }) });
    const client = FrameClient.open(port(), { tls: isSecure });
    await client.confirmSettings();
    const ping = await client.awaitFrame(({ type }) => type === FRAME.ping);
    client.send(frame(FRAME.ping, FLAG.ack, 0, ping.payload));
    const other = FrameClient.open(port(), { tls: isSecure });
    // By then, the first connection would have been asked again or ended.
    await other.awaitFrame(({ type }) => type === FRAME.ping);
    expect(client.isClosed).toBe(false);
    expect(client.frames.filter(({ type }) => type === FRAME.ping)).toHaveLength(1);
    client.socket.destroy();
    other.socket.destroy();
    await server.stop();
  });

  it("a connection whose client reads nothing is ended after 30 seconds", async () => {
    server = await startTestServer({ ...(isSecure && { tls }), metricsAddress: { host: "127.0.0.1", port: 0 } });
    await fill();
    const client = FrameClient.open(port(), { tls: isSecure });
    const hugeWindows = [
      frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), UINT32(0x7fff_ffff)])),
      frame(FRAME.windowUpdate, 0, 0, UINT32(0x7ff0_0000)),
    ];
    const path = "/sessionpool.v1.MessageService/ListMessages";
    const list = (id: number) => [
      frame(FRAME.headers, FLAG.endHeaders, id, headerBlock({ ...CALL, ":path": path })),
      frame(FRAME.data, FLAG.endStream, id, Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x73])),
    ];
    client.send(...hugeWindows, ...list(1));
    await client.awaitFrame(({ type }) => type === FRAME.data);
    client.socket.pause();
    client.send(...Array.from({ length: 10 }, (_, i) => list(2 * i + 3)).flat());
    await poll(async () => (await bufferedBytes()) > 0, "answers wait");
    vi.useFakeTimers({ toFake: ["performance"] });
    // The server notices by its own look that nothing has moved for so long, whenever it first saw that.
    await poll(async () => {
      vi.advanceTimersByTime(1000);
      return (await bufferedBytes()) === 0;
    }, "nothing waits any more");
    client.socket.resume();
    await client.awaitClose();
    vi.useRealTimers();
    await server.stop();
  });
});

async function expectToStop(): Promise<void> {
  let hasStopped = false;
  void server.stop().then(() => {
    hasStopped = true;
  });
  await poll(() => hasStopped, "the server has stopped", 60_000);
}

async function fill(): Promise<void> {
  const text = "x".repeat(2_900_000);
  await post("/session", { sessionId: "s" });
  await post("/session/s/message", { info: { role: "user" }, parts: [{ type: "text", text }] });
}

function post(path: string, body: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(server.httpUrl, { rejectUnauthorized: false });
    session.on("error", reject);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
    stream.on("error", reject).resume();
    stream.once("response", ({ ":status": status }) => {
      session.destroy();
      if (status === 200) resolve();
      else reject(new Error(`${path}: ${status}`));
    });
    stream.end(JSON.stringify(body));
  });
}

async function bufferedBytes(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text();
  return Number(/^session_pool_buffered_bytes(?:\{.*\})? (\d+)$/m.exec(text)?.[1]);
}
