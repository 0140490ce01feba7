import "../../src/harden.js";
import { once } from "node:events";
import { get, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { MemoryLogStore } from "../../src/storage/memory/memory-log-store.js";
import { GrpcClient } from "../support/grpc-client.js";
import { startTestServer, type TestServer } from "../support/server.js";

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
type Json = any;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly json: Json;
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Sends a request. `line` is a method and a path. A body that is not a string is sent as JSON. */
function send(line: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const [method = "", path = ""] = line.split(" ");
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const type =
    text === undefined ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) };
  return new Promise((resolve, reject) => {
    const options = {
      port: server.httpPort,
      host: "127.0.0.1",
      method,
      path,
      headers: { ...type, ...headers },
      agent: false,
    };
    const outgoing = httpRequest(options, async (incoming) => {
      const received = Buffer.concat(await incoming.toArray());
      const isJson = incoming.headers["content-type"] === "application/json" && received.length > 0;
      const json = isJson && !incoming.headers["content-encoding"] ? JSON.parse(received.toString()) : undefined;
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: received, json });
    });
    outgoing.on("error", reject);
    outgoing.end(text);
  });
}

async function ok(line: string, body?: unknown): Promise<Json> {
  const answer = await send(line, body);
  if (answer.status !== 200) throw new Error(`${line}: ${answer.status} ${answer.body}`);
  return answer.json;
}

function user(text: string, id?: string): object {
  return { info: { role: "user", ...(id !== undefined && { id }) }, parts: [{ type: "text", text }] };
}

/** Makes a session with messages m0, m1, ... */
async function makeSession(sessionId: string, messages = 3): Promise<string> {
  await ok("POST /session", { sessionId, title: "t" });
  const path = `/session/${encodeURIComponent(sessionId)}`;
  for (let i = 0; i < messages; i++) await ok(`POST ${path}/message`, user(`text ${i}`, `m${i}`));
  return path;
}

describe("sessions", () => {
  test("are made, read, listed, changed and deleted", async () => {
    const made = await ok("POST /session", { title: "a", metadata: { k: [1, null, "x"] } });
    expect(made).toMatchObject({
      parentId: "",
      title: "a",
      metadata: { k: [1, null, "x"] },
      reverted: false,
      messageCount: "0",
    });
    const path = `/session/${made.sessionId}`;
    expect(await ok(`GET ${path}`)).toEqual(made);
    expect((await ok("GET /session?limit=1000")).sessions.map((one: Json) => one.sessionId)).toContain(made.sessionId);
    expect(await ok(`PATCH ${path}`, { title: "b", expectedRevision: made.revision })).toMatchObject({ title: "b" });
    expect(await ok(`DELETE ${path}`)).toEqual({});
    expect((await send(`GET ${path}`)).status).toBe(404);
  });

  test("are forked, shared, reverted and restored, all with 200", async () => {
    const path = await makeSession("source");
    expect(await ok(`POST ${path}/fork`, { up_to_message_id: "m1" })).toMatchObject({
      forkPointId: "m1",
      copiedCount: "2",
    });
    expect(await ok(`POST ${path}/share`)).toMatchObject({ forkPointId: "m2", copiedCount: "3" });
    expect(await ok(`POST ${path}/revert`, { upToMessageId: "m0" })).toMatchObject({ removedCount: "2" });
    expect(await ok(`GET ${path}/message:count`)).toEqual({ count: "1" });
    expect(await ok(`POST ${path}/unrevert`)).toMatchObject({ restoredCount: "2" });
    const { session, messages, nextPageToken } = await ok(`GET ${path}/load?limit=2`);
    expect([session.messageCount, messages.map((one: Json) => one.info.id)]).toEqual(["3", ["m1", "m2"]]);
    const older = await ok(`GET ${path}/message?newest_first=true&page_token=${encodeURIComponent(nextPageToken)}`);
    expect(older.messages.map((one: Json) => one.info.id)).toEqual(["m0"]);
  });

  test("may have any characters in their ids", async () => {
    for (const id of [
      "a/b",
      "a%2Fb",
      "a:b",
      "message:count",
      "todo",
      "é €😀",
      " ",
      "?#&=+",
      '"\\',
      "...",
      "__proto__",
    ]) {
      const path = await makeSession(id, 1);
      expect((await ok(`GET ${path}`)).sessionId).toBe(id);
      expect((await ok(`GET ${path}/message/m0`)).info.sessionId).toBe(id);
    }
    for (const id of [".", "..", "a\u0000", "\n", "x".repeat(129)]) {
      expect((await send("POST /session", { sessionId: id })).status).toBe(400);
    }
  });

  test("ids are decoded exactly once", async () => {
    expect((await ok("GET /session/a%2Fb")).sessionId).toBe("a/b");
    expect((await ok("GET /session/a%252Fb")).sessionId).toBe("a%2Fb");
    expect((await ok("GET /session/a%3Ab")).sessionId).toBe("a:b");
    expect((await ok("GET /session/todo")).sessionId).toBe("todo");
    expect((await send("GET /session/a%25252Fb")).json.code).toBe(Code.NotFound);
  });
});

describe("messages", () => {
  test("are appended, one and several, read and listed", async () => {
    const path = await makeSession("messages", 0);
    expect(await ok(`POST ${path}/message?expected_position=0`, user("a", "c:d"))).toEqual({
      messageId: "c:d",
      position: "0",
    });
    const batch = { messages: [user("b", "b"), user("c", "c")], expectedPosition: 1 };
    expect(await ok(`POST ${path}/message:batch`, batch)).toEqual({ messageIds: ["b", "c"], position: "1" });
    expect(await ok(`GET ${path}/message/c:d`)).toMatchObject({
      info: { id: "c:d", position: "0" },
      parts: [{ text: "a" }],
    });
    const first = await ok(`GET ${path}/message?limit=2`);
    expect(first.messages.map((one: Json) => one.info.id)).toEqual(["c:d", "b"]);
    const next = await ok(`GET ${path}/message?limit=2&pageToken=${encodeURIComponent(first.nextPageToken)}`);
    expect([next.messages.map((one: Json) => one.info.id), next.nextPageToken]).toEqual([["c"], ""]);
  });

  test("come back byte for byte", async () => {
    const path = await makeSession("exact", 0);
    const data =
      '{"__proto__":{"a":[1,-0.5,1e21]},"":"","a.b":null,"$set":"\\u0000\\u2028","toJSON":"x","constructor":true}';
    const text = '\u0000\u001f"\\ \ufeff é € 😀 \u2028\u007f';
    await ok(
      `POST ${path}/message`,
      `{"info":{"id":"x","role":"${"r"}"},"parts":[{"type":"t","text":${JSON.stringify(text)},"data":${data}}]}`,
    );
    const [part] = (await ok(`GET ${path}/message/x`)).parts;
    expect(part.text).toBe(text);
    expect(part.data).toEqual(JSON.parse(data));
    expect(Object.keys(part.data)).toContain("__proto__");
  });

  test("and drafts may have any characters in their ids, also in front of a verb", async () => {
    const path = await makeSession("odd/ids:x", 0);
    for (const id of ["a/b", "a:erase", ":erase", "a:", "a:extend", "%2e", "100%", "a b+c", "?#", "..a", "👋🏽"]) {
      const encoded = encodeURIComponent(id);
      expect(await ok(`POST ${path}/draft`, { message: user("x", id) })).toEqual({ messageId: id, version: "1" });
      const deltas = [{ appendText: { text: "y" } }];
      expect(await ok(`POST ${path}/draft/${encoded}:extend`, { version: "1", deltas })).toEqual({ version: "2" });
      expect(await ok(`POST ${path}/draft/${encoded}:finish`, { version: "2" })).toMatchObject({ messageId: id });
      expect((await ok(`PATCH ${path}/message/${encoded}`, { info: { role: "tool" } })).info.id).toBe(id);
      expect(await ok(`POST ${path}/message/${encoded}:erase`)).toMatchObject({ copyCount: expect.any(String) });
      expect((await ok(`GET ${path}/message/${encoded}`)).parts).toEqual([{ id: "", type: "erased", text: "" }]);
      expect(await ok(`DELETE ${path}/message/${encoded}`)).toEqual({});
    }
  });

  test("are truncated and copied", async () => {
    const path = await makeSession("long", 4);
    await makeSession("target", 0);
    expect(await ok(`POST ${path}/message:truncate`, { upToMessageId: "m2" })).toEqual({ removedCount: "1" });
    const copied = await ok(`POST ${path}/message:copy`, { target_session_id: "target", up_to_message_id: "m1" });
    expect(copied).toEqual({ forkPointId: "m1", copiedCount: "2" });
    await makeSession("empty", 0);
    expect(await ok("POST /session/empty/message:copy", { targetSessionId: "target" })).toEqual({ copiedCount: "0" });
  });

  test("are followed as events, and following resumes after the last one seen", async () => {
    const path = await makeSession("followed", 1);
    const events = await openEvents(`${path}/message:watch?from_position=0`);
    const first = await events.next();
    expect(first).toMatchObject({ event: "appended", data: { appended: { info: { id: "m0", position: "0" } } } });
    expect(first.id).toBe(first.data.resumeToken);
    await ok(`POST ${path}/message`, user("text 1", "m1"));
    expect((await events.next()).data.appended.info.id).toBe("m1");
    events.close();

    const resumed = await openEvents(`${path}/message:watch?from_position=0`, { "last-event-id": first.id });
    expect((await resumed.next()).data.appended.info.id).toBe("m1");
    await ok(`POST ${path}/message:truncate`, { upToMessageId: "m0" });
    expect(await resumed.next()).toMatchObject({ event: "truncated", data: { truncated: { messageCount: "1" } } });
    await ok(`DELETE ${path}`);
    expect(await resumed.next()).toMatchObject({
      event: "error",
      data: { code: Code.NotFound, details: [expect.objectContaining({ requestId: expect.any(String) })] },
    });
  });
});

describe("todos", () => {
  test("are the same bare array for every session, known or not", async () => {
    for (const path of ["/x/todo", "/session/x/todo", "/session/session/todo"]) {
      const answer = await send(`GET ${path}`);
      expect([answer.status, answer.body.toString()]).toEqual([200, "[]"]);
    }
  });

  test("are always current, whatever was answered before", async () => {
    const grpc = new GrpcClient(server.grpcAddress);
    for (const id of ["a", "b", "c"]) {
      await grpc.call(TodoTrackerService, "AddTodo", { todo: { id, content: `do ${id}` } });
      for (const repeated of [1, 2]) {
        const todos = await ok("GET /session/x/todo");
        expect([repeated, todos.at(-1)]).toEqual([repeated, { id, content: `do ${id}`, status: "", priority: "" }]);
      }
    }
    await grpc.call(TodoTrackerService, "ReplaceTodos", {});
    expect(await ok("GET /x/todo")).toEqual([]);
    grpc.close();
  });

  test.each(["POST", "PUT", "DELETE", "PATCH"])("%s is not allowed", async (method) => {
    const answer = await send(`${method} /session/x/todo`, {});
    expect([answer.status, answer.headers.allow, answer.json.code]).toEqual([
      405,
      "GET, HEAD, OPTIONS",
      Code.Unimplemented,
    ]);
  });
});

describe("errors", () => {
  beforeAll(() => makeSession("errors"));

  const large = "x".repeat(1025);
  test.each<[string, unknown, number, Code]>([
    ["GET /session/none", undefined, 404, Code.NotFound],
    ["GET /session/none/message", undefined, 404, Code.NotFound],
    ["GET /session/errors/message/none", undefined, 404, Code.NotFound],
    ["POST /session", { parentId: "none" }, 404, Code.NotFound],
    ["POST /session/errors/message:truncate", { upToMessageId: "none" }, 400, Code.InvalidArgument],
    ["POST /session/errors/revert", { upToMessageId: "none" }, 400, Code.InvalidArgument],
    ["POST /session/errors/message", undefined, 400, Code.InvalidArgument],
    ["POST /session/errors/message", { info: {} }, 400, Code.InvalidArgument],
    [
      "POST /session/errors/message",
      { info: { role: "user", timestamp: "2999-01-01T00:00:00Z" } },
      400,
      Code.InvalidArgument,
    ],
    ["POST /session/errors/message:batch", { messages: [] }, 400, Code.InvalidArgument],
    ["GET /session/errors/message?limit=0", undefined, 400, Code.InvalidArgument],
    ["GET /session/errors/message?limit=2147483648", undefined, 400, Code.InvalidArgument],
    ["GET /session/errors/message?offset=-1", undefined, 400, Code.InvalidArgument],
    ["GET /session/errors/message?page_token=x", undefined, 400, Code.InvalidArgument],
    ["GET /session/errors/message?colour=x", undefined, 400, Code.InvalidArgument],
    [
      "GET /session/errors/message?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
      undefined,
      400,
      Code.InvalidArgument,
    ],
    ["GET /session/errors/message:watch?from_position=4", undefined, 400, Code.InvalidArgument],
    ["GET /session/none/message:watch", undefined, 404, Code.NotFound],
    ["POST /session", { title: large }, 400, Code.InvalidArgument],
    ["PATCH /session/errors", { sessionId: "other" }, 400, Code.InvalidArgument],
    ["POST /session", { sessionId: "errors", title: "other" }, 409, Code.AlreadyExists],
    ["POST /session/errors/message", { info: { role: "other", id: "m0" } }, 409, Code.AlreadyExists],
    ["POST /session/errors/message?expected_position=9", user("x"), 409, Code.Aborted],
    ["PATCH /session/errors", { title: "x", expectedRevision: "99" }, 409, Code.Aborted],
    ["POST /session/errors/unrevert", undefined, 400, Code.FailedPrecondition],
    ["GET /nothing", undefined, 404, Code.NotFound],
    ["PUT /session", undefined, 405, Code.Unimplemented],
  ])("%s %j is %d", async (line, body, status, code) => {
    const answer = await send(line, body);
    expect([answer.status, answer.json]).toEqual([
      status,
      {
        code,
        message: expect.stringMatching(/\w+/),
        details: expect.arrayContaining([expect.objectContaining({ requestId: expect.any(String) })]),
      },
    ]);
    expect(answer.headers["content-type"]).toBe("application/json");
  });

  test("a passed deadline is 504", async () => {
    const answer = await send("GET /session/errors", undefined, { "connect-timeout-ms": "0" });
    expect([answer.status, answer.json.code]).toEqual([504, Code.DeadlineExceeded]);
  });

  test("a body over 8 MiB is 413, and metadata nested 25 deep is 400", async () => {
    const answer = await send("POST /session", `{"title":"${"x".repeat(8 * 1024 * 1024)}"}`);
    expect([answer.status, answer.json.code, answer.headers["retry-after"]]).toEqual([
      413,
      Code.ResourceExhausted,
      undefined,
    ]);
    const nested = (depth: number): string => `{"metadata":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`;
    expect((await send("POST /session", nested(24))).status).toBe(200);
    expect((await send("POST /session", nested(25))).status).toBe(400);
  });
});

describe("the front", () => {
  test("answers HEAD as GET, and compresses", async () => {
    const path = await makeSession("compressed", 0);
    await ok(`POST ${path}/message`, user("x".repeat(5000), "m"));
    const plain = await send(`GET ${path}/message/m`);
    const packed = await send(`GET ${path}/message/m`, undefined, { "accept-encoding": "gzip" });
    expect(packed.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding, Authorization" });
    expect(gunzipSync(packed.body)).toEqual(plain.body);
    const head = await send(`HEAD ${path}/message/m`);
    expect([head.headers["content-length"], head.body.length]).toEqual([plain.headers["content-length"], 0]);
  });

  test("follows nothing after a HEAD of a watch", async () => {
    const paths = [await makeSession("watched", 0), await makeSession("unwatched", 0)];
    const watch = `${paths[0]}/message:watch`;
    for (let i = 0; i < 3; i++) expect((await send(`HEAD ${watch}`)).status).toBe(200);
    const reads = vi.spyOn(MemoryLogStore.prototype, "readRecord");
    // Each append would wake the followers of its session, which would then read it.
    for (const path of paths) await ok(`POST ${path}/message`, user("a"));
    const counts = ["watched", "unwatched"].map((id) => reads.mock.calls.filter(([read]) => read === id).length);
    reads.mockRestore();
    expect(counts[0]).toBe(counts[1]);
  });

  test("serves an OpenAPI document of itself, which is valid", async () => {
    const { json } = await send("GET /openapi.json");
    expect(await new Validator().validate(json)).toEqual({ valid: true });
    expect(Object.keys(json.paths)).toContain("/session/{sessionId}/message:watch");
  });
});

interface Event {
  readonly event: string;
  readonly id: string;
  readonly data: Json;
}

/** Follows Server-Sent Events. */
async function openEvents(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ next(): Promise<Event>; close(): void }> {
  const options = {
    host: "127.0.0.1",
    port: server.httpPort,
    path,
    headers: { ...headers, accept: "text/event-stream" },
    agent: false,
  };
  const request = get(options);
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  const events = readEvents(response);
  return {
    next: async () => (await events.next()).value as Event,
    close: () => request.destroy(),
  };
}

async function* readEvents(response: IncomingMessage): AsyncGenerator<Event> {
  let text = "";
  for await (const chunk of response) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const fields = Object.fromEntries(
        text
          .slice(0, end)
          .split("\n")
          .map((line) => line.split(/: (.*)/, 2)),
      );
      text = text.slice(end + 2);
      yield { event: fields.event, id: fields.id, data: JSON.parse(fields.data) };
    }
  }
}
