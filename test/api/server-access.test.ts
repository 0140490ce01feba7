import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService, TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { builtPages } from "../support/console-pages.js";
import { GrpcClient } from "../support/grpc-client.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";

const keys = { reader: newKey(), writer: newKey(), other: newKey() };
let folder: string;
let path: string;
let server: TestServer;
let grpc: GrpcClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-access-"));
  path = join(folder, "keys.json");
  writeKeys(["reader", "writer", "other"]);
  server = await startTestServer({ keysFile: path }, undefined, await builtPages());
  grpc = new GrpcClient(server.grpcAddress);
});

afterAll(async () => {
  grpc.close();
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe("without a key", () => {
  it("gRPC answers unauthenticated, before it reads the message", async () => {
    const malformed = Buffer.from([0xff, 0xff]);
    const outcome = await grpc.callBytes(SessionService.method.getSession, malformed);
    expect(outcome).toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await grpc.callBytes(SessionService.method.getSession, malformed, { key: "wrong" })).toMatchObject({
      code: status.UNAUTHENTICATED,
      message: "The key is not known, or no longer valid",
    });
  });

  it("a gRPC stream answers unauthenticated", async () => {
    const stream = grpc.stream(MessageService, "WatchMessages", { sessionId: "s" });
    const error = await new Promise((resolve) => stream.on("error", resolve).on("data", () => undefined));
    expect(error).toMatchObject({ code: status.UNAUTHENTICATED });
  });

  it("REST answers 401 with WWW-Authenticate, whatever the body", async () => {
    const response = await fetch(`${server.httpUrl}/session`, { method: "POST", headers: JSON_TYPE, body: "{" });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.json()).toMatchObject({ code: 16 });
  });

  it("Connect answers unauthenticated, whatever the body", async () => {
    const url = `${server.httpUrl}/sessionpool.v1.SessionService/GetSession`;
    const response = await fetch(url, { method: "POST", headers: JSON_TYPE, body: "{" });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: "unauthenticated" });
  });

  it("health and the pages are served", async () => {
    for (const page of ["/healthz", "/readyz", "/", "/docs"]) {
      expect((await fetch(server.httpUrl + page)).status, page).toBe(200);
    }
  });

  it("refusals are counted", async () => {
    const headers = { authorization: `Bearer ${keys.reader}` };
    const metrics = await (await fetch(`${server.httpUrl}/metrics`, { headers })).text();
    expect(Number(/session_pool_refused_keys_total (\d+)/.exec(metrics)?.[1])).toBeGreaterThan(0);
  });
});

describe("a key with the scope read", () => {
  it("can read but change nothing, on every front", async () => {
    const key = keys.reader;
    expect(await grpc.call(SessionService, "ListSessions", {}, { key })).toMatchObject({ answer: {} });
    expect(await grpc.call(SessionService, "CreateSession", {}, { key })).toMatchObject({
      code: status.PERMISSION_DENIED,
    });
    expect(await grpc.call(TodoTrackerService, "AddTodo", { todo: { content: "x" } }, { key })).toMatchObject({
      code: status.PERMISSION_DENIED,
    });
    expect((await rest(key, "GET", "/session")).status).toBe(200);
    expect(await rest(key, "POST", "/session", {})).toMatchObject({ status: 403, body: { code: 7 } });
    expect(await rest(key, "POST", "/sessionpool.v1.SessionService/CreateSession", {})).toMatchObject({
      status: 403,
      body: { code: "permission_denied" },
    });
  });
});

describe("two namespaces", () => {
  it("share no session, message, page token or todo", async () => {
    const a = keys.writer;
    const b = keys.other;
    await rest(a, "POST", "/session", { sessionId: "same", title: "of a" });
    await rest(b, "POST", "/session", { sessionId: "same", title: "of b" });
    await rest(a, "POST", "/session", { sessionId: "only-a" });
    for (const id of ["m1", "m2"]) {
      await rest(a, "POST", "/session/same/message", { info: { id, role: "user" }, parts: [] });
    }
    await grpc.call(TodoTrackerService, "AddTodo", { todo: { content: "of a" } }, { key: a });

    expect(await rest(b, "GET", "/session/same")).toMatchObject({ body: { title: "of b", messageCount: "0" } });
    expect(await rest(b, "GET", "/session/only-a")).toMatchObject({ status: 404 });
    expect(await rest(b, "POST", "/session/only-a/fork", {})).toMatchObject({ status: 404 });
    expect(await rest(b, "GET", "/session")).toMatchObject({
      body: { sessions: [{ sessionId: "same", title: "of b" }] },
    });
    const page = await rest(a, "GET", "/session/same/message?limit=1");
    const token = (page.body as { nextPageToken: string }).nextPageToken;
    expect(await rest(b, "GET", `/session/same/message?page_token=${token}`)).toMatchObject({ status: 400 });
    expect(await grpc.call(TodoService, "ListTodos", { sessionId: "same" }, { key: b })).toEqual({ answer: {} });
    expect(await rest(a, "GET", "/same/todo")).toMatchObject({ body: [{ content: "of a" }] });
  });
});

it("a key that was removed from the file is refused", async () => {
  const key = keys.reader;
  writeKeys(["writer", "other"]);
  await poll(async () => (await rest(key, "GET", "/session")).status === 401, "the key is refused");
  expect((await rest(keys.writer, "GET", "/session")).status).toBe(200);
});

const JSON_TYPE = { "content-type": "application/json" };

async function rest(
  key: string,
  method: string,
  target: string,
  body?: object,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(server.httpUrl + target, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && JSON_TYPE) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

function writeKeys(names: readonly (keyof typeof keys)[]): void {
  const entries = names.map((name) => ({
    name,
    hash: hashRandomKey(keys[name]),
    namespace: name === "other" ? "b" : "a",
    scope: name === "reader" ? "read" : "write",
  }));
  writeFileSync(path, JSON.stringify(entries));
}
