import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openStorage, PostgresStorageProvider, RootPool } from "../../src/index.js";
import { freshSchemaUrl, query, startPostgresServer } from "../support/postgres-server.js";

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());

async function open(url: string, options?: Parameters<typeof PostgresStorageProvider.open>[1]): Promise<RootPool> {
  const storage = await PostgresStorageProvider.open(url, options);
  const pool = new RootPool({ storage });
  onTestFinished(() => pool.close());
  return pool;
}

function says(text: string) {
  return { role: "user", parts: [{ id: "", type: "text", text }] };
}

describe.skipIf(!server)("a program that embeds the store in PostgreSQL", () => {
  it("keeps sessions and todos there, which another pool of the same process reads", async () => {
    const url = freshSchemaUrl(server!);
    const writer = await open(url);
    const reader = await open(url);
    const { sessionId } = await writer.sessions.createSession({ title: "Trip" });
    await writer.sessions.appendMessage(sessionId, says("Hello"));
    await writer.todos.add({ id: "1", content: "Pack", status: "pending", priority: "high" });
    const messages = await reader.sessions.getMessages(sessionId);
    expect(messages.map(({ parts }) => parts)).toEqual([says("Hello").parts]);
    expect((await reader.todos.entries()).map(({ content }) => content)).toEqual(["Pack"]);
  });

  it("goes on with one pool when another one is closed", async () => {
    const url = freshSchemaUrl(server!);
    const first = await open(url);
    const storage = await PostgresStorageProvider.open(url);
    const second = new RootPool({ storage });
    await second.close();
    await expect(second.sessions.createSession()).rejects.toMatchObject({ code: "unavailable" });
    const { sessionId } = await first.sessions.createSession();
    expect(await first.sessions.getMessageCount(sessionId)).toBe(0);
  });

  it("sees only its own namespace and its own schema", async () => {
    const url = freshSchemaUrl(server!);
    const { sessionId } = await (await open(url, { namespace: "a" })).sessions.createSession();
    const others = [await open(url, { namespace: "b" }), await open(freshSchemaUrl(server!), { namespace: "a" })];
    for (const other of others)
      await expect(other.sessions.getSession(sessionId)).rejects.toMatchObject({ code: "not_found" });
  });

  it("searches if it asks for it, and then others may with what is there", async () => {
    const url = freshSchemaUrl(server!);
    const without = await open(url, { search: "existing" });
    await expect(without.sessions.searchMessages({ q: "kyoto", limit: 9 })).rejects.toMatchObject({
      code: "unimplemented",
    });
    for (const search of [true, "existing"] as const) {
      const pool = await open(url, { search });
      const { sessionId } = await pool.sessions.createSession();
      await pool.sessions.appendMessage(sessionId, says("To Kyoto"));
      const { hits } = await pool.sessions.searchMessages({ q: "kyoto", limit: 9, sessionId });
      expect(hits).toHaveLength(1);
    }
  });

  it("makes nothing with create: false, and is refused where nothing is", async () => {
    const url = freshSchemaUrl(server!);
    await expect(PostgresStorageProvider.open(url, { create: false })).rejects.toMatchObject({
      code: "failed_precondition",
    });
    const schema = new URL(url).searchParams.get("schema");
    expect(await query(server!.url, `SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`)).toEqual([]);
    const storage = await openStorage(url);
    await storage.close();
    await (await PostgresStorageProvider.open(url, { create: false })).close();
  });
});

it.each([
  ["postgres://user:PASSWORD@127.0.0.1:1/database", "unavailable"],
  ["postgres://user:PASSWORD@[::1/database", "invalid_argument"],
  ["postgres://user:PASSWORD@127.0.0.1:1/database?connections=PASSWORD", "invalid_argument"],
  ["postgres://127.0.0.1:1/database?listen=postgres://u:PASSWORD@x:99999/", "invalid_argument"],
  ["postgres://127.0.0.1:1/database?password=PASSWORD", "unavailable"],
  ["postgres://127.0.0.1:1/database?listen=PASSWORD", "invalid_argument"],
])("a store that cannot be opened rejects without its password: %s", async (pattern, code) => {
  const password = randomUUID();
  const error = await PostgresStorageProvider.open(pattern.replaceAll("PASSWORD", password)).catch((e: unknown) => e);
  expect(error).toMatchObject({ code });
  expect(everythingIn(error)).not.toContain(password);
});

/** The texts of an error and of its causes, with their own fields. */
function everythingIn(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
  const fields = Object.getOwnPropertyNames(error).filter((name) => name !== "cause");
  const texts = fields.map((name) => `${name}: ${String(Reflect.get(error, name))}`);
  return [...texts, everythingIn(error.cause)].join("\n");
}
