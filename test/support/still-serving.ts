import { expect } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { GrpcClient } from "./grpc-client.js";
import type { TestServer } from "./server.js";

/**
 * Expects both ports to answer. An error that would have ended a real server fails the run by itself, as an uncaught
 * exception.
 */
export async function expectStillServing({ httpUrl, grpcAddress }: TestServer): Promise<void> {
  const grpc = new GrpcClient(grpcAddress);
  expect(await grpc.call(MessageService, "CountMessages", { sessionId: "nobody" })).toMatchObject({ code: 5 });
  expect((await fetch(`${httpUrl}/healthz`)).status).toBe(200);
  grpc.close();
}
