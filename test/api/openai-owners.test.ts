import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { startTestServer, type TestServer } from "../support/server.js";

const BASE = "/v1/conversations";
const keys = { ada: newKey(), bob: newKey(), backend: newKey() };
type User = keyof typeof keys;
let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-openai-owners-"));
  const keysFile = join(folder, "keys.json");
  const entries = Object.entries(keys).map(([name, key]) => {
    const owner = name === "backend" ? undefined : name;
    return { name, hash: hashRandomKey(key), namespace: "n", scope: "write", owner };
  });
  writeFileSync(keysFile, JSON.stringify(entries));
  server = await startTestServer({ openAi: true, keysFile });
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe("OpenAI's conversations of a bound caller", () => {
  it("belong to its owner, and are answered to others as if they did not exist", async () => {
    const { id } = (await send("ada", "POST", BASE, { items: numbered(3) })).body;
    expect((await send("backend", "GET", `/session/${id}`)).body).toMatchObject({ owner: "ada" });
    const item = { items: [{ role: "user", content: "x" }] };
    const requests = [
      ["GET", "", undefined],
      ["POST", "", { metadata: { a: "b" } }],
      ["DELETE", "", undefined],
      ["GET", "/items", undefined],
      ["GET", "/items?after=i1", undefined],
      ["POST", "/items", item],
      ["GET", "/items/i1", undefined],
      ["DELETE", "/items/i1", undefined],
    ] as const;
    for (const [method, path, body] of requests) {
      const foreign = await send("bob", method, `${BASE}/${id}${path}`, body);
      const missing = await send("bob", method, `${BASE}/nowhere${path}`, body);
      expect(foreign.status).toBe(404);
      expect(foreign.body.error).toMatchObject({ type: "invalid_request_error", param: null, code: "not_found" });
      expect(JSON.stringify(foreign.body).replaceAll(id, "nowhere")).toBe(JSON.stringify(missing.body));
    }
    expect((await send("ada", "GET", `${BASE}/${id}/items`)).body.data).toHaveLength(3);
  });

  it("leave nothing behind when their items are refused", async () => {
    const before = (await send("backend", "GET", "/session")).body.sessions;
    const items = [...numbered(1), { id: "x".repeat(200), role: "user", content: "too long an id" }];
    expect(await send("bob", "POST", BASE, { items })).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request_error" } },
    });
    expect((await send("backend", "GET", "/session")).body.sessions).toEqual(before);
  });
});

describe("a list of items does not go on from places that another caller has read", () => {
  it("when the conversation was deleted, and another owner has one of this id", async () => {
    await send("ada", "POST", "/session", { sessionId: "again" });
    await send("ada", "POST", `${BASE}/again/items`, { items: numbered(4) });
    expect(await pageOf("ada", "again")).toMatchObject({ last_id: "i1", has_more: true });
    await send("ada", "DELETE", `${BASE}/again`);
    await send("bob", "POST", "/session", { sessionId: "again" });
    const items = [{ id: "mine", role: "user", content: "x" }];
    await send("bob", "POST", `${BASE}/again/items`, { items });
    expect((await send("bob", "GET", `${BASE}/again/items?order=asc&limit=2&after=i1`)).status).toBe(404);
    expect(await pageOf("bob", "again")).toMatchObject({ first_id: "mine", has_more: false });
  });

  it("when the conversation got another owner", async () => {
    await send("ada", "POST", "/session", { sessionId: "moved" });
    await send("ada", "POST", `${BASE}/moved/items`, { items: numbered(4) });
    expect(await pageOf("ada", "moved")).toMatchObject({ last_id: "i1", has_more: true });
    await send("ada", "DELETE", `${BASE}/moved/items/i1`);
    const after = `${BASE}/moved/items?order=asc&limit=2&after=i1`;
    expect((await send("ada", "GET", after)).body.data.map(idOf)).toEqual(["i2", "i3"]);
    const moved = await send("backend", "PATCH", "/session/moved", { owner: "bob", updateMask: "owner" });
    expect(moved).toMatchObject({ status: 200, body: { owner: "bob" } });
    expect((await send("ada", "GET", after)).status).toBe(404);
    expect((await send("bob", "GET", after)).status).toBe(404);
    expect((await send("bob", "GET", `${BASE}/moved/items?order=asc`)).body.data.map(idOf)).toEqual(["i0", "i2", "i3"]);
  });
});

async function pageOf(user: User, id: string) {
  return (await send(user, "GET", `${BASE}/${id}/items?order=asc&limit=2`)).body;
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}

function numbered(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({ id: `i${i}`, role: "user", content: `${i}` }));
}

async function send(user: User, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${keys[user]}`, "content-type": "application/json" };
  const answer = await fetch(server.httpUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  // biome-ignore lint/suspicious/noExplicitAny: each test checks the fields that it reads.
  return { status: answer.status, body: (await answer.json()) as any };
}
