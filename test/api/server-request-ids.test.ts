import { request as requestH1 } from "node:http";
import { connect as connectH2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";

const GET_SESSION = "/sessionpool.v1.SessionService/GetSession";
const WATCH = "/sessionpool.v1.MessageService/WatchMessages";
const MADE = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
/** GetSession and WatchMessages requests as protobuf: the session id is the first field. */
const KNOWN = Buffer.from("\n\u0004trip");
const UNKNOWN = Buffer.from("\n\u0007nowhere");

let server: TestServer;
let grpc: Client;

beforeAll(async () => {
  server = await startTestServer({ openAi: true, corsOrigins: [PAGE] });
  await fetch(`${server.httpUrl}/session`, { method: "POST", body: '{"sessionId": "trip"}', headers: JSON_TYPE });
  grpc = new Client(server.grpcAddress, credentials.createInsecure());
});

afterAll(async () => {
  grpc.close();
  await server.stop();
});

const JSON_TYPE = { "content-type": "application/json" };
const CONNECT = { ...JSON_TYPE, "connect-protocol-version": "1" };
const PAGE = "http://page.test";
const GET_QUERY = new URLSearchParams({ connect: "v1", encoding: "json", message: '{"sessionId": "trip"}' });
const PREFLIGHT = { origin: PAGE, "access-control-request-method": "POST" };
const GRPC = { "content-type": "application/grpc", te: "trailers" };
const GRPC_WEB = { "content-type": "application/grpc-web+proto" };

/** The headers of an answer; in gRPC its metadata. */
type Answered = Readonly<Record<string, unknown>>;
type Ask = (id: string | undefined) => Promise<Answered>;

/**
 * Every kind of request to each front. Each function sends a request with this id and resolves to the headers of the
 * answer.
 */
const FRONTS: readonly (readonly [string, Ask])[] = [
  ["REST", http("GET", "/session/trip")],
  ["REST, an error", http("GET", "/session/nowhere")],
  ["REST, an unknown path", http("GET", "/no/such/path")],
  ["REST, a stream", http("GET", "/session/trip/message:watch")],
  ["REST, a body that is too large", http1("POST", "/session", { "content-length": "999999999" }, 413)],
  ["OpenAI's API", http("GET", "/v1/conversations/nowhere")],
  ["Connect", http("POST", GET_SESSION, CONNECT, '{"sessionId": "trip"}')],
  ["Connect by GET", http("GET", `${GET_SESSION}?${GET_QUERY}`)],
  ["Connect, an error", http("POST", GET_SESSION, CONNECT, '{"sessionId": "nowhere"}')],
  ["Connect, an unknown method", http("POST", "/sessionpool.v1.SessionService/Nope", CONNECT, "{}")],
  ["gRPC-Web", http("POST", GET_SESSION, GRPC_WEB, frame(KNOWN))],
  ["gRPC-Web, an error", http("POST", GET_SESSION, GRPC_WEB, frame(UNKNOWN))],
  ["gRPC-Web, an unknown method", http("POST", "/sessionpool.v1.SessionService/Nope", GRPC_WEB, "")],
  ["REST, HEAD", http1("HEAD", "/session/trip", {}, 200)],
  ["REST, OPTIONS", http1("OPTIONS", "/session/trip", {}, 204)],
  ["REST, a wrong method", http1("PUT", "/session/trip", {}, 405)],
  ["REST, a wrong media type", http1("POST", "/session", { "content-type": "text/plain" }, 415, "{}")],
  ["REST, a wrong compression", http1("POST", "/session", { "content-encoding": "zip" }, 415, "{}")],
  ["REST, events", http1("GET", "/session/trip/message:watch", { accept: "text/event-stream" }, 200)],
  ["REST, HEAD of a stream", http1("HEAD", "/session/trip/message:watch", {}, 200)],
  ["a preflight", http1("OPTIONS", "/session", PREFLIGHT, 204)],
  ["a foreign page", http1("POST", "/session", { origin: "null" }, 403, "{}")],
  ["a host that is not served", http1("GET", "/session", { host: "evil.example" }, 421)],
  ["an invalid host", http1("GET", "/session", { host: "%" }, 400)],
  ["Connect, a wrong media type", http1("POST", GET_SESSION, { "content-type": "text/plain" }, 415, "{}")],
  ["Connect, a wrong method", http1("GET", "/sessionpool.v1.SessionService/DeleteSession?encoding=json", {}, 405)],
  ["Connect, a stream", http("POST", WATCH, { "content-type": "application/connect+json" }, "\0\0\0\0\x02{}")],
  ["an unknown expectation", http1("POST", "/session", { expect: "a miracle" }, 417, "{}")],
  ["a page, OPTIONS", http1("OPTIONS", "/healthz", {}, 204)],
  ["a page, a wrong method", http1("POST", "/healthz", {}, 405)],
  ["a page that has not changed", unchanged("/healthz")],
  ["a page whose file cannot be read", http("GET", "/")],
  ["HTTP/2, an unknown expectation", http2("/session", { ":method": "POST", expect: "a miracle" }, 417)],
  ["HTTP/2, a tunnel", http2(undefined, { ":method": "CONNECT", ":authority": "localhost:80" }, 405)],
  ["HTTP/2, HEAD", http2("/session/trip", { ":method": "HEAD" }, 200)],
  ["HTTP/2, OPTIONS", http2("/session/trip", { ":method": "OPTIONS" }, 204)],
  ["HTTP/2, a preflight", http2("/session", { ":method": "OPTIONS", ...PREFLIGHT }, 204)],
  ["gRPC by the HTTP port, no message", http2(GET_SESSION, { ":method": "POST", ...GRPC }, 200)],
  ["gRPC by the HTTP port, an unknown method", http2("/nope.Nope/Nope", { ":method": "POST", ...GRPC }, 200)],
  ["the OpenAPI document", http("GET", "/openapi.json")],
  ["health", http("GET", "/healthz")],
  ["HTTP/2", http2("/session/trip")],
  ["gRPC", (id) => callGrpc(GET_SESSION, KNOWN, id)],
  ["gRPC, an error", (id) => callGrpc(GET_SESSION, UNKNOWN, id)],
  ["gRPC, a stream", (id) => watchGrpc(KNOWN, id)],
  ["gRPC, a stream that ends with an error", (id) => watchGrpc(UNKNOWN, id)],
  ["gRPC, an unknown method", (id) => callGrpc("/sessionpool.v1.SessionService/Nope", KNOWN, id)],
  ["gRPC, an unknown service", (id) => callGrpc("/nope.Nope/Nope", KNOWN, id)],
  ["gRPC health", (id) => callGrpc("/grpc.health.v1.Health/Check", Buffer.alloc(0), id)],
];

describe.each(FRONTS)("the request id of %s", (_front, ask) => {
  const idFor = async (id: string | undefined) => (await ask(id))["x-request-id"];

  it("is the one that the caller sent", async () => {
    expect(await idFor("req-7/~!")).toBe("req-7/~!");
    expect(await idFor("x".repeat(128))).toBe("x".repeat(128));
  });

  it("is made by the server when the caller's is missing or is not 1 to 128 visible ASCII characters", async () => {
    const made = [await idFor(undefined), await idFor("two words"), await idFor("x".repeat(129))];
    for (const id of made) expect(id).toMatch(MADE);
    expect(new Set(made).size).toBe(3);
  });
});

/** The gRPC port takes only POST, whose answers no cache keeps. */
const CACHEABLE = FRONTS.filter(([front]) => !/^gRPC( health)?(,|$)/.test(front));

it.each(CACHEABLE)("a shared cache keeps no answer for another caller: %s", async (front, ask) => {
  const headers = await ask(undefined);
  const vary = String(headers.vary).split(", ");
  expect(new Set(vary).size, String(headers.vary)).toBe(vary.length);
  if (front === "the OpenAPI document") {
    expect(headers).toMatchObject({ "cache-control": "no-cache", vary: "Origin, Accept-Encoding" });
  } else {
    expect(headers["cache-control"]).toBe("no-store");
    expect(vary).toEqual(expect.arrayContaining(["Authorization"]));
  }
});

it("the answer to bytes that are not a request has an id, too", async () => {
  const socket = connectTcp(server.httpPort, "127.0.0.1");
  socket.write("NONSENSE\r\n\r\n");
  const answer = await text(socket);
  const id = /^x-request-id: (.*)\r$/m.exec(answer)?.[1];
  expect(id).toMatch(MADE);
  expect(answer).toMatch(/^cache-control: no-store\r\nvary: Authorization\r$/m);
  expect(JSON.parse(answer.slice(answer.indexOf("{")))).toMatchObject({ code: 3, details: [{ requestId: id }] });
});

it("the body of a REST error holds the request id, too", async () => {
  const answer = await fetch(`${server.httpUrl}/session/nowhere`, { headers: { "x-request-id": "req-7" } });
  expect(await answer.json()).toMatchObject({
    details: [{ "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId: "req-7" }],
  });
});

it("a gRPC call whose timeout is refused keeps its request id", async () => {
  const client = connectH2(`http://${server.grpcAddress}`);
  const stream = client.request({
    ":method": "POST",
    ":path": GET_SESSION,
    "content-type": "application/grpc",
    "grpc-timeout": "soon",
    "x-request-id": "req-7",
  });
  const headers = await new Promise<Record<string, unknown>>((resolve) => stream.once("response", resolve));
  expect(headers).toMatchObject({ "grpc-status": "3", "x-request-id": "req-7" });
  client.destroy();
});

function http(method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer): Ask {
  return async (id) => {
    const stop = new AbortController();
    const init = { method, headers: { ...headers, ...named(id) }, signal: stop.signal };
    const answer = await fetch(server.httpUrl + path, body === undefined ? init : { ...init, body });
    stop.abort();
    return Object.fromEntries(answer.headers);
  };
}

/** Sends a request with headers that fetch would refuse, and expects this status. */
function http1(method: string, path: string, headers: Record<string, string>, status: number, body = ""): Ask {
  return (id) =>
    new Promise((resolve, reject) => {
      const request = requestH1(server.httpUrl + path, { method, headers: { ...JSON_TYPE, ...headers, ...named(id) } });
      request.on("response", (answer) => {
        if (answer.statusCode !== status) reject(new Error(`The status is ${answer.statusCode}`));
        resolve(answer.headers);
        request.destroy();
      });
      request.on("error", reject);
      request.end(body);
    });
}

function unchanged(path: string): Ask {
  return async (id) => {
    const tag = (await fetch(server.httpUrl + path)).headers.get("etag") ?? "";
    return http1("GET", path, { "if-none-match": tag }, 304)(id);
  };
}

function http2(path: string | undefined, headers: Record<string, string> = {}, status = 200): Ask {
  return async (id) => {
    const client = connectH2(server.httpUrl);
    const stream = client.request({ ...(path !== undefined && { ":path": path }), ...headers, ...named(id) });
    stream.end();
    const answer = await new Promise<Answered>((resolve) => stream.once("response", resolve));
    client.destroy();
    expect(answer[":status"]).toBe(status);
    return answer;
  };
}

function callGrpc(path: string, request: Buffer, id: string | undefined): Promise<Answered> {
  return new Promise((resolve) => {
    let answered: Answered | undefined;
    const call = grpc.makeUnaryRequest(path, Buffer.from, Buffer.from, request, metadataOf(id), (error) => {
      resolve(answered ?? idIn((error as ServiceError | null)?.metadata));
    });
    call.on("metadata", (metadata) => {
      answered = idIn(metadata);
    });
  });
}

function watchGrpc(request: Buffer, id: string | undefined): Promise<Answered> {
  return new Promise((resolve) => {
    const stream = grpc.makeServerStreamRequest(WATCH, Buffer.from, Buffer.from, request, metadataOf(id));
    stream.on("metadata", (metadata) => {
      resolve(idIn(metadata));
      stream.cancel();
    });
    stream.on("error", (error: ServiceError) => resolve(idIn(error.metadata)));
  });
}

function idIn(metadata: Metadata | undefined): Answered {
  const ids = metadata?.get("x-request-id") ?? [];
  return { "x-request-id": ids.length === 1 ? String(ids[0]) : undefined };
}

function metadataOf(id: string | undefined): Metadata {
  const metadata = new Metadata();
  if (id !== undefined) metadata.set("x-request-id", id);
  return metadata;
}

function named(id: string | undefined): Record<string, string> {
  return id === undefined ? {} : { "x-request-id": id };
}

function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
