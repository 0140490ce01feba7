import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import type { ServeConfig } from "../../src/config/config.js";
import { DEFAULT_SERVER_LIMITS } from "../../src/config/config.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { Child } from "../support/child.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { TestLogger } from "../support/test-logger.js";

const WRITER = newKey();
const READER = newKey();
const OTHER = newKey();
const ADA = newKey();
const DAY_MS = 86_400_000;

let folder: string;
let ticketSecretFile: string;
let keysFile: string;
let server: TestServer;
const logger = new TestLogger("debug");
let read: string;
let write: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-tickets-"));
  ticketSecretFile = join(folder, "secret");
  writeFileSync(ticketSecretFile, newTicketSecret());
  keysFile = join(folder, "keys.json");
  const entries = [
    { name: "writer", hash: hashRandomKey(WRITER), namespace: "a", scope: "write" },
    { name: "reader", hash: hashRandomKey(READER), namespace: "a", scope: "read" },
    { name: "ada", hash: hashRandomKey(ADA), namespace: "a", scope: "write", owner: "ada" },
    { name: "other", hash: hashRandomKey(OTHER), namespace: "b", scope: "write" },
  ];
  writeFileSync(keysFile, JSON.stringify(entries));
  server = await startTestServer({ keysFile, ticketSecretFile, openAi: true }, logger.pino);
  for (const id of ["s", "t"]) await post("/session", WRITER, { sessionId: id });
  await post("/session", OTHER, { sessionId: "s", title: "of b" });
  await append("s", "m", WRITER);
  read = await makeTicket("s", "read");
  write = await makeTicket("s", "write");
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const FRONTS: readonly (readonly [string, () => Transport])[] = [
  ["Connect, JSON", () => createConnectTransport({ baseUrl: server.httpUrl, httpVersion: "1.1" })],
  [
    "Connect by GET",
    () =>
      createConnectTransport({ baseUrl: server.httpUrl, httpVersion: "2", useHttpGet: true, useBinaryFormat: true }),
  ],
  ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: server.httpUrl, httpVersion: "1.1" })],
  ["gRPC on the HTTP port", () => createGrpcTransport({ baseUrl: server.httpUrl })],
  ["gRPC", () => createGrpcTransport({ baseUrl: `http://${server.grpcAddress}` })],
];

describe("a ticket", () => {
  it.each(FRONTS)("opens its session and nothing else: %s", async (_front, makeTransport) => {
    const transport = makeTransport();
    const sessions = createClient(SessionService, transport);
    const messages = createClient(MessageService, transport);
    const by = (ticket: string) => ({ headers: { authorization: `Bearer ${ticket}` } });
    expect(await sessions.getSession({ sessionId: "s" }, by(read))).toMatchObject({ sessionId: "s", title: "" });
    const message = { info: { role: "user", id: "m" }, parts: [] };
    await messages.appendMessage({ sessionId: "s", message }, by(write));
    const denied: (() => Promise<unknown>)[] = [
      () => messages.appendMessage({ sessionId: "s", message }, by(read)),
      () => sessions.getSession({ sessionId: "t" }, by(read)),
      () => sessions.getSession({ sessionId: "nowhere" }, by(write)),
      () => sessions.listSessions({}, by(write)),
      () => sessions.deleteSession({ sessionId: "s" }, by(write)),
      () => sessions.createTicket({ sessionId: "s", scope: "read" }, by(write)),
      () => sessions.revokeTickets({ sessionId: "s" }, by(write)),
    ];
    for (const call of denied) expect(await codeOf(call), String(call)).toBe(Code.PermissionDenied);
    const invalid = [read.slice(0, -1), `${read}A`, `spt_${read}`, "spt_", read.slice("spt_".length)];
    for (const ticket of invalid) {
      expect(await codeOf(() => sessions.getSession({ sessionId: "s" }, by(ticket)))).toBe(Code.Unauthenticated);
    }
  });

  it("opens its session by REST and OpenAI's routes", async () => {
    expect(await get("/session/s", read)).toMatchObject({ status: 200, body: { sessionId: "s" } });
    expect(await get("/v1/conversations/s", read)).toMatchObject({ status: 200, body: { id: "s" } });
    expect(await get("/v1/conversations/s/items", read)).toMatchObject({ status: 200 });
    expect(await append("s", "m", write)).toMatchObject({ status: 200 });
    expect(await append("s", "m", read)).toMatchObject({ status: 403 });
    expect(await get("/session", read)).toMatchObject({ status: 403 });
    expect(await get("/metrics", read)).toMatchObject({ status: 403 });
    expect(await get(`/metrics?ticket=${write}`)).toMatchObject({ status: 403 });
    expect(await post("/v1/conversations/s/items", read, { items: [] })).toMatchObject({ status: 403 });
  });

  it("of another namespace opens the session there", async () => {
    const { body } = await post("/session/s/ticket", OTHER, { scope: "read" });
    expect(await get("/session/s", body.ticket as string)).toMatchObject({ status: 200, body: { title: "of b" } });
    expect(await get("/session/s", read)).toMatchObject({ status: 200, body: { title: "" } });
  });

  it("names its end, one hour from now if the request names none", async () => {
    const before = Date.now();
    const { body } = await post("/session/s/ticket", WRITER, { scope: "read" });
    const endMs = Date.parse(body.expireTime as string);
    expect(endMs % 1000).toBe(0);
    expect(endMs).toBeGreaterThan(before + 3_600_000 - 1001);
    expect(endMs).toBeLessThanOrEqual(Date.now() + 3_600_000);
    const expireTime = new Date(Math.floor((Date.now() + 30 * DAY_MS) / 1000) * 1000).toISOString();
    const latest = await post("/session/s/ticket", WRITER, { scope: "read", expireTime });
    expect(Date.parse(latest.body.expireTime as string)).toBe(Date.parse(expireTime));
  });

  it.each([
    [{}, "scope"],
    [{ scope: "admin" }, "scope"],
    [{ scope: "read write" }, "scope"],
    [{ scope: "read", expireTime: "2020-01-01T00:00:00Z" }, "expire_time"],
    [{ scope: "read", expireTime: new Date().toISOString() }, "expire_time"],
    [{ scope: "read", expireTime: new Date(Date.now() + 30 * DAY_MS + 3_600_000).toISOString() }, "expire_time"],
    [{ scope: "read", expireTime: "9999-12-31T23:59:59Z" }, "expire_time"],
  ])("is not made for %j", async (body, field) => {
    const answer = await post("/session/s/ticket", WRITER, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 3, message: expect.stringContaining(field) } });
  });

  it("is made and ended only with the scope write, and only for a session that is there", async () => {
    expect(await post("/session/s/ticket", READER, { scope: "read" })).toMatchObject({ status: 403 });
    expect(await post("/session/s/ticket:revoke", READER)).toMatchObject({ status: 403 });
    expect(await post("/session/nowhere/ticket", WRITER, { scope: "read" })).toMatchObject({ status: 404 });
    expect(await post("/session/nowhere/ticket:revoke", WRITER)).toMatchObject({ status: 404 });
    expect(await post("/session/t/ticket", OTHER, { scope: "read" })).toMatchObject({ status: 404 });
  });

  it("is made and ended by a caller that is bound to an owner for its own sessions only", async () => {
    await post("/session", ADA, { sessionId: "of ada" });
    await post("/session", WRITER, { sessionId: "of bob", owner: "bob" });
    const { body } = await post("/session/of%20ada/ticket", ADA, { scope: "read" });
    expect(await get(`/session/of%20ada?ticket=${body.ticket}`)).toMatchObject({ status: 200 });
    for (const id of ["of%20bob", "s"]) {
      expect(await post(`/session/${id}/ticket`, ADA, { scope: "read" })).toMatchObject({ status: 404 });
      expect(await post(`/session/${id}/ticket:revoke`, ADA)).toMatchObject({ status: 404 });
    }
    expect(await get("/session/s", read)).toMatchObject({ status: 200 });
    expect(await post("/session/of%20ada/ticket:revoke", ADA)).toMatchObject({ status: 200 });
    expect(await get(`/session/of%20ada?ticket=${body.ticket}`)).toMatchObject({ status: 401 });
  });

  it("speaks for the owner that its maker is bound to, and for anybody when there is none", async () => {
    await post("/session", ADA, { sessionId: "noted" });
    await append("noted", "m", ADA);
    const [ofAda, ofAnyone] = await Promise.all(
      [ADA, WRITER].map(async (key) => (await post("/session/noted/ticket", key, { scope: "write" })).body.ticket),
    );
    const write = (ticket: unknown, author?: string) =>
      post("/session/noted/annotation", ticket as string, { messageId: "m", text: "x", author });
    expect(await write(ofAda, "bob")).toMatchObject({ status: 403, body: { code: Code.PermissionDenied } });
    expect(await write(ofAda)).toMatchObject({ status: 200, body: { author: "ada" } });
    expect(await write(ofAnyone, "bob")).toMatchObject({ status: 200, body: { author: "bob" } });
  });

  it("is not made by a server without a secret, where none is valid", async () => {
    const plain = await startTestServer({ keysFile });
    const made = await post("/session", WRITER, { sessionId: "s" }, plain);
    expect(made.status).toBe(200);
    const answer = await post("/session/s/ticket", WRITER, { scope: "read" }, plain);
    expect(answer).toMatchObject({ status: 400, body: { code: Code.FailedPrecondition } });
    expect(await get("/session/s", read, plain)).toMatchObject({ status: 401 });
    expect(await get(`/session/s?ticket=${read}`, undefined, plain)).toMatchObject({ status: 401 });
    await plain.stop();
  });
});

describe("a ticket in the URL", () => {
  it("opens its session with GET and HEAD: REST, Connect and OpenAI's routes", async () => {
    expect(await get(`/session/s?ticket=${read}`)).toMatchObject({ status: 200, body: { sessionId: "s" } });
    expect(await get(`/session/s/message?limit=1&ticket=${write}`)).toMatchObject({ status: 200 });
    const message = encodeURIComponent('{"sessionId":"s"}');
    const rpc = `/sessionpool.v1.SessionService/GetSession?connect=v1&encoding=json&message=${message}`;
    expect(await get(`${rpc}&ticket=${read}`)).toMatchObject({ status: 200, body: { sessionId: "s" } });
    expect(await get(`/v1/conversations/s/items?limit=1&ticket=${read}`)).toMatchObject({ status: 200 });
    const head = await fetch(`${server.httpUrl}/session/s?ticket=${read}`, { method: "HEAD" });
    expect(head.status).toBe(200);
  });

  it("permits no more than it does elsewhere", async () => {
    expect(await get(`/session/t?ticket=${read}`)).toMatchObject({ status: 403 });
    expect(await get(`/session?ticket=${write}`)).toMatchObject({ status: 403 });
    for (const credential of ["", "x", `${read}x`, WRITER, encodeURIComponent(`Bearer ${read}`)]) {
      expect(await get(`/session/s?ticket=${credential}`), credential).toMatchObject({ status: 401 });
    }
  });

  it.each([
    ["of a POST", "/session/s/message:batch", { method: "POST", body: "{}" }],
    ["of a POST of Connect", "/sessionpool.v1.SessionService/GetSession", { method: "POST", body: "{}" }],
    ["of a DELETE", "/session/s", { method: "DELETE" }],
    ["with another", "/session/s", { query: "&ticket=x" }],
    ["with a key", "/session/s", { headers: { authorization: `Bearer ${WRITER}` } }],
    ["of OpenAI's routes with a key", "/v1/conversations/s", { headers: { authorization: `Bearer ${WRITER}` } }],
  ])("%s is invalid_argument", async (_what, path, { query = "", headers, ...init }: WithQuery) => {
    const type = { "content-type": "application/json" };
    const url = `${server.httpUrl}${path}?ticket=${write}${query}`;
    const answer = await fetch(url, { ...init, headers: { ...type, ...headers } });
    const text = await answer.text();
    expect(answer.status, text).toBe(400);
    expect(text).toMatch(/ticket/);
    expect(text).not.toContain(write);
  });

  it("of gRPC-Web is invalid_argument, and of gRPC on its own port no known RPC", async () => {
    const headers = { "content-type": "application/grpc-web+proto" };
    const path = "/sessionpool.v1.SessionService/GetSession";
    const url = `${server.httpUrl}${path}?ticket=${read}`;
    const answer = await fetch(url, { method: "POST", headers, body: Buffer.alloc(5) });
    expect(Buffer.from(await answer.arrayBuffer()).toString()).toContain("grpc-status: 3");
    const transport = createGrpcTransport({ baseUrl: `http://${server.grpcAddress}` });
    const withQuery = { ...SessionService.method.getSession, name: `GetSession?ticket=${read}` };
    const failure = await transport.unary(withQuery, undefined, undefined, {}, { sessionId: "s" }).catch((e) => e);
    expect(failure).toMatchObject({ code: Code.Unimplemented });
    expect(failure.message).not.toContain(read);
  });

  it("follows a session as EventSource does, which resumes with Last-Event-ID", async () => {
    const url = `${server.httpUrl}/session/s/message:watch?ticket=${read}`;
    const first = await fetch(`${url}&from_position=0`, { headers: { accept: "text/event-stream" } });
    expect(first.headers.get("content-type")).toBe("text/event-stream");
    const reader = first.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n\n")) text += (await reader.read()).value;
    await reader.cancel();
    const id = /^id: (.+)$/m.exec(text)?.[1];
    const resumed = await fetch(url, { headers: { accept: "text/event-stream", "last-event-id": id! } });
    expect(resumed.status).toBe(200);
    await append("s", "after", write);
    const more = resumed.body!.pipeThrough(new TextDecoderStream()).getReader();
    text = "";
    while (!text.includes("\n\n")) text += (await more.read()).value;
    expect(text).toContain('"after"');
    expect(text).not.toContain('"id":"m"');
    await more.cancel();
  });
});

describe("the answers to requests with a ticket", () => {
  it.each([
    ["a session", "/session/s"],
    ["an error", "/session/t"],
    ["an unknown path", "/nowhere/at/all/of/it"],
    ["an unknown RPC", "/a.b/C"],
    ["a stream", "/session/s/message:watch"],
    ["OpenAI's routes", "/v1/conversations/s"],
    ["a page", "/healthz"],
  ])("tell nobody its URL and are kept by no cache: %s", async (_what, path) => {
    const answer = await fetch(`${server.httpUrl}${path}?ticket=${read}`);
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    await answer.body?.cancel();
  });

  it("and the log hold none of it", async () => {
    const revoked = await makeTicket("t", "read");
    await post("/session/t/ticket:revoke", WRITER);
    const texts: string[] = [];
    for (const path of [
      "/session/s",
      "/session/t",
      "/session",
      "/nope",
      "/a.b/C",
      "/v1/x",
      "/session/s?x=1",
      "/metrics",
    ]) {
      for (const ticket of [read, revoked, `${read}x`, read.slice(0, -9)]) {
        const url = `${server.httpUrl}${path}${path.includes("?") ? "&" : "?"}ticket=${ticket}`;
        texts.push(await (await fetch(url)).text());
        texts.push(await (await fetch(url, { method: "POST" })).text());
      }
    }
    const log = JSON.stringify(logger.lines);
    expect(log).toContain('"key":"ticket ');
    for (const part of [...read.split(".").slice(1), ...revoked.split(".").slice(1)]) {
      expect(log).not.toContain(part);
      for (const text of texts) expect(text).not.toContain(part);
    }
  });
});

describe("tickets end", () => {
  it("with RevokeTickets, and their streams too, while later ones are valid", async () => {
    await post("/session", WRITER, { sessionId: "r" });
    const before = await makeTicket("r", "write");
    const watch = await Watch.open("r", before);
    expect(await post("/session/r/ticket:revoke", WRITER)).toMatchObject({ status: 200, body: {} });
    await watch.ended(Code.Unauthenticated);
    expect(await get("/session/r", before)).toMatchObject({ status: 401 });
    expect(await append("r", "x", before)).toMatchObject({ status: 401 });
    expect(await get("/session/r", await makeTicket("r", "read"))).toMatchObject({ status: 200 });
  });

  it.each(FRONTS)("with RevokeTickets, and their streams too: %s", async (_front, makeTransport) => {
    await post("/session", WRITER, { sessionId: "f" });
    const headers = { authorization: `Bearer ${await makeTicket("f", "read")}` };
    let hasBegun = false;
    const onHeader = () => {
      hasBegun = true;
    };
    const events = createClient(MessageService, makeTransport()).watchMessages(
      { sessionId: "f" },
      { headers, onHeader },
    );
    const ended = codeOf(async () => {
      for await (const _event of events);
    });
    await poll(() => hasBegun, "the watch begins");
    await post("/session/f/ticket:revoke", WRITER);
    expect(await ended).toBe(Code.Unauthenticated);
  });

  it("with their session: none makes it again, and the next one under its id is closed to them", async () => {
    await post("/session", WRITER, { sessionId: "d" });
    const ticket = await makeTicket("d", "write");
    const watch = await Watch.open("d", ticket);
    await call("DELETE", "/session/d", WRITER);
    await watch.ended(Code.NotFound);
    expect(await append("d", "x", ticket)).toMatchObject({ status: 404 });
    expect(await append("d", "x", ticket, "?createSession=true")).toMatchObject({ status: 403 });
    expect(await get("/session/d", WRITER)).toMatchObject({ status: 404 });
    await post("/session", WRITER, { sessionId: "d" });
    expect(await get("/session/d", ticket)).toMatchObject({ status: 401 });
    expect(await append("d", "x", ticket, "?createSession=true")).toMatchObject({ status: 401 });
  });

  it("with a change of the owner", async () => {
    await post("/session", WRITER, { sessionId: "o", owner: "ada" });
    const ticket = await makeTicket("o", "read");
    const watch = await Watch.open("o", ticket);
    expect(await call("PATCH", "/session/o", WRITER, { owner: "bob" })).toMatchObject({ status: 200 });
    await watch.ended(Code.Unauthenticated);
    expect(await get("/session/o", ticket)).toMatchObject({ status: 401 });
  });

  it("at their expiry, and their streams too", async () => {
    const expireTime = new Date(Date.now() + 5000).toISOString();
    const { body } = await post("/session/s/ticket", WRITER, { scope: "read", expireTime });
    const watch = await Watch.open("s", body.ticket as string);
    await watch.ended(Code.Unauthenticated);
    expect(await get("/session/s", body.ticket as string)).toMatchObject({ status: 401 });
  });

  it("when the secret is removed, and their streams too; but not when their key is", async () => {
    const [first, second] = [newTicketSecret(), newTicketSecret()];
    const secretFile = join(folder, "changing");
    const keys = join(folder, "changing.json");
    const entry = (name: string, key: string) => ({ name, hash: hashRandomKey(key), namespace: "a", scope: "write" });
    writeFileSync(secretFile, first);
    writeFileSync(keys, JSON.stringify([entry("writer", WRITER), entry("maker", OTHER)]));
    const changing = await startTestServer({ keysFile: keys, ticketSecretFile: secretFile });
    await post("/session", WRITER, { sessionId: "s" }, changing);
    const { body } = await post("/session/s/ticket", OTHER, { scope: "read" }, changing);
    const ticket = body.ticket as string;
    writeFileSync(keys, JSON.stringify([entry("writer", WRITER)]));
    changing.reload();
    expect(await get("/session/s", OTHER, changing)).toMatchObject({ status: 401 });
    const watch = await Watch.open("s", ticket, changing);
    writeFileSync(secretFile, `${second}\n${first}`);
    changing.reload();
    expect(await get("/session/s", ticket, changing)).toMatchObject({ status: 200 });
    writeFileSync(secretFile, second);
    await watch.ended(Code.Unauthenticated);
    expect(await get("/session/s", ticket, changing)).toMatchObject({ status: 401 });
    await changing.stop();
  });
});

describe("on a server without keys", () => {
  it("a ticket limits its caller, and others may do everything", async () => {
    const open = await startTestServer({ ticketSecretFile });
    await post("/session", undefined, { sessionId: "s" }, open);
    const { body } = await post("/session/s/ticket", undefined, { scope: "read" }, open);
    const ticket = body.ticket as string;
    for (const [path, by] of [
      ["", ticket],
      [`?ticket=${ticket}`, undefined],
    ] as const) {
      expect(await get(`/session/s${path}`, by, open)).toMatchObject({ status: 200 });
      expect(await get(`/session${path}`, by, open)).toMatchObject({ status: 403 });
    }
    expect(await append("s", "m", ticket, "", open)).toMatchObject({ status: 403 });
    expect(await get("/session/s", `${ticket}x`, open)).toMatchObject({ status: 401 });
    expect(await get(`/session/s?ticket=${ticket}x`, undefined, open)).toMatchObject({ status: 401 });
    expect(await get("/session/s?ticket=", undefined, open)).toMatchObject({ status: 401 });
    expect(await get("/session", undefined, open)).toMatchObject({ status: 200 });
    expect(await get("/session", "whatever", open)).toMatchObject({ status: 200 });
    const client = createClient(SessionService, createGrpcTransport({ baseUrl: `http://${open.grpcAddress}` }));
    expect(await client.listSessions({})).toMatchObject({ sessions: [{ sessionId: "s" }] });
    const headers = { authorization: `Bearer ${ticket}` };
    expect(await codeOf(() => client.listSessions({}, { headers }))).toBe(Code.PermissionDenied);
    expect(await client.getSession({ sessionId: "s" }, { headers })).toMatchObject({ sessionId: "s" });
    await open.stop();
  });

  it("without a secret no ticket opens anything", async () => {
    const open = await startTestServer();
    expect(await get("/session", read, open)).toMatchObject({ status: 401 });
    expect(await get(`/session?ticket=${read}`, undefined, open)).toMatchObject({ status: 401 });
    await open.stop();
  });
});

it("each ticket has limits of load of its own", async () => {
  const perKey = { ...DEFAULT_SERVER_LIMITS.perKey, watchers: 1 };
  const config = { ticketSecretFile, serverLimits: { ...DEFAULT_SERVER_LIMITS, perKey } };
  for (const keyed of [{ ...config, keysFile }, config] satisfies Partial<ServeConfig>[]) {
    const limited = await startTestServer(keyed);
    const by = "keysFile" in keyed ? WRITER : undefined;
    await post("/session", by, { sessionId: "s" }, limited);
    const make = async () => (await post("/session/s/ticket", by, { scope: "read" }, limited)).body.ticket as string;
    const [one, other] = [await make(), await make()];
    const watch = await Watch.open("s", one, limited);
    const path = "/session/s/message:watch";
    const refused = await get(path, one, limited);
    expect(refused).toMatchObject({
      status: 429,
      body: { message: expect.stringMatching(/^The ticket .* 1 streams/) },
    });
    const second = await Watch.open("s", other, limited);
    await watch.cancel();
    await second.cancel();
    await limited.stop();
  }
});

it("no key of one's own begins like a ticket", async () => {
  const child = new Child(["keys", "hash"]);
  child.process.stdin?.end("spt_of-my-own\n");
  expect(await child.ended()).toMatchObject({ code: 1, stderr: expect.stringContaining("must not begin with spt_") });
});

/** A watch by REST, as JSON lines. */
class Watch {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";
  #hasEnded = false;

  private constructor(answer: Response) {
    this.#reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    this.#read().catch(() => undefined);
  }

  static async open(sessionId: string, ticket: string, at = server): Promise<Watch> {
    const headers = { accept: "application/x-ndjson" };
    const answer = await fetch(`${at.httpUrl}/session/${sessionId}/message:watch?ticket=${ticket}`, { headers });
    expect(answer.status).toBe(200);
    return new Watch(answer);
  }

  /** Resolves when the watch has ended with an error of this code. */
  async ended(code: Code): Promise<void> {
    await poll(() => this.#hasEnded, "the watch ends");
    expect(this.#text).toContain(`{"error":{"code":${code},`);
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }

  async #read(): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) break;
      this.#text += value;
    }
    this.#hasEnded = true;
  }
}

type WithQuery = RequestInit & { readonly query?: string; readonly headers?: Record<string, string> };

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function call(method: string, path: string, by?: string, body?: object, at = server): Promise<Answer> {
  const headers = {
    ...(by !== undefined && { authorization: `Bearer ${by}` }),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const answer = await fetch(at.httpUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, body: (await answer.json()) as Answer["body"] };
}

function get(path: string, by?: string, at = server): Promise<Answer> {
  return call("GET", path, by, undefined, at);
}

function post(path: string, by?: string, body: object = {}, at = server): Promise<Answer> {
  return call("POST", path, by, body, at);
}

function append(sessionId: string, id: string, by: string, query = "", at = server): Promise<Answer> {
  return post(`/session/${sessionId}/message${query}`, by, { info: { role: "user", id }, parts: [] }, at);
}

async function makeTicket(sessionId: string, scope: string): Promise<string> {
  return (await post(`/session/${sessionId}/ticket`, WRITER, { scope })).body.ticket as string;
}

async function codeOf(run: () => Promise<unknown>): Promise<Code | undefined> {
  return await run().then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
}
