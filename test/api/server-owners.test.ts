import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService, TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { Child } from "../support/child.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";

const JSON_TYPE = { "content-type": "application/json" };
/** What a claim of a token holds; undefined for none. */
type Claim = string | number | undefined;

const keys = { ada: newKey(), bob: newKey(), backend: newKey() };
let folder: string;
let sign: (scope: string, user: Claim) => Promise<string>;
let jwks: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-owners-"));
  jwks = join(folder, "jwks.json");
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  writeFileSync(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] }));
  sign = (scope, user) =>
    new SignJWT({ namespace: "n", scope, user })
      .setProtectedHeader({ alg: "ES256" })
      .setExpirationTime("1h")
      .sign(privateKey);
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("tokens of a server with an owner claim", () => {
  let server: TestServer;
  let grpc: GrpcClient;

  beforeAll(async () => {
    const jwt = { jwks, namespaceClaim: "namespace", scopeClaim: "scope", ownerClaim: "user" };
    server = await startTestServer({ jwt, openAi: true });
    grpc = new GrpcClient(server.grpcAddress);
  });

  afterAll(async () => {
    grpc.close();
    await server.stop();
  });

  it("open the sessions of their owner, and no others", async () => {
    const [ada, bob, admin] = [await sign("write", "ada"), await sign("write", "bob"), await sign("admin", undefined)];
    expect(await rest(server, ada, "POST", "/session", { sessionId: "hers" })).toMatchObject({
      status: 200,
      body: { owner: "ada" },
    });
    expect(await rest(server, bob, "GET", "/session/hers")).toMatchObject({ status: 404 });
    expect((await rest(server, bob, "GET", "/session")).body.sessions).toEqual([]);
    // The tokens are remembered by now.
    expect((await rest(server, ada, "GET", "/session")).body.sessions).toMatchObject([{ sessionId: "hers" }]);
    expect((await rest(server, admin, "GET", "/session")).body.sessions).toMatchObject([{ owner: "ada" }]);
  });

  it("take no page tokens of another owner's lists, and give no other sign of its sessions", async () => {
    const [ada, bob, admin] = [await sign("write", "ada"), await sign("write", "bob"), await sign("admin", undefined)];
    for (const sessionId of ["p1", "p2"]) await rest(server, ada, "POST", "/session", { sessionId });
    const message = { info: { role: "user" }, parts: [{ type: "text", text: "Hello" }] };
    for (const key of [ada, ada]) await rest(server, key, "POST", "/session/p1/message", message);
    for (const key of [ada, admin]) {
      const { nextPageToken } = (await rest(server, key, "GET", "/session?limit=1")).body;
      expect(nextPageToken).not.toBe("");
      const taken = await rest(server, bob, "GET", `/session?limit=1&page_token=${nextPageToken}`);
      expect(taken).toMatchObject({ status: 400, body: { code: 3 } });
    }
    const { nextPageToken } = (await rest(server, ada, "GET", "/session/p1/message?limit=1")).body;
    expect(nextPageToken).not.toBe("");
    const asked = (id: string) => rest(server, bob, "GET", `/session/${id}/message?page_token=${nextPageToken}`);
    expect(await asked("p1")).toMatchObject({ status: 404, body: { message: 'Session "p1" not found' } });
    expect(await asked("p0")).toMatchObject({ status: 404, body: { message: 'Session "p0" not found' } });
    const created = await rest(server, bob, "POST", "/session", { sessionId: "p1" });
    expect(created).toMatchObject({
      status: 409,
      body: { message: 'Session "p1" exists and was not made by this call' },
    });
    const named = await rest(server, bob, "POST", "/session", { owner: "ada" });
    expect(named).toMatchObject({ status: 403, body: { message: "owner is not the one that the caller is bound to" } });
  });

  it("end watches of a session that gets another owner, and hide its parent, which did not", async () => {
    const [ada, bob, admin] = [await sign("write", "ada"), await sign("write", "bob"), await sign("admin", undefined)];
    const message = { info: { id: "m", role: "user" }, parts: [{ type: "text", text: "Hello" }] };
    await rest(server, ada, "POST", "/session", { sessionId: "source" });
    await rest(server, ada, "POST", "/session/source/message", message);
    await rest(server, ada, "POST", "/session/source/fork", { newSessionId: "given" });
    expect((await rest(server, ada, "GET", "/session/given")).body).toMatchObject({ parentId: "source" });
    const watched = await watch(server, ada, "given");
    await rest(server, admin, "PATCH", "/session/given", { owner: "bob", updateMask: "owner" });
    expect(await watched.text()).toContain('{"error":{"code":5,');
    expect((await rest(server, ada, "GET", "/session/given")).status).toBe(404);
    expect((await rest(server, bob, "GET", "/session/given")).body).toMatchObject({ owner: "bob", parentId: "" });
    const { info } = (await rest(server, bob, "GET", "/session/given/message/m")).body;
    expect(info).toMatchObject({ id: "m", originSessionId: "" });
    expect((await rest(server, admin, "GET", "/session/given")).body).toMatchObject({ parentId: "source" });
  });

  it.each([undefined, "", 7, "o".repeat(129)])("are denied on every front if the claim is %j", async (user) => {
    const key = await sign("write", user);
    const text = expect.stringContaining('The claim "user"');
    const denied = { code: status.PERMISSION_DENIED, message: text };
    expect(await grpc.call(SessionService, "ListSessions", {}, { key })).toEqual(denied);
    const stream = grpc.stream(MessageService, "WatchMessages", { sessionId: "s" }, { key });
    const error = await new Promise((resolve) => stream.on("error", resolve).on("data", () => undefined));
    expect(error).toMatchObject({ code: status.PERMISSION_DENIED, details: text });
    expect(await rest(server, key, "GET", "/session")).toMatchObject({ status: 403, body: { code: 7, message: text } });
    expect(await rest(server, key, "GET", "/session/s/message:watch")).toMatchObject({ status: 403 });
    expect(await rest(server, key, "POST", CONNECT_LIST, {})).toMatchObject({
      status: 403,
      body: { code: "permission_denied", message: text },
    });
    expect(await rest(server, key, "POST", "/v1/conversations", {})).toMatchObject({
      status: 403,
      body: { error: { type: "permission_error", message: text, param: null } },
    });
    const refused = async () => {
      const { body } = await rest(server, await sign("admin", user), "GET", "/metrics");
      return Number(/session_pool_refused_keys_total (\d+)/.exec(body)?.[1]);
    };
    const before = await refused();
    expect(await rest(server, key, "GET", "/metrics")).toMatchObject({ status: 403 });
    expect(await refused()).toBe(before + 1);
  });
});

describe("a key that is bound to an owner", () => {
  it("opens nothing of its first owner once the keys file names another, and its watches end", async () => {
    const keysFile = writeKeys("moved.json", { ada: "ada", bob: "bob" });
    const server = await startTestServer({ keysFile });
    await rest(server, keys.ada, "POST", "/session", { sessionId: "hers" });
    await rest(server, keys.bob, "POST", "/session", { sessionId: "his" });
    const watched = await watch(server, keys.ada, "hers");
    const kept = await watch(server, keys.bob, "his");
    writeKeys("moved.json", { ada: "carol", bob: "bob" });
    server.reload();
    expect(await watched.text()).toContain('{"error":{"code":16,');
    expect(await rest(server, keys.ada, "GET", "/session/hers")).toMatchObject({ status: 404 });
    await kept.body?.cancel();
    await server.stop();
  });

  it("opens the same in each of several workers", async () => {
    const storage = `sqlite:${join(folder, "workers.db")}`;
    const args = ["--keys-file", writeKeys("workers.json", { ada: "ada", bob: "bob" }), "--jwks", jwks];
    const flags = ["--jwt-owner-claim", "user", "--hide-todos-from-owners", "--workers", "2"];
    const { child, httpUrl } = await Child.serve("--storage", storage, ...args, ...flags);
    const at = { httpUrl };
    await rest(at, keys.ada, "POST", "/session", { sessionId: "hers" });
    const token = await sign("read", "bob");
    const unbound = await sign("read", undefined);
    // Each request makes a connection of its own, which any worker may take.
    for (let i = 0; i < 8; i++) {
      expect(await rest(at, keys.ada, "GET", "/session/hers")).toMatchObject({ status: 200, body: { owner: "ada" } });
      for (const key of [keys.bob, token])
        expect(await rest(at, key, "GET", "/session/hers")).toMatchObject({ status: 404 });
      expect(await rest(at, unbound, "GET", "/session/hers")).toMatchObject({ status: 403 });
      expect(await rest(at, token, "GET", "/all/todo")).toMatchObject({ status: 403 });
    }
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0, signal: null });
  });
});

describe("the todo list", () => {
  const TODO = { id: "t", content: "Shared by all", status: "pending", priority: "low" };
  const methods = [...TodoService.methods, ...TodoTrackerService.methods];
  const requests: Record<string, object> = {
    ListTodos: { sessionId: "any" },
    ReplaceTodos: { todos: [TODO] },
    AddTodo: { todo: { ...TODO, id: "other" } },
    UpdateTodo: { todo: TODO },
    RemoveTodo: { todoId: "t" },
  };

  it.each([false, true])("of a server that hides it from owners: %j", async (hidesTodos) => {
    const keysFile = writeKeys("todos.json", { ada: "ada", backend: undefined });
    const server = await startTestServer({ keysFile, hidesTodos });
    const grpc = new GrpcClient(server.grpcAddress);
    const call = (key: string, name: string) => {
      const desc = methods.find((method) => method.name === name)!;
      return grpc.call(desc.parent, name, requests[name] as never, { key });
    };
    await call(keys.backend, "ReplaceTodos");
    for (const { name } of methods) {
      const outcome = await call(keys.ada, name);
      if (hidesTodos) expect(outcome).toMatchObject(deniedBy(name));
      else expect({ name, ...outcome }).toMatchObject({ name, answer: expect.anything() });
    }
    const byRest = await rest(server, keys.ada, "GET", "/all/todo");
    const byConnect = await rest(server, keys.ada, "POST", `/${TodoService.typeName}/ListTodos`, { sessionId: "any" });
    expect([byRest.status, byConnect.status]).toEqual(hidesTodos ? [403, 403] : [200, 200]);
    if (hidesTodos) {
      const { message } = deniedBy("ListTodos");
      expect(byRest.body).toMatchObject({ code: status.PERMISSION_DENIED, message });
      expect(byConnect.body).toMatchObject({ code: "permission_denied", message });
      expect((await rest(server, keys.backend, "GET", "/all/todo")).body).toMatchObject([TODO]);
    }
    grpc.close();
    await server.stop();
  });

  function deniedBy(name: string) {
    const message = `${name} needs a caller without an owner: --hide-todos-from-owners hides the todo list`;
    return { code: status.PERMISSION_DENIED, message };
  }
});

const CONNECT_LIST = `/${SessionService.typeName}/ListSessions`;

/** Writes a file of the named keys, with the owner of each. */
function writeKeys(file: string, owners: { readonly [name in keyof typeof keys]?: string | undefined }): string {
  const path = join(folder, file);
  const entries = Object.entries(owners).map(([name, owner]) => {
    const hash = hashRandomKey(keys[name as keyof typeof keys]);
    return { name, hash, namespace: "n", scope: "write", owner };
  });
  writeFileSync(path, JSON.stringify(entries));
  return path;
}

async function rest(
  { httpUrl }: Pick<TestServer, "httpUrl">,
  key: string,
  method: string,
  path: string,
  body?: object,
) {
  const headers = { authorization: `Bearer ${key}`, connection: "close", ...JSON_TYPE };
  const answer = await fetch(httpUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text };
}

/** Resolves when the stream has begun. */
function watch(server: TestServer, key: string, sessionId: string): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, accept: "application/x-ndjson" };
  return fetch(`${server.httpUrl}/session/${sessionId}/message:watch`, { headers });
}
