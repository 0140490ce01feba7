import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { startTestServer, type TestServer } from "../support/server.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-search-api-"));
const postgres = await startPostgresServer({ fast: true });
const stores: readonly [string, string | undefined][] = [
  ["SQLite", `sqlite:${join(folder, "pool.db")}`],
  ["PostgreSQL", postgres ? freshSchemaUrl(postgres) : undefined],
];
let server: TestServer | undefined;

afterEach(() => server?.stop());
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

async function get(path: string): Promise<{ readonly status: number; readonly body: SearchAnswer }> {
  const response = await fetch(`${server?.httpUrl}${path}`);
  return { status: response.status, body: (await response.json()) as SearchAnswer };
}

interface SearchAnswer {
  readonly message?: string;
  readonly hits?: readonly { readonly messageId: string }[];
  readonly nextPageToken?: string;
}

async function post(path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${server?.httpUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
}

const idsOf = ({ hits = [] }: SearchAnswer) => hits.map(({ messageId }) => messageId);

describe.each(stores)("on %s", (_name, storage) => {
  it.skipIf(storage === undefined)(
    "answers 501 without --search, and after a restart with it finds what was stored before",
    async () => {
      server = await startTestServer({ storage: storage as string });
      await post("/session", { sessionId: "s" });
      for (const id of ["m1", "m2", "m3"]) {
        await post("/session/s/message", { info: { id, role: "user" }, parts: [{ type: "text", text: "azaleas" }] });
      }
      expect(await get("/search?q=azaleas")).toMatchObject({
        status: 501,
        body: { code: 12, message: "Searching messages is off; --search turns it on" },
      });
      await server.stop();

      server = await startTestServer({ storage: storage as string, search: true });
      await expect.poll(async () => idsOf((await get("/search?q=azaleas")).body)).toEqual(["m3", "m2", "m1"]);
      const first = await get("/search?q=azaleas&limit=2");
      expect(idsOf(first.body)).toEqual(["m3", "m2"]);
      const rest = await get(`/search?q=azaleas&limit=2&page_token=${first.body.nextPageToken}`);
      expect(rest.body).toMatchObject({ hits: [{ messageId: "m1" }], nextPageToken: "" });
      for (const other of ["q=azalea", "q=azaleas&session_id=s", "q=azaleas&label=a%3D1"]) {
        const refused = await get(`/search?${other}&page_token=${first.body.nextPageToken}`);
        expect(refused.status, other).toBe(400);
        expect(refused.body.message).toBe(
          "page_token belongs to a search with another namespace, q, label, session_id, owner, role, since or until",
        );
      }
      expect((await get("/search")).body.message).toBe("q is required");
    },
  );
});
