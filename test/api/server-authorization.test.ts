import { request as requestH1 } from "node:http";
import { connect as connectH2 } from "node:http2";
import { text } from "node:stream/consumers";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { GrpcClient } from "../support/grpc-client.js";
import { HeaderProxy } from "../support/header-proxy.js";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";

const ONE = "A request must have one Authorization header";
const RPC = "/sessionpool.v1.SessionService/ListSessions";
const JSON_TYPE = { "content-type": "application/json" };

let server: KeyedServer;
/** Add a second key to each request. */
let httpProxy: HeaderProxy;
let grpcProxy: HeaderProxy;

beforeAll(async () => {
  server = await startKeyedServer("admin", { openAi: true });
  const second = { authorization: "Bearer another" };
  httpProxy = await HeaderProxy.start(server.httpPort, second);
  grpcProxy = await HeaderProxy.start(Number(server.grpcAddress.split(":")[1]), second);
});

afterAll(async () => {
  httpProxy.close();
  grpcProxy.close();
  await server.stop();
});

describe("a request with two Authorization headers, the first of which is valid, is refused", () => {
  const PATHS = [
    ["REST", "GET", "/session"],
    ["OpenAI's API", "GET", "/v1/conversations/c"],
    ["Connect", "POST", RPC],
    ["metrics", "GET", "/metrics"],
  ] as const;

  it.each(PATHS)("over HTTP/1.1: %s", async (_front, method, path) => {
    const valid = `Bearer ${server.key}`;
    expect((await http1(method, path, [valid])).status).not.toBe(401);
    const answer = await http1(method, path, [valid, "Bearer another"]);
    expect(answer).toMatchObject({ status: 401, body: expect.stringContaining(ONE) });
  });

  it.each(PATHS)("over HTTP/2: %s", async (_front, method, path) => {
    expect((await http2(server.httpUrl, method, path)).status).not.toBe(401);
    const answer = await http2(`http://${httpProxy.address}`, method, path);
    expect(answer).toMatchObject({ status: 401, body: expect.stringContaining(ONE) });
  });

  it("over gRPC, on both ports", async () => {
    for (const { address } of [grpcProxy, httpProxy]) {
      const client = new GrpcClient(address);
      const outcome = await client.call(SessionService, "ListSessions", {}, { key: server.key });
      expect(outcome).toMatchObject({ code: status.UNAUTHENTICATED, message: expect.stringContaining(ONE) });
      client.close();
    }
  });
});

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
}

function http1(method: string, path: string, authorization: readonly string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = ["host", "localhost", "content-type", "application/json"];
    for (const value of authorization) headers.push("authorization", value);
    const request = requestH1(server.httpUrl + path, { method, headers, agent: false }, async (response) =>
      resolve({ status: response.statusCode, body: await text(response) }),
    );
    request.on("error", reject).end(method === "POST" ? "{}" : undefined);
  });
}

function http2(url: string, method: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const session = connectH2(url).on("error", reject);
    const authorization = `Bearer ${server.key}`;
    const stream = session.request({ ":method": method, ":path": path, ...JSON_TYPE, authorization });
    stream.on("response", async ({ ":status": status }) => {
      resolve({ status, body: await text(stream) });
      session.close();
    });
    stream.on("error", reject).end(method === "POST" ? "{}" : undefined);
  });
}
