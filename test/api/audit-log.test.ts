import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { documentedProgram } from "../clients/documented.js";
import { Child, run } from "../support/child.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";

type Line = Record<string, unknown>;

/** In every field of content that the calls below send. */
const SECRET = "hush-hush";
const folder = mkdtempSync(join(tmpdir(), "session-pool-audit-api-"));
const keys = { writer: newKey(), reader: newKey(), ada: newKey() };
const keysFile = join(folder, "keys.json");
const ticketSecretFile = join(folder, "ticket-secret");

beforeAll(() => {
  const entry = (name: keyof typeof keys, rest: object) => ({ name, hash: hashRandomKey(keys[name]), ...rest });
  const entries = [
    entry("writer", { namespace: "default", scope: "admin" }),
    entry("reader", { namespace: "default", scope: "read" }),
    entry("ada", { namespace: "default", scope: "write", owner: "ada" }),
  ];
  writeFileSync(keysFile, JSON.stringify(entries), { mode: 0o600 });
  writeFileSync(ticketSecretFile, `${newTicketSecret()}\n`, { mode: 0o600 });
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("the audit log of a server", () => {
  const auditLog = join(folder, "server.jsonl");
  let server: TestServer;
  let ticket: string;

  beforeAll(async () => {
    server = await startTestServer({ keysFile, ticketSecretFile, auditLog, openAi: true });
  });

  const send = async (key: string | undefined, method: string, path: string, body?: unknown): Promise<Response> => {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (key !== undefined) headers.authorization = `Bearer ${key}`;
    headers["x-request-id"] = "r1";
    return fetch(server.httpUrl + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  };

  it("has a line about each change: by whom, to what, with which result", async () => {
    const content = { title: SECRET, metadata: { k: SECRET }, labels: { k: SECRET } };
    await send(keys.ada, "POST", "/session", { sessionId: "s", ...content });
    const message = { info: { role: "user", metadata: { k: SECRET } }, parts: [{ type: "text", text: SECRET }] };
    const { messageId } = (await (await send(keys.ada, "POST", "/session/s/message", message)).json()) as Line;
    await send(keys.ada, "POST", "/session/s/message", { info: { id: "m2" }, parts: message.parts });
    const forked = (await (await send(keys.writer, "POST", "/session/s/fork", { title: SECRET })).json()) as {
      session: Line;
    };
    await send(keys.writer, "DELETE", "/session/gone");
    const made = (await (await send(keys.writer, "POST", "/session/s/ticket", { scope: "read" })).json()) as Line;
    ticket = made.ticket as string;
    const common = { front: "rest", namespace: "default", requestId: "r1", peer: "127.0.0.1", result: "ok" };
    const byAda = { ...common, by: "key", name: "ada", owner: "ada" };
    const byWriter = { ...common, by: "key", name: "writer" };
    expect(taken()).toEqual([
      { ...byAda, action: "CreateSession", sessionId: "s" },
      { ...byAda, action: "AppendMessage", sessionId: "s", messageId },
      { ...byAda, action: "AppendMessage", sessionId: "s", messageId: "m2", result: "invalid_argument" },
      { ...byWriter, action: "ForkSession", sessionId: "s", newSessionId: forked.session.sessionId },
      { ...byWriter, action: "DeleteSession", sessionId: "gone", result: "not_found" },
      { ...byWriter, action: "CreateTicket", sessionId: "s" },
    ]);
  });

  it("has lines with the fields that docs/ shows", async () => {
    await send(keys.writer, "POST", "/session", { sessionId: "trip" });
    await send(keys.writer, "DELETE", "/session/trip");
    const out = join(folder, "ada.jsonl");
    await run(["export", "--storage", "memory:", "--audit-log", auditLog, "--owner", "ada", out]);
    const lines = linesOf(auditLog).slice(-3, -1);
    const shown = documentedProgram("json", '"action":"DeleteSession"').trim().split("\n");
    expect(lines.map((line) => Object.keys(line))).toEqual(shown.map((line) => Object.keys(JSON.parse(line))));
    taken();
  });

  it("has none about reads", async () => {
    await send(keys.reader, "GET", "/session");
    await send(keys.reader, "GET", "/session/s");
    await send(keys.reader, "GET", "/session/s/message");
    expect(taken()).toEqual([]);
  });

  it("has refused attempts on every front, however the caller was refused", async () => {
    await send(keys.reader, "DELETE", "/session/s");
    await send(ticket, "GET", "/session/other");
    await send(ticket, "DELETE", "/session/s");
    const note = { annotationId: "n1", messageId: "m1" };
    await send(keys.ada, "POST", "/session/s/annotation", { ...note, text: SECRET, author: "bob" });
    const name = expect.stringMatching(/^[\w-]{12}$/);
    const result = "permission_denied";
    expect(taken()).toMatchObject([
      { by: "key", name: "reader", action: "DeleteSession", result },
      { by: "ticket", name, action: "GetSession", sessionId: "other", result },
      { by: "ticket", name, action: "DeleteSession", result },
      { by: "key", name: "ada", action: "CreateAnnotation", sessionId: "s", ...note, result },
    ]);
    await send(`spt_${SECRET}`, "GET", "/session/s");
    expect(taken()).toEqual([{ action: "refused", result: "unauthenticated", requestId: "r1", peer: "127.0.0.1" }]);
    const grpc = new GrpcClient(server.grpcAddress);
    const wrong = grpc.call(SessionService, "GetSession", { sessionId: "s" }, { key: SECRET });
    expect(await wrong).toMatchObject({ code: status.UNAUTHENTICATED });
    const denied = grpc.call(SessionService, "DeleteSession", { sessionId: "s" }, { key: keys.reader });
    expect(await denied).toMatchObject({ code: status.PERMISSION_DENIED });
    const todo = { id: "t", content: SECRET, status: SECRET, priority: SECRET };
    await grpc.call(TodoTrackerService, "AddTodo", { todo }, { key: keys.writer });
    grpc.close();
    await send(undefined, "POST", "/sessionpool.v1.SessionService/DeleteSession", { sessionId: "s" });
    await send(undefined, "GET", "/metrics");
    await send(keys.ada, "GET", "/metrics");
    await fetch(`${server.httpUrl}/session`, { method: "POST", headers: { origin: "https://evil.example" } });
    await send(keys.writer, "POST", "/v1/conversations", { metadata: { k: SECRET } });
    await send(keys.reader, "POST", "/v1/conversations", {});
    const attempts = taken();
    expect(attempts.filter(({ action }) => action !== "refused")).toMatchObject([
      { front: "grpc", name: "reader", action: "DeleteSession", result },
      { front: "grpc", name: "writer", action: "AddTodo", todoId: "t", result: "ok" },
      { front: "openai", name: "writer", action: "CreateSession", sessionId: expect.any(String), result: "ok" },
      { front: "openai", name: "reader", action: "CreateSession", result },
    ]);
    await Promise.all(Array.from({ length: 20 }, () => send(`spt_${SECRET}`, "GET", "/session/s")));
    await server.stop();
    // Lines that repeat are written as one with a count, once a second and when the server stops.
    const refused = [...attempts, ...taken()].filter(({ action }) => action === "refused");
    const times = (of: string) =>
      refused.reduce((sum, line) => sum + (line.result === of ? Number(line.count ?? 1) : 0), 0);
    // Those denied are the page of another origin, and the owner that asked for metrics.
    expect([times("unauthenticated"), times(result)]).toEqual([23, 2]);
    expect(refused.length).toBeLessThan(20);
  });

  it("never has content, keys or tickets, and is its user's alone", () => {
    const text = readFileSync(auditLog, "utf8");
    expect(text).not.toContain(SECRET);
    for (const key of [...Object.values(keys), ticket]) expect(text).not.toContain(key);
    expect(statSync(auditLog).mode & 0o777).toBe(0o600);
  });

  it("refuses to start when the file cannot be opened", async () => {
    await expect(startTestServer({ auditLog: folder })).rejects.toThrow(
      `Audit log ${folder} cannot be written: EISDIR`,
    );
  });

  let seen = 0;
  /** The lines since the last call, without their times. */
  function taken(): Line[] {
    const lines = linesOf(auditLog);
    const fresh = lines.slice(seen);
    seen = lines.length;
    return fresh.map(({ time, ...rest }) => {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      return rest;
    });
  }
});

describe("the audit log of several processes", () => {
  it("loses no line and tears none while it is moved away under load", async () => {
    const auditLog = join(folder, "workers.jsonl");
    const storage = `sqlite:${join(folder, "workers.db")}`;
    const { child, httpUrl } = await Child.serve("--workers", "2", "--storage", storage, "--audit-log", auditLog);
    const ids = Array.from({ length: 120 }, (_, i) => `s${i}`);
    for (let round = 0; round < 3; round++) {
      const sending = ids.slice(round * 40, round * 40 + 40).map((sessionId) =>
        fetch(`${httpUrl}/session`, {
          method: "POST",
          headers: { "content-type": "application/json", connection: "close" },
          body: JSON.stringify({ sessionId }),
        }).then((response) => expect(response.status).toBe(200)),
      );
      renameSync(auditLog, `${auditLog}.${round}`);
      child.kill("SIGHUP");
      await Promise.all(sending);
    }
    child.kill("SIGTERM");
    await child.ended();
    const files = [auditLog, ...[0, 1, 2].map((round) => `${auditLog}.${round}`)];
    const told = files.flatMap((file) => linesOf(file)).map(({ sessionId }) => sessionId);
    expect(told.sort()).toEqual(ids.toSorted());
  });
});

describe("the audit log of commands", () => {
  it("says who began what, what was changed, and how it ended", async () => {
    const auditLog = join(folder, "commands.jsonl");
    const env = { SESSION_POOL_AUDIT_LOG: auditLog, SESSION_POOL_STORAGE: `sqlite:${join(folder, "commands.db")}` };
    const { child, httpUrl } = await Child.serveWith({ ...env, SESSION_POOL_AUDIT_LOG: join(folder, "other.jsonl") });
    const create = { method: "POST", headers: { "content-type": "application/json" }, body: '{"sessionId":"s"}' };
    await fetch(`${httpUrl}/session`, create);
    await run(["todo", "add", SECRET, "--id", "t"], env);
    const { id: todoId } = JSON.parse((await run(["todo", "add", SECRET], env)).stdout) as { readonly id: string };
    await run(["export", join(folder, "out.jsonl")], env);
    await run(["sessions", "list"], env);
    await run(["sessions", "delete", "s", "nobody"], env);
    child.kill("SIGTERM");
    await child.ended();
    const by = { by: "command", name: userInfo().username, namespace: "default" };
    expect(linesOf(auditLog).map(({ time: _time, ...line }) => line)).toEqual([
      { ...by, action: "todo add", phase: "started", todoId: "t" },
      { ...by, action: "todo add", phase: "ended", todoId: "t", result: "ok" },
      { ...by, action: "todo add", phase: "started" },
      { ...by, action: "todo add", phase: "ended", todoId, result: "ok" },
      { ...by, action: "export", phase: "started" },
      { ...by, action: "export", phase: "ended", sessions: 1, result: "ok" },
      { ...by, action: "sessions delete", phase: "started" },
      { ...by, action: "sessions delete", sessionId: "s", result: "ok" },
      { ...by, action: "sessions delete", sessionId: "nobody", result: "not_found" },
      { ...by, action: "sessions delete", phase: "ended", result: "not_found" },
    ]);
    expect(readFileSync(auditLog, "utf8")).not.toContain(SECRET);
    const refused = await run(["todo", "clear"], { ...env, SESSION_POOL_AUDIT_LOG: folder });
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Audit log ${folder} cannot be written`),
    });
    expect((await run(["todo", "list"], env)).stdout).toContain('"t"');
  });
});

describe("the audit log of an import and of the erasure of an owner", () => {
  it("names each session", async () => {
    const auditLog = join(folder, "owner.jsonl");
    const env = { SESSION_POOL_AUDIT_LOG: auditLog, SESSION_POOL_STORAGE: `sqlite:${join(folder, "owner.db")}` };
    const file = join(folder, "owner-sessions.jsonl");
    const empty = { createTimeMicros: 1, updateTimeMicros: 1, revision: 1, messages: [] };
    const sessions = ["a", "b"].map((sessionId) => ({ session: { ...empty, sessionId, title: SECRET } }));
    const lines = [{ format: "session-pool", version: 4 }, ...sessions, { todos: [] }];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    for (let i = 0; i < 2; i++) await run(["import", file, "--owner", "ada"], env);
    await run(["sessions", "delete", "--owner", "ada", "--erase", "--yes"], env);
    const told = linesOf(auditLog).map(({ action, phase, sessionId, sessions: count, result }) => {
      return [action, phase ?? sessionId, result, count].filter((value) => value !== undefined).join(" ");
    });
    const importing = told.slice(0, 4);
    expect([importing[0], ...importing.slice(1, 3).sort(), importing[3]]).toEqual([
      "import started",
      "import a ok",
      "import b ok",
      "import ended ok 2",
    ]);
    expect(told.slice(4, 6)).toEqual(["import started", "import ended ok 0"]);
    const erasing = told.slice(6);
    expect([erasing[0], ...erasing.slice(1, 3).sort(), ...erasing.slice(3)]).toEqual([
      "sessions delete started",
      "sessions delete a ok",
      "sessions delete b ok",
      "sessions delete ended ok",
    ]);
    expect(readFileSync(auditLog, "utf8")).not.toContain(SECRET);
  });
});

function linesOf(path: string): Line[] {
  const text = readFileSync(path, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
