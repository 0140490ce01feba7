import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RpcServer } from "./rpc-server.js";

const COUNT = "MessageService/CountMessages";
const WATCH = "MessageService/WatchMessages";
const APPEND = "MessageService/AppendMessage";
const EMPTY = { headers: {}, message: "{}" };

let server: RpcServer;
beforeAll(async () => {
  server = await RpcServer.start();
});
afterAll(() => server.stop());

describe("a POST is answered in the format that its Content-Type names:", () => {
  it.each([
    ["application/json", COUNT, "application/json"],
    ["application/json; charset=utf-8", COUNT, "application/json"],
    ["Application/JSON;charset=UTF8", COUNT, "application/json"],
    ["application/grpc+json", COUNT, "application/grpc+json"],
    ["application/grpc+json; charset=utf-8", WATCH, "application/grpc+json"],
    ["application/grpc-web+json", COUNT, "application/grpc-web+json"],
    ["application/connect+json", WATCH, "application/connect+json"],
  ])("%s of %s", async (type, rpc, answered) => {
    const { status, headers } = await server.call(rpc, type, EMPTY);
    expect([status, headers["content-type"]]).toEqual([200, answered]);
  });

  it.each([
    ["application/proto", COUNT, "application/proto"],
    ["application/grpc", COUNT, "application/grpc+proto"],
    ["application/grpc+proto", WATCH, "application/grpc+proto"],
    ["APPLICATION/GRPC-WEB", COUNT, "application/grpc-web+proto"],
    ["application/connect+proto", WATCH, "application/connect+proto"],
  ])("%s of %s", async (type, rpc, answered) => {
    const { status, headers } = await server.call(rpc, type);
    expect([status, headers["content-type"]]).toEqual([200, answered]);
  });
});

describe("415, without an answer in any protocol, to", () => {
  it.each([
    [undefined, COUNT],
    ["text/plain", COUNT],
    ["application/json; charset=latin1", COUNT],
    ["application/proto; charset=utf-8", COUNT],
    ["application/connect+json", COUNT],
    ["application/json", WATCH],
    ["application/proto", WATCH],
    ["application/grpc-web-text", COUNT],
    ["application/grpc-web-text+proto", WATCH],
    ["application/grpc+thrift", COUNT],
  ])("%s of %s", async (type, rpc) => {
    const { status, headers, body } = await server.call(rpc, type, EMPTY);
    expect([status, headers["content-type"], body.length]).toEqual([415, undefined, 0]);
    expect(headers["x-request-id"]).toMatch(/./);
  });
});

describe("a GET", () => {
  const query = `${COUNT}?encoding=json&message=${encodeURIComponent('{"sessionId":"s"}')}`;

  it.each([undefined, "application/json", "application/proto"])("with Content-Type %s is a call", async (type) => {
    const { status } = await server.call(query, type, { method: "GET" });
    expect(status).toBe(200);
    expect(server.pipeline.last.request).toMatchObject({ sessionId: "s" });
  });

  it.each(["text/plain", "application/grpc", "application/connect+json"])("with %s is refused", async (type) => {
    expect((await server.call(query, type, { method: "GET" })).status).toBe(415);
  });

  it.each(["xml", "JSON", ""])("in the encoding %j is refused", async (encoding) => {
    expect((await server.call(`${COUNT}?encoding=${encoding}`, undefined, { method: "GET" })).status).toBe(415);
  });
});

it.each([
  ["HEAD", COUNT, "GET, POST"],
  ["OPTIONS", COUNT, "GET, POST"],
  ["PUT", APPEND, "POST"],
  ["GET", APPEND, "POST"],
  ["GET", WATCH, "POST"],
])("405 to %s of %s names the methods that are allowed", async (method, rpc, allow) => {
  const { status, headers } = await server.call(rpc, "application/json", { method });
  expect([status, headers.allow]).toEqual([405, allow]);
});
