import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FLAG, FRAME, frame, headerBlock, PREFACE } from "../support/http2-frames.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { expectStillServing } from "../support/still-serving.js";

const CANCEL = Buffer.from([0, 0, 0, 8]);
const PING = Buffer.alloc(8);
const RPC = "/sessionpool.v1.MessageService/CountMessages";
const REQUEST = { ":method": "POST", ":scheme": "http", ":authority": "localhost" };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ metricsAddress: { host: "127.0.0.1", port: 0 } });
});

afterAll(async () => {
  await expectStillServing(server);
  await server.stop();
});

/** Sends a request and resets its stream in one packet. Resolves when the server has answered a later ping. */
async function resetAtOnce(port: number, headers: Record<string, string>, flags: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  const isAlive = new Promise<boolean>((resolve, reject) => {
    let received = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.includes(frame(FRAME.ping, FLAG.ack, 0, PING))) resolve(true);
    });
    socket.once("close", () => resolve(false));
    socket.once("error", reject);
  });
  socket.write(
    Buffer.concat([
      PREFACE,
      frame(FRAME.settings, 0, 0),
      frame(FRAME.headers, FLAG.endHeaders | flags, 1, headerBlock({ ...REQUEST, ...headers })),
      frame(FRAME.rstStream, 0, 1, CANCEL),
      frame(FRAME.ping, 0, 0, PING),
    ]),
  );
  expect(await isAlive).toBe(true);
  socket.destroy();
}

describe("a stream that is reset in the packet that opens it", () => {
  const ports = [
    ["HTTP", () => server.httpPort],
    ["metrics", () => server.metricsPort as number],
    ["gRPC", () => Number(server.grpcAddress.split(":").at(-1))],
  ] as const;
  const requests = [
    ["expects 100-continue", { ":path": "/", expect: "100-continue" }],
    ["expects something else", { ":path": "/", expect: "a lot" }],
    ["has no content type", { ":path": "/x" }],
    ["calls by gRPC", { ":path": RPC, "content-type": "application/grpc", te: "trailers" }],
    ["calls by Connect", { ":path": RPC, "content-type": "application/json", "connect-protocol-version": "1" }],
    ["calls nothing by gRPC", { ":path": "/no.Such/Method", "content-type": "application/grpc" }],
    ["names a host that is not served", { ":path": RPC, ":authority": "evil.example" }],
    ["asks for a tunnel", { ":method": "CONNECT", ":path": "" }],
  ] as const;

  for (const [name, port] of ports) {
    for (const flags of [0, FLAG.endStream]) {
      const kind = flags === 0 ? "with a body to come" : "without a body";
      it.each(requests)(`ends nothing but itself on the ${name} port, ${kind}, if it %s`, async (_, headers) => {
        await resetAtOnce(port(), headers, flags);
      });
    }
  }
});
