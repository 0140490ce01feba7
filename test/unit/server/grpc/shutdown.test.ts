import type { ServerHttp2Session } from "node:http2";
import { Server } from "@grpc/grpc-js";
import { afterEach, expect, it, vi } from "vitest";
import { MessageService } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { GrpcClient } from "../../../support/grpc-client.js";
import { startTestServer } from "../../../support/server.js";

afterEach(() => {
  vi.restoreAllMocks();
});

it("stops although a connection is breaking at that moment", async () => {
  const server = await startTestServer();
  const client = new GrpcClient(server.grpcAddress);
  await client.call(MessageService, "CountMessages", { sessionId: "s" });
  const tryShutdown = Server.prototype.tryShutdown;
  const broken: boolean[] = [];
  vi.spyOn(Server.prototype, "tryShutdown").mockImplementation(function (this: Server, callback) {
    const { sessions } = this as unknown as { readonly sessions: ReadonlyMap<ServerHttp2Session, unknown> };
    for (const session of sessions.keys()) {
      // The server lets sessions be destroyed only later, but a connection may break at any moment.
      Object.getPrototypeOf(session).destroy.call(session);
      broken.push(session.destroyed && !session.closed);
    }
    tryShutdown.call(this, callback);
  });
  await server.stop();
  expect(broken).toEqual([true]);
  client.close();
});
