import { once } from "node:events";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startKeyedServer } from "../support/keyed-server.js";
import { startTestServer, type TestServer } from "../support/server.js";

const BASE = "/v1/conversations";
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ openAi: true });
});

afterAll(() => server.stop());

describe("OpenAI's conversations", () => {
  it("are not served unless enabled", async () => {
    const plain = await startTestServer();
    const answer = await send("POST", BASE, {}, { httpUrl: plain.httpUrl });
    expect(answer).toMatchObject({ status: 404, body: { code: 5, details: [{ requestId: expect.any(String) }] } });
    await plain.stop();
  });

  it("do not hide the todos of a session named v1", async () => {
    expect(await send("GET", "/v1/todo")).toMatchObject({ status: 200, body: [] });
  });

  it.each([
    ["GET", "/v1/models", undefined, 404, null],
    ["POST", "/v1/responses", {}, 404, null],
    ["GET", BASE, undefined, 405, null],
    ["PATCH", `${BASE}/x`, {}, 405, null],
    ["GET", `${BASE}/nobody`, undefined, 404, null],
    ["GET", `${BASE}/%ff`, undefined, 400, "path"],
    ["GET", `${BASE}/here/items?limit=0`, undefined, 400, "limit"],
    ["GET", `${BASE}/here/items?limit=101`, undefined, 400, "limit"],
    ["GET", `${BASE}/here/items?order=up`, undefined, 400, "order"],
    ["GET", `${BASE}/here/items?before=x`, undefined, 400, "before"],
    ["GET", `${BASE}/here/items?after=a&after=b`, undefined, 400, "after"],
    ["GET", `${BASE}/here/items?after=nothing`, undefined, 404, null],
    ["POST", BASE, [], 400, "body"],
    ["POST", BASE, { title: "x" }, 400, "title"],
    ["POST", BASE, { metadata: { long: "x".repeat(513) } }, 400, "metadata.long"],
    ["POST", BASE, { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, ""])) }, 400, "metadata"],
    ["POST", BASE, { items: {} }, 400, "items"],
    ["POST", `${BASE}/here`, {}, 400, "metadata"],
    ["POST", `${BASE}/here/items`, {}, 400, "items"],
    ["POST", `${BASE}/here/items`, { items: [] }, 400, "items"],
    ["POST", `${BASE}/here/items`, { items: [3] }, 400, "items[0]"],
    ["POST", `${BASE}/here/items`, { items: [{ role: "robot", content: "x" }] }, 400, "items[0].role"],
    ["POST", `${BASE}/here/items`, { items: [{ role: "user" }] }, 400, "items[0].content"],
    ["POST", `${BASE}/here/items`, { items: [{ role: "user", content: [{}] }] }, 400, "items[0].content[0].type"],
    ["POST", `${BASE}/here/items`, { items: [{ id: 3, type: "reasoning" }] }, 400, "items[0].id"],
  ] as const)("refuse %s %s with %j in OpenAI's form", async (method, path, body, status, param) => {
    await send("POST", "/session", { sessionId: "here" });
    const answer = await send(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.body.error).toMatchObject({ param, type: "invalid_request_error" });
    expect(answer.body.error.message).not.toBe("");
    if (status === 405) expect(answer.allow).toMatch(/DELETE|POST/);
  });

  it("refuse bodies that are not JSON, and other media types", async () => {
    const raw = (contentType: string) =>
      fetch(server.httpUrl + BASE, { method: "POST", body: "{", headers: { "content-type": contentType } });
    const answers = [await raw("application/json; x=y"), await raw("text/plain")];
    expect(answers.map(({ status }) => status)).toEqual([400, 415]);
    for (const answer of answers)
      expect(await answer.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it("show messages written by other APIs, and are messages to those", async () => {
    await send("POST", "/session", { sessionId: "shared", metadata: { budget: 3 } });
    const messages = [
      { info: { id: "a", role: "user" }, parts: [{ type: "text", text: "Hello" }] },
      { info: { id: "b", role: "planner" }, parts: [{ type: "tool_call", data: { name: "weather" } }] },
      { info: { id: "c", role: "assistant", metadata: { mood: "good" } }, parts: [] },
    ];
    await send("POST", "/session/shared/message:batch", { messages });
    const { body } = await send("GET", `${BASE}/shared/items?order=asc`);
    expect(body).toEqual({
      object: "list",
      first_id: "a",
      last_id: "c",
      has_more: false,
      data: [
        itemOf("a", "user", [{ type: "input_text", text: "Hello" }]),
        itemOf("b", "unknown", [{ type: "text", text: '{"type":"tool_call","name":"weather"}' }]),
        itemOf("c", "assistant", []),
      ],
    });
    expect((await send("GET", `${BASE}/shared`)).body.metadata).toEqual({ budget: 3 });

    const items = [
      { id: "d", role: "assistant", content: "Hi", status: "incomplete" },
      { id: "e", type: "reasoning", summary: [{ type: "summary_text", text: "Short" }] },
    ];
    const created = await send("POST", `${BASE}/shared/items`, { items });
    const hi = { type: "output_text", text: "Hi", annotations: [], logprobs: [] };
    expect(created.body.data).toEqual([{ ...itemOf("d", "assistant", [hi]), status: "incomplete" }, items[1]]);
    expect((await send("GET", "/session/shared/message/d")).body.parts).toMatchObject([{ type: "text", text: "Hi" }]);
    expect((await send("GET", `${BASE}/shared/items/d`)).body).toEqual(created.body.data[0]);
  });

  it("store an item with an id once, no matter how often it is sent", async () => {
    await send("POST", "/session", { sessionId: "again" });
    const items = [{ id: "x", role: "user", content: "Once" }];
    const answers = [
      await send("POST", `${BASE}/again/items`, { items }),
      await send("POST", `${BASE}/again/items`, { items }),
    ];
    expect(answers[1]).toEqual(answers[0]);
    expect((await send("GET", "/session/again/message:count")).body).toEqual({ count: "1" });
    const other = await send("POST", `${BASE}/again/items`, { items: [{ ...items[0], content: "Twice" }] });
    expect(other).toMatchObject({ status: 409, body: { error: { code: "already_exists" } } });
  });

  it.each(["asc", "desc"])("can be paged through in the order %s while items are appended", async (order) => {
    const { id } = (await send("POST", BASE, { items: numbered(0, 7) })).body;
    const seen: string[] = [];
    let page = await send("GET", `${BASE}/${id}/items?order=${order}&limit=3`);
    for (let more = 7; ; more += 1) {
      seen.push(...page.body.data.map((item: { id: string }) => item.id));
      if (!page.body.has_more) break;
      if (more < 9) await send("POST", `${BASE}/${id}/items`, { items: numbered(more, more + 1) });
      page = await send("GET", `${BASE}/${id}/items?order=${order}&limit=3&after=${page.body.last_id}`);
    }
    const ids = numbered(0, order === "asc" ? 9 : 7).map((item) => item.id);
    expect(seen).toEqual(order === "asc" ? ids : ids.reverse());
  });

  it("store nothing of a conversation whose items are refused", async () => {
    const before = (await send("GET", "/session?limit=1000")).body.sessions.length;
    const items = [...numbered(0, 1), { id: "x".repeat(200), role: "user", content: "too long an id" }];
    expect(await send("POST", BASE, { items })).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request_error" } },
    });
    expect((await send("GET", "/session?limit=1000")).body.sessions).toHaveLength(before);
  });

  it.each(["constructor", "toString", "hasOwnProperty", "__proto__"])("refuse the method %s", async (method) => {
    const session = connect(server.httpUrl);
    const stream = session.request({ ":method": method, ":path": `${BASE}/x` }, { endStream: true });
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
    expect([headers[":status"], headers.allow]).toEqual([405, "DELETE, GET, HEAD, POST"]);
    session.destroy();
  });

  it("are off unless they are turned on, and the answer says how", async () => {
    const plain = await startTestServer();
    for (const path of [BASE, `${BASE}/x/items`]) {
      const { status, body } = await send("GET", path, undefined, { httpUrl: plain.httpUrl });
      expect([status, body.message]).toEqual([404, "OpenAI's conversations are off; --openai turns them on"]);
    }
    await plain.stop();
  });

  it("require the same keys and scopes as the other APIs", async () => {
    const keyed = await startKeyedServer("read", { openAi: true });
    const as = { httpUrl: keyed.httpUrl, authorization: `Bearer ${keyed.key}` };
    expect(await send("GET", `${BASE}/x`, undefined, { httpUrl: keyed.httpUrl })).toMatchObject({
      status: 401,
      body: { error: { type: "authentication_error", code: "unauthenticated" } },
    });
    expect(await send("POST", BASE, {}, as)).toMatchObject({
      status: 403,
      body: { error: { type: "permission_error" } },
    });
    expect(await send("DELETE", `${BASE}/x/items/y`, undefined, as)).toMatchObject({ status: 403 });
    expect(await send("GET", `${BASE}/x`, undefined, as)).toMatchObject({ status: 404 });
    await keyed.stop();
  });
});

function itemOf(id: string, role: string, content: object[]): object {
  return { id, type: "message", role, status: "completed", content };
}

function numbered(from: number, to: number): { id: string; role: string; content: string }[] {
  return Array.from({ length: to - from }, (_, i) => ({ id: `i${from + i}`, role: "user", content: `${from + i}` }));
}

interface Answer {
  readonly status: number;
  readonly allow: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: each test checks the fields that it reads.
  readonly body: any;
}

async function send(
  method: string,
  path: string,
  body?: unknown,
  { httpUrl = server.httpUrl, authorization }: { httpUrl?: string; authorization?: string } = {},
): Promise<Answer> {
  const headers = {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(authorization !== undefined && { authorization }),
  };
  const answer = await fetch(httpUrl + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, allow: answer.headers.get("allow"), body: await answer.json() };
}
