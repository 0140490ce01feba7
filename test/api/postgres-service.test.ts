import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, describe, expect, it, onTestFinished } from "vitest";
import { Child, run, type Served } from "../support/child.js";
import { poll } from "../support/poll.js";
import { PASSWORD, USER } from "../support/postgres-folder.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const JSON_TYPE = { "content-type": "application/json" };
const PORTS = ["--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"];
const ESCAPED = encodeURIComponent(PASSWORD);

const folder = mkdtempSync(join(tmpdir(), "session-pool-postgres-service-"));
const server = await startOwnPostgresServer({ fast: true, password: true });
const children: Child[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

async function serve(...args: readonly string[]): Promise<Served> {
  const served = await Child.serve(...args);
  children.push(served.child);
  return served;
}

function inFile(url: string): string {
  const path = join(folder, "storage");
  writeFileSync(path, `${url}\n`, { mode: 0o600 });
  return path;
}

describe.skipIf(!server)("a service on PostgreSQL", () => {
  it("shows no password and no message: not in its log, its metrics, its answers or the list of processes", async () => {
    const args = ["--storage-file", inFile(freshSchemaUrl(server!)), "--workers", "2", "--log-level", "trace"];
    const { child, httpUrl } = await serve(...args);
    expect(child.stdout).toMatch(/storage postgres:\/\/127\.0\.0\.1:\d+\/postgres\?schema=\w+, 2 workers\n$/);
    const answers: string[] = [];
    const call = async (path: string, body?: string, timeoutMs = 20_000) => {
      const headers = { ...JSON_TYPE, "connect-timeout-ms": `${timeoutMs}` };
      const init = body === undefined ? { headers } : { method: "POST", headers, body };
      const response = await fetch(`${httpUrl}${path}`, init);
      answers.push(await response.text());
      return response.status;
    };
    expect(await call("/session", '{"sessionId":"s"}')).toBe(200);
    const message = '{"info":{"role":"user"},"parts":[{"type":"text","text":"hunter2"}]}';
    expect(await call("/session/s/message", message)).toBe(200);
    const { stdout: processes } = await promisify(execFile)("ps", ["-A", "-o", "args"]);
    await server?.process.kill();
    expect(await call("/session/s/message", message, 2000)).toBeGreaterThanOrEqual(400);
    expect(await call("/session/s", undefined, 2000)).toBeGreaterThanOrEqual(400);
    expect(await call("/readyz")).toBe(503);
    expect(await call("/metrics")).toBe(200);
    await poll(() => child.stderr.includes("Not ready"), "it is logged that the store does not answer");
    await server?.process.start();
    await poll(async () => (await call("/readyz")) === 200, "the store answers again");
    expect(await call("/session/s")).toBe(200);
    child.kill("SIGTERM");
    const { code, stdout, stderr } = await child.ended();
    expect(code).toBe(0);
    for (const text of [stdout, stderr, processes, ...answers]) {
      expect(text).not.toContain(PASSWORD);
      expect(text).not.toContain(ESCAPED);
    }
    for (const text of [stdout, stderr]) expect(text).not.toContain("hunter2");
  });

  it("is configured by the environment, which commands share", async () => {
    const env = { SESSION_POOL_STORAGE: freshSchemaUrl(server!) };
    const refused = await run(["todo", "list"], env);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^session-pool: There is no session-pool in schema "\w+"\n$/);
    const served = await Child.serveWith(env);
    children.push(served.child);
    expect(await run(["todo", "add", "Pack", "--id", "t"], env)).toMatchObject({ code: 0 });
    expect((await run(["todo", "list"], env)).stdout).toContain('"content":"Pack"');
  });

  it("says in /readyz and in its log what the server's settings endanger", async () => {
    const { child, httpUrl } = await serve("--storage", freshSchemaUrl(server!));
    const risks = [
      "fsync is off in PostgreSQL: a crash of the machine can lose or damage everything",
      "full_page_writes is off in PostgreSQL: a crash of the machine can damage the database",
    ];
    const readyz = async () => {
      const answer = await fetch(`${httpUrl}/readyz`);
      return [answer.status, await answer.text()];
    };
    await expect.poll(readyz).toEqual([200, ["ok", ...risks.map((risk) => `warning: ${risk}`), ""].join("\n")]);
    for (const risk of risks) await expect.poll(() => child.stderr).toContain(risk);
  });

  it("is not ready while the server is read-only, and starts on no such server", async () => {
    const { httpUrl } = await serve("--storage", freshSchemaUrl(server!));
    await set("default_transaction_read_only", "on");
    onTestFinished(() => set("default_transaction_read_only", "off"));
    const ready = async () => (await fetch(`${httpUrl}/readyz`)).status === 200;
    const said = async () => (await fetch(`${httpUrl}/readyz`)).text();
    const refusal = "The store cannot be used: PostgreSQL is a standby, or read-only\n";
    // On a busy machine the store may first not answer in time.
    await poll(async () => (await said()) === refusal, "it says that the server is read-only");
    const headers = { ...JSON_TYPE, "connect-timeout-ms": "2000" };
    const create = async () =>
      (await fetch(`${httpUrl}/session`, { method: "POST", headers, body: '{"sessionId":"s"}' })).status;
    await expect.poll(create).toBe(503);
    const { code, stderr } = await run(["serve", ...PORTS, "--storage", freshSchemaUrl(server!)]);
    expect([code, stderr]).toEqual([1, "session-pool: PostgreSQL is a standby, or read-only\n"]);
    await set("default_transaction_read_only", "off");
    await poll(ready, "it is ready again");
  });

  it("has figures of the store", async () => {
    const storage = freshSchemaUrl(server!);
    const { httpUrl } = await serve("--storage", storage);
    for (const sessionId of ["a", "b"])
      await fetch(`${httpUrl}/session`, { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ sessionId }) });
    // Figures are read when a server starts, and then every half minute.
    const again = await serve("--storage", storage, "--search");
    const figures = async () => (await fetch(`${again.httpUrl}/metrics`)).text();
    await poll(async () => /^session_pool_store_bytes [1-9]\d+$/m.test(await figures()), "there are figures");
    expect(await figures()).toMatch(/^session_pool_sessions 2$/m);
    expect(await figures()).toMatch(/^session_pool_unindexed_messages 0$/m);
  });

  it.each([
    [["--limit-id-bytes", "513"], /^session-pool: --limit-id-bytes is 513; .* at most 512 bytes\n$/],
    [["--limit-label-value-bytes", "1000"], /^session-pool: --limit-label-key-bytes and twice .* are 2064 together/],
  ])("refuses %j at its start, and so do commands", async (args, text) => {
    const storage = freshSchemaUrl(server!);
    const serving = await run(["serve", ...PORTS, "--storage", storage, ...args]);
    expect(serving).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(text) });
    const sweeping = await run(["todo", "list", "--storage", storage, ...args]);
    expect(sweeping).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(text) });
  });

  it.each(["1", "2"])("does not start on a wrong password, with %s workers", async (workers) => {
    const url = new URL(freshSchemaUrl(server!));
    url.password = "hunter2";
    const { code, stderr } = await run(["serve", ...PORTS, "--storage", url.href, "--workers", workers]);
    expect(stderr).toBe(
      `session-pool: The PostgreSQL database cannot be used: password authentication failed for user "${USER}"\n`,
    );
    expect(code).toBe(1);
  });
});

it.each(["1", "2"])("serve with %s workers ends with one line when no PostgreSQL is there", async (workers) => {
  const url = "postgres://user:hunter2@127.0.0.1:1/x";
  const { code, stderr } = await run(["serve", ...PORTS, "--storage", url, "--workers", workers]);
  expect([code, stderr]).toEqual([
    1,
    "session-pool: postgres://127.0.0.1:1/x does not answer: connect ECONNREFUSED 127.0.0.1:1\n",
  ]);
});

it("a command ends with one line when a server takes connections and answers nothing", async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void silent.close());
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const { code, stderr } = await run(["todo", "list", "--storage", `postgres://user:hunter2@${host}/x`]);
  const reason = "Connection terminated unexpectedly";
  expect([code, stderr]).toEqual([1, `session-pool: postgres://${host}/x does not answer: ${reason}\n`]);
});

async function set(name: string, value: string): Promise<void> {
  // The session that sets it back must be able to write.
  const client = new URL(server!.url);
  client.searchParams.set("options", "-c default_transaction_read_only=off");
  await query(client.href, `ALTER SYSTEM SET ${name} = '${value}'`);
  await query(client.href, "SELECT pg_reload_conf()");
}
