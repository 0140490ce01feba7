import { once } from "node:events";
import { connect, constants } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";

let server: TestServer;
afterEach(async () => {
  vi.useRealTimers();
  await server.stop();
});

it("the stream of a unary gRPC answer is ended when nobody reads it for 30 seconds", async () => {
  server = await startTestServer();
  const grpc = new GrpcClient(server.grpcAddress);
  await grpc.call(SessionService, "CreateSession", { sessionId: "s" });
  const message = { info: { id: "m", role: "user" }, parts: [{ type: "text", text: "x".repeat(2_900_000) }] };
  await grpc.call(MessageService, "AppendMessage", { sessionId: "s", message });
  grpc.close();

  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const session = connect(`http://${server.grpcAddress}`, { settings: { initialWindowSize: 65_535 } });
  const stream = session.request({
    ":method": "POST",
    ":path": "/sessionpool.v1.MessageService/GetMessage",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  stream.pause();
  stream.end(frame(Buffer.from([0x0a, 1, 0x73, 0x12, 1, 0x6d])));
  await once(stream, "response");
  await until(() => vi.getTimerCount() > 0);
  vi.advanceTimersByTime(29_999);
  for (let i = 0; i < 20; i++) await setImmediate();
  expect(stream.closed).toBe(false);
  vi.advanceTimersByTime(1);
  await until(() => stream.closed);
  expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.destroy();
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

function frame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
