import { request as httpRequest } from "node:http";
import { connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { Client, credentials, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";
import { startTestServer, type TestServer } from "../support/server.js";

const REBOUND = "evil.example";
const LIST_SESSIONS = "/sessionpool.v1.SessionService/ListSessions";
const HTTP_PATHS = ["/session", "/", "/docs", "/openapi.json", "/metrics", "/healthz", "/no-such-path"];

describe("a server without keys that gets a request for a host other than this machine", () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({ allowedHosts: ["sessions.example"] });
  });

  afterAll(() => server.stop());

  it("answers 421 to every HTTP/1.1 and HTTP/2 request", async () => {
    for (const path of HTTP_PATHS) {
      expect((await ask(server, { path, host: `${REBOUND}:${server.httpPort}` })).status, path).toBe(421);
      expect(await askH2(server, path, REBOUND), path).toBe(421);
    }
    const deleted = await ask(server, { method: "DELETE", path: "/session/x", host: REBOUND });
    expect(deleted).toMatchObject({
      status: 421,
      body: { code: 7, message: expect.stringContaining("--allowed-hosts") },
    });
  });

  it("answers permission_denied to Connect and to gRPC over HTTP", async () => {
    const post = { method: "POST", path: LIST_SESSIONS, host: REBOUND };
    const connectAnswer = await ask(server, {
      ...post,
      type: "application/json",
      headers: { "connect-protocol-version": "1" },
    });
    expect(connectAnswer).toMatchObject({ status: 421, body: { code: "permission_denied" } });
    for (const type of ["application/grpc-web+proto", "application/grpc"]) {
      const answer = await ask(server, { ...post, type });
      expect({ type, ...answer.headers }).toMatchObject({ type, "grpc-status": String(status.PERMISSION_DENIED) });
    }
  });

  it("answers permission_denied on the gRPC port, also for health and reflection", async () => {
    for (const path of [
      LIST_SESSIONS,
      "/grpc.health.v1.Health/Check",
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ]) {
      expect(await callAs(server, path, REBOUND), path).toBe(status.PERMISSION_DENIED);
    }
    expect(await callAs(server, LIST_SESSIONS, "localhost:50051")).toBe(status.OK);
    expect(await callAs(server, LIST_SESSIONS, "sessions.example")).toBe(status.OK);
  });

  it("serves its own names and allowed ones", async () => {
    for (const host of ["localhost", "127.0.0.1:8080", "127.1.2.3", "[::1]:80", "sessions.example:8443"]) {
      expect((await ask(server, { path: "/session", host })).status, host).toBe(200);
    }
  });

  it("refuses a change from another origin when the browser sends no Sec-Fetch-Site", async () => {
    const share = { method: "POST", path: "/session/x/share", host: "localhost" };
    const foreign = await ask(server, { ...share, headers: { origin: "http://evil.example" } });
    expect(foreign).toMatchObject({ status: 403, body: { code: 7 } });
    const own = await ask(server, { ...share, headers: { origin: "http://localhost" } });
    expect(own).toMatchObject({ status: 404 });
  });
});

it("a server with keys serves every host, unless some are given", async () => {
  const open = await startKeyedServer("read");
  const statusOf = async (server: KeyedServer, host: string) =>
    (await ask(server, { path: "/session", host, headers: { authorization: `Bearer ${server.key}` } })).status;
  expect(await statusOf(open, REBOUND)).toBe(200);
  await open.stop();
  const strict = await startKeyedServer("read", { allowedHosts: ["sessions.example"] });
  expect(await statusOf(strict, REBOUND)).toBe(421);
  expect(await statusOf(strict, "sessions.example")).toBe(200);
  await strict.stop();
});

describe("a request of HTTP/1.0 that names no host", () => {
  const OPEN = { "no Host header": [], "an empty one": ["Host:"] };
  /** What HAProxy's `option httpchk` sends by itself, and with a path. */
  const CHECKS = ["OPTIONS / HTTP/1.0", "OPTIONS * HTTP/1.0", "GET /healthz HTTP/1.0", "HEAD /readyz HTTP/1.0"];
  const CALLS = ["GET /session", "DELETE /session/x", "POST /session/x/share", "GET /", "GET /metrics", "GET /nowhere"];

  it.each(Object.entries(OPEN))("is answered if it is a probe (%s)", async (_what, headers) => {
    const servers = [
      await startTestServer(),
      await startTestServer({ console: false }),
      await startTestServer({ allowedHosts: ["sessions.example"] }),
      await startKeyedServer("read"),
      await startKeyedServer("read", { allowedHosts: ["sessions.example"] }),
    ];
    for (const { httpPort, stop } of servers) {
      for (const check of CHECKS) expect(await askRaw(httpPort, check, headers), check).toMatch(/^HTTP\/1\.1 20[04] /);
      await stop();
    }
  });

  it.each(Object.entries(OPEN))("is refused otherwise where hosts matter (%s)", async (_what, headers) => {
    const closed = [await startTestServer(), await startKeyedServer("admin", { allowedHosts: ["sessions.example"] })];
    for (const server of closed) {
      const all = "key" in server ? [...headers, `Authorization: Bearer ${server.key}`] : headers;
      for (const call of CALLS) {
        expect(await askRaw(server.httpPort, `${call} HTTP/1.0`, all), call).toMatch(/^HTTP\/1\.1 400 /);
      }
      await server.stop();
    }
  });

  it("is answered with keys, whatever it asks for", async () => {
    const { httpPort, key, stop } = await startKeyedServer("read");
    const authorization = `Authorization: Bearer ${key}`;
    const connectCall = `GET ${LIST_SESSIONS}?connect=v1&encoding=json&message=%7B%7D`;
    for (const call of ["GET /session", connectCall, "GET /metrics", "GET /openapi.json"]) {
      expect(await askRaw(httpPort, `${call} HTTP/1.0`, [authorization]), call).toMatch(/^HTTP\/1\.1 200 /);
      // HTTP/1.1 needs a host.
      for (const host of [[], ["Host:"]]) {
        expect(await askRaw(httpPort, `${call} HTTP/1.1`, [authorization, ...host, "Connection: close"])).toMatch(
          /^HTTP\/1\.1 400 /,
        );
      }
    }
    expect(await askRaw(httpPort, "GET /session HTTP/1.0", [])).toMatch(/^HTTP\/1\.1 401 /);
    await stop();
  });

  it("is answered by the address for metrics", async () => {
    const { metricsPort, stop } = await startTestServer({ metricsAddress: { host: "127.0.0.1", port: 0 } });
    expect(await askRaw(metricsPort!, "GET /metrics HTTP/1.0", [])).toMatch(/^HTTP\/1\.1 200 /);
    expect(await askRaw(metricsPort!, "GET /metrics HTTP/1.0", ["Host: evil.example"])).toMatch(/^HTTP\/1\.1 421 /);
    expect(await askRaw(metricsPort!, "GET /metrics HTTP/1.1", ["Connection: close"])).toMatch(/^HTTP\/1\.1 400 /);
    await stop();
  });

  it("is not served for a host that it names in another way", async () => {
    const server = await startTestServer();
    const named = ["GET http://evil.example/session HTTP/1.0", "GET /healthz HTTP/1.0"];
    expect(await askRaw(server.httpPort, named[0]!, [])).toMatch(/^HTTP\/1\.1 421 /);
    expect(await askRaw(server.httpPort, named[1]!, ["Host: evil.example"])).toMatch(/^HTTP\/1\.1 421 /);
    await server.stop();
  });
});

/** Resolves to the whole answer. */
async function askRaw(port: number, line: string, headers: readonly string[]): Promise<string> {
  const socket = connectTcp(port, "127.0.0.1");
  socket.write(`${[line, ...headers].join("\r\n")}\r\n\r\n`);
  return text(socket);
}

interface Asked {
  readonly path: string;
  readonly host: string;
  readonly method?: string;
  readonly type?: string;
  readonly headers?: Record<string, string>;
}

interface Answered {
  readonly status: number | undefined;
  readonly headers: object;
  readonly body: unknown;
}

function ask({ httpPort }: TestServer, { path, host, method = "GET", type, headers }: Asked): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const all = { host, ...headers, ...(type && { "content-type": type }) };
    const request = httpRequest({ host: "127.0.0.1", port: httpPort, path, method, headers: all }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => {
        const isJson = response.headers["content-type"] === "application/json";
        resolve({ status: response.statusCode, headers: response.headers, body: isJson ? JSON.parse(text) : text });
      });
    });
    request.on("error", reject).end();
  });
}

function askH2({ httpUrl }: TestServer, path: string, authority: string): Promise<unknown> {
  const session = connect(httpUrl);
  return new Promise((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request({ ":path": path, ":authority": authority });
    stream.on("response", (headers) => {
      resolve(headers[":status"]);
      session.destroy();
    });
    stream.on("error", () => undefined);
  });
}

/** Resolves to the code that the call ended with. */
function callAs({ grpcAddress }: TestServer, path: string, authority: string): Promise<status> {
  const client = new Client(grpcAddress, credentials.createInsecure(), { "grpc.default_authority": authority });
  const identity = (bytes: Buffer) => bytes;
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, identity, identity, Buffer.alloc(0), (error) => {
      client.close();
      resolve(error === null ? status.OK : error.code);
    });
  });
}
