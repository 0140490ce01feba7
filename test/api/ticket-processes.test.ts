import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { Child, type Served } from "../support/child.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";

const mongo = await startMongoServer();
const postgres = await startPostgresServer({ fast: true });
const folder = mkdtempSync(join(tmpdir(), "session-pool-ticket-processes-"));
const ticketSecretFile = join(folder, "secret");
writeFileSync(ticketSecretFile, newTicketSecret());

afterAll(async () => {
  await Promise.all([mongo?.stop(), postgres?.stop()]);
  rmSync(folder, { recursive: true });
});

const STORES: readonly (readonly [string, (() => string) | undefined])[] = [
  ["SQLite", () => `sqlite:${join(folder, "s.db")}`],
  ["PostgreSQL", postgres === null ? undefined : () => freshSchemaUrl(postgres)],
  ["MongoDB", mongo === null ? undefined : () => freshDatabaseUrl(mongo)],
];

for (const [store, makeUrl] of STORES) {
  describe.skipIf(makeUrl === undefined)(`tickets of two processes on ${store}`, () => {
    it("are valid at both, and end at both", async () => {
      const args = ["--storage", makeUrl!(), "--ticket-secret-file", ticketSecretFile];
      const [one, other] = [await Child.serve(...args), await Child.serve(...args)];
      const ends: readonly (readonly [string, (id: string) => Promise<unknown>])[] = [
        ["revoking them", (id) => call(one, "POST", `/session/${id}/ticket:revoke`, {})],
        ["deleting the session", (id) => call(one, "DELETE", `/session/${id}`)],
        ["changing the owner", (id) => call(one, "PATCH", `/session/${id}`, { owner: "ada" })],
      ];
      for (const [i, [way, end]] of ends.entries()) {
        const id = `s${i}`;
        await call(one, "POST", "/session", { sessionId: id });
        const { ticket } = await call(one, "POST", `/session/${id}/ticket`, { scope: "write" });
        const query = `?ticket=${ticket}`;
        expect(await call(other, "GET", `/session/${id}${query}`), way).toMatchObject({ sessionId: id });
        const watches = [
          await watch(one, `${id}/message:watch${query}`),
          await watch(other, `${id}/message:watch${query}`),
        ];
        await end(id);
        for (const ended of watches)
          await poll(() => /"error":\{"code":(5|16),/.test(ended()), `${way} ends the watches`);
        for (const served of [one, other]) {
          expect(await call(served, "GET", `/session/${id}${query}`), way).toHaveProperty("code");
        }
      }
      for (const { child } of [one, other]) {
        child.kill("SIGTERM");
        expect(await child.ended()).toMatchObject({ code: 0 });
      }
    });
  });
}

it("workers share the secret", async () => {
  const storage = `sqlite:${join(folder, "workers.db")}`;
  const args = ["--storage", storage, "--ticket-secret-file", ticketSecretFile, "--workers", "2"];
  const served = await Child.serve(...args);
  await call(served, "POST", "/session", { sessionId: "s" });
  for (let i = 0; i < 8; i += 1) {
    const { ticket } = await call(served, "POST", "/session/s/ticket", { scope: "read" });
    expect(await call(served, "GET", `/session/s?ticket=${ticket}`)).toMatchObject({ sessionId: "s" });
  }
  served.child.kill("SIGTERM");
  await served.child.ended();
});

async function call(
  { httpUrl }: Served,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  // Each request may reach another worker.
  const headers = { "content-type": "application/json", connection: "close" };
  const answer = await fetch(httpUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return (await answer.json()) as Record<string, unknown>;
}

/** Begins a watch; returns what it has sent. */
async function watch({ httpUrl }: Served, path: string): Promise<() => string> {
  const answer = await fetch(`${httpUrl}/session/${path}`, { headers: { accept: "application/x-ndjson" } });
  expect(answer.status).toBe(200);
  let text = "";
  const read = async () => {
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) text += piece;
  };
  read().catch(() => undefined);
  return () => text;
}
