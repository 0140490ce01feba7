import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { Child, run } from "../support/child.js";
import { poll } from "../support/poll.js";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-secrets-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

it("traces do not contain the command line", async () => {
  const collector = await Collector.start();
  const path = join(folder, "hunter2.db");
  const { child, httpUrl } = await Child.serveWith(collector.env, "--storage", `sqlite:${path}`);
  expect((await fetch(`${httpUrl}/session`)).status).toBe(200);
  child.kill("SIGTERM");
  expect(await child.ended()).toMatchObject({ code: 0 });
  await poll(() => collector.exported.includes("ListSessions"), "the span is exported");
  expect(collector.exported).toContain("service.name");
  expect(collector.exported).not.toMatch(/hunter2|process\.command/);
  await collector.stop();
});

it("what callers send stands in no log, metric or trace, and their keys in no answer", async () => {
  const collector = await Collector.start();
  const [key, wrongKey] = [newKey(), newKey()];
  const keysFile = join(folder, "keys.json");
  writeFileSync(keysFile, JSON.stringify([{ name: "k", hash: hashRandomKey(key), namespace: "n", scope: "admin" }]));
  const secretFile = join(folder, "ticket-secret");
  writeFileSync(secretFile, newTicketSecret());
  const files = ["--keys-file", keysFile, "--ticket-secret-file", secretFile];
  const args = ["--storage", "memory:", "--search", "--openai", ...files, "--log-level", "debug"];
  const { child, httpUrl } = await Child.serveWith(collector.env, ...args);
  const answers: string[] = [];
  const call = async (method: string, path: string, body?: string, by = key) => {
    const headers = { authorization: `Bearer ${by}`, "content-type": "application/json" };
    const response = await fetch(`${httpUrl}${path}`, { method, headers, ...(body !== undefined && { body }) });
    answers.push(await response.text());
    return response.status;
  };
  expect(await call("POST", "/session", '{"sessionId":"s"}')).toBe(200);
  const info = '"info":{"id":"m","role":"user","metadata":{"a":"hunter2"}}';
  expect(await call("POST", "/session/s/message", `{${info},"parts":[{"type":"text","text":"hunter2"}]}`)).toBe(200);
  expect(await call("POST", "/session/s/message", `{${info},"parts":[{"type":"text","text":"other"}]}`)).toBe(409);
  expect(await call("GET", "/search?q=hunter2")).toBe(200);
  const malformed = [
    "hunter2",
    '{"parts":["hunter2"]}',
    '{"parts":[{"text":{"a":"hunter2"}}]}',
    '{"parts":[{"hunter2":1}]}',
    '{"info":{"timestamp":"hunter2"}}',
    '{"parts":[{"text":"hunter2',
    '{"parts":[{"text":"hunter2\\ud800"}]}',
  ];
  const paths = ["/session/s/message", "/sessionpool.v1.MessageService/AppendMessage", "/v1/conversations"];
  for (const path of paths) for (const body of malformed) expect(await call("POST", path, body)).toBe(400);
  expect(await call("GET", "/session", undefined, wrongKey)).toBe(401);
  expect(await call("GET", `/session/${"x".repeat(200)}`)).toBe(400);
  expect(await call("GET", "/metrics")).toBe(200);
  expect(answers.at(-1)).not.toContain("hunter2");
  expect(await call("POST", "/session/s/ticket", '{"scope":"read"}')).toBe(200);
  const { ticket } = JSON.parse(answers.pop()!) as { readonly ticket: string };
  const messages = encodeURIComponent('{"sessionId":"s"}');
  const rpc = `/sessionpool.v1.SessionService/GetSession?encoding=json&message=${messages}`;
  for (const [path, status] of [
    ["/session/s?", 200],
    ["/session/other?", 403],
    ["/session/s?unknown=1&", 400],
    ["/nowhere/at/all?", 404],
    ["/a.b/Unknown?", 404],
    [`${rpc}&`, 200],
    ["/v1/conversations/s?", 200],
    ["/metrics?", 403],
  ] as const) {
    for (const sent of [ticket, ticket.replaceAll(".", "%2e")]) {
      const answer = await fetch(`${httpUrl}${path}ticket=${sent}`);
      answers.push(await answer.text());
      expect(answer.status, path).toBe(status);
      expect(await call("GET", `${path}ticket=${sent}`), path).toBeGreaterThanOrEqual(400);
    }
  }
  const bad = await fetch(`${httpUrl}/session/s?ticket=${ticket}x`);
  expect(bad.status).toBe(401);
  answers.push(await bad.text());
  child.kill("SIGTERM");
  const { stderr } = await child.ended();
  await poll(() => collector.exported.includes("CreateTicket"), "the spans are exported");
  expect(stderr).toContain("AppendMessage");
  expect(stderr).toContain('"key":"ticket ');
  for (const written of [stderr, collector.exported]) expect(written).not.toContain("hunter2");
  for (const written of [stderr, collector.exported, ...answers]) {
    expect(written).not.toContain(key);
    expect(written).not.toContain(wrongKey);
    for (const part of ticket.split(".")) expect(written).not.toContain(part);
  }
  await collector.stop();
});

it("a storage URL can be in a file, which overrides the environment but not the command line", async () => {
  const file = join(folder, "storage");
  writeFileSync(file, `sqlite:${join(folder, "of-file.db")}\n`);
  const env = { SESSION_POOL_STORAGE: `sqlite:${join(folder, "of-environment.db")}`, SESSION_POOL_STORAGE_FILE: file };
  const add = (...args: string[]) => run(["todo", "list", ...args], env);
  expect((await add()).stderr).toContain("of-file.db");
  expect((await add("--storage", `sqlite:${join(folder, "of-flag.db")}`)).stderr).toContain("of-flag.db");
  const both = await add("--storage", "memory:", "--storage-file", file);
  expect(both).toMatchObject({
    code: 1,
    stderr: "session-pool: --storage and --storage-file must not be given together\n",
  });
});

it("a storage file that cannot be used is refused with a one-line message", async () => {
  const missing = await run(["serve", "--storage-file", join(folder, "nothing")]);
  expect(missing).toMatchObject({ code: 1 });
  expect(missing.stderr).toMatch(/^session-pool: --storage-file cannot be read: ENOENT.*\n$/);
  const empty = join(folder, "empty");
  writeFileSync(empty, "\n");
  expect((await run(["serve", "--storage-file", empty])).stderr).toMatch(
    /^session-pool: --storage-file: .*empty must hold one line\n$/,
  );
});

it("the server warns at start when no audience of tokens is configured", async () => {
  const jwks = join(folder, "jwks.json");
  writeFileSync(jwks, '{"keys":[]}');
  const { child } = await Child.serve("--storage", "memory:", "--jwks", jwks);
  child.kill("SIGTERM");
  expect((await child.ended()).stderr).toContain("Without --jwt-audience");
});

/** Receives the traces of a server. */
class Collector {
  exported = "";
  readonly env: Readonly<Record<string, string>>;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_METRICS_EXPORTER: "none",
      OTEL_LOGS_EXPORTER: "none",
    };
    server.on("request", (request, response) => {
      request.setEncoding("utf8").on("data", (chunk) => {
        this.exported += chunk;
      });
      request.on("end", () => response.setHeader("content-type", "application/json").end("{}"));
    });
  }

  static async start(): Promise<Collector> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Collector(server);
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
