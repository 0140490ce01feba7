import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Child, MAIN, run, type Served } from "../support/child.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-sessions-"));
const postgres = await startPostgresServer();
const stores: readonly [string, boolean, (name: string) => string][] = [
  ["SQLite", true, (name) => `sqlite:${join(folder, `${name}.db`)}`],
  ["PostgreSQL", Boolean(postgres), () => freshSchemaUrl(postgres!)],
];
let env: Readonly<Record<string, string>>;
let served: Served;

async function fillAndServe(storage: string): Promise<void> {
  env = { SESSION_POOL_STORAGE: storage };
  served = await Child.serveWith(env);
  await call("/session", { sessionId: "trip", title: "Kyoto \u001b[2J in May", metadata: { budget: 3 } });
  await append("trip", "m1", "When do the azaleas bloom?");
  await append("trip", "m2", "Late April\nto the middle of May.");
  await call("/session/trip/message", {
    info: { id: "m3", role: "assistant" },
    parts: [{ type: "tool_call", data: { name: "weather" } }],
  });
  await call("/session", { sessionId: "child", parentId: "trip" });
}

afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

describe.each(stores)("session-pool sessions, beside a running server on %s", (_store, isHere, storageOf) => {
  if (!isHere) return it.skip("There is no PostgreSQL server", () => {});
  beforeAll(() => fillAndServe(storageOf("chat")));
  afterAll(async () => {
    served.child.kill("SIGTERM");
    await served.child.ended();
  });

  it("lists sessions, most recently updated first, as text and as JSON", async () => {
    const { stdout } = await run(["sessions", "list"], env);
    expect(stdout).toMatch(/^\S+Z {2}child\n\S+Z {2}trip {2}Kyoto \\u001b\[2J in May\n$/);
    expect(jsonLines(await run(["sessions", "list", "--json", "--limit", "1"], env))).toMatchObject([
      { sessionId: "child", parentId: "trip", revision: "1" },
    ]);
    expect(jsonLines(await run(["sessions", "list", "--json", "--parent", "child"], env))).toEqual([]);
  });

  it("shows a session with its last messages", async () => {
    const { stdout } = await run(["sessions", "show", "trip", "--limit", "2"], env);
    expect(stdout).toContain("session   trip\ntitle     Kyoto \\u001b[2J in May\nmessages  3\n");
    expect(stdout).toContain('metadata  {"budget":3}\n');
    expect(stdout).toMatch(/\n#1 \S+Z user m2\n {2}Late April\n {2}to the middle of May\.\n/);
    expect(stdout).toMatch(/\n#2 \S+Z assistant m3\n {2}\[tool_call\] \{"name":"weather"\}\n$/);
    expect(stdout).not.toContain("azaleas");
    const shown = jsonLines(await run(["sessions", "show", "trip", "--json"], env));
    expect(shown).toMatchObject([{ sessionId: "trip", messageCount: "3" }, ...["m1", "m2", "m3"].map(infoOf)]);
  });

  it("watches a session in another process until it is told to end", async () => {
    const tail = new Child(["sessions", "tail", "trip", "--limit", "1", "--json"], env);
    await poll(() => tail.stdout.includes('"m3"'), "the last message is printed");
    await append("trip", "m4", "And the maples?");
    await poll(() => tail.stdout.includes('"m4"'), "the new message is printed");
    await call("/session/trip/message:truncate", { upToMessageId: "m3" });
    await poll(() => tail.stdout.includes("truncated"), "the truncation is printed");
    tail.kill("SIGINT");
    const ended = await tail.ended();
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(jsonLines(ended)).toMatchObject([
      { appended: infoOf("m3") },
      { appended: infoOf("m4") },
      { truncated: { messageCount: "3" } },
    ]);
  });

  it("ends a watch whose output nobody reads when it is told so twice", async () => {
    await call("/session", { sessionId: "long" });
    await append("long", "m1", "x".repeat(2 * 1024 * 1024));
    const tail = spawn(process.execPath, [MAIN, "sessions", "tail", "long"], { env: { ...process.env, ...env } });
    const exited = once(tail, "exit");
    // The line is longer than everything that takes it until it is read.
    await once(tail.stdout, "readable");
    tail.kill("SIGTERM");
    tail.kill("SIGINT");
    expect(await exited).toEqual([1, null]);
  });

  it("keeps to the limits that the environment sets, but for those of pages", async () => {
    const file = { SESSION_POOL_STORAGE: storageOf("limits") };
    const limits = { ...file, SESSION_POOL_LIMIT_ID_BYTES: "200", SESSION_POOL_LIMIT_PAGE_MESSAGES: "1" };
    const { child, httpUrl } = await Child.serveWith(limits);
    const id = "x".repeat(150);
    await call("/session", { sessionId: id }, httpUrl);
    for (const messageId of ["m1", "m2"]) await append(id, messageId, "Hello", httpUrl);
    child.kill("SIGTERM");
    await child.ended();
    const show = ["sessions", "show", id, "--json"];
    expect(await run(show, file)).toMatchObject({ code: 1, stderr: expect.stringContaining("at most 128") });
    expect(jsonLines(await run(show, limits))).toMatchObject([{ sessionId: id }, infoOf("m1"), infoOf("m2")]);
    expect(await run(["erase", id, "m1"], limits)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Erased: 1 copy\n/),
    });
    const oneTodo = { ...limits, SESSION_POOL_LIMIT_TODO_COUNT: "1" };
    expect(await run(["todo", "add", "one"], oneTodo)).toMatchObject({ code: 0 });
    expect(await run(["todo", "add", "two"], oneTodo)).toMatchObject({ code: 1 });
  });

  it("brings back what it deleted with --undelete-days, and lists it until then", async ({ skip }) => {
    if (env.SESSION_POOL_STORAGE?.startsWith("postgres")) skip();
    for (const id of ["kept", "gone"]) await call("/session", { sessionId: id, title: "a title" });
    await run(["sessions", "delete", "gone"], env);
    await run(["sessions", "delete", "kept"], { ...env, SESSION_POOL_UNDELETE_DAYS: "1" });
    const [listed, ...others] = jsonLines(await run(["sessions", "list", "--deleted", "--json"], env));
    expect([listed, others]).toMatchObject([{ sessionId: "kept", purgeTime: expect.any(String) }, []]);
    expect(await run(["sessions", "undelete", "kept"], env)).toMatchObject({
      code: 0,
      stdout: 'Brought back "kept"\n',
    });
    expect(await run(["sessions", "undelete", "gone"], env)).toMatchObject({ code: 1, stdout: "" });
    expect((await run(["sessions", "show", "kept"], env)).stdout).toContain("a title");
    await run(["sessions", "delete", "kept"], env);
  });

  it("deletes sessions, and names one that does not exist", async () => {
    await call("/session", { sessionId: "a" });
    expect(await run(["sessions", "delete", "a"], env)).toMatchObject({ code: 0, stdout: 'Deleted "a"\n' });
    const again = await run(["sessions", "delete", "a"], env);
    expect(again).toMatchObject({ code: 1, stdout: "", stderr: 'session-pool: Session "a" not found\n' });
    for (const command of ["show", "tail"]) {
      expect(await run(["sessions", command, "a"], env)).toMatchObject({ code: 1, stderr: again.stderr });
    }
  });

  it("refuses a missing database", async () => {
    const { code, stderr } = await run(["sessions", "list", "--storage", storageOf("typo")]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^session-pool: There is no (database .*typo\.db|session-pool in schema "\w+")\n$/);
  });
});

describe("session-pool keys", () => {
  const file = ["--keys-file", join(folder, "keys.json")];

  it("lists what each key may do, without its hash, and removes one by its name", async () => {
    await run(["keys", "add", "web", ...file]);
    await run(["keys", "add", "reader", "--scope", "read", "--namespace", "team", ...file]);
    expect((await run(["keys", "list", ...file])).stdout).toBe("web  write  default\nreader  read  team\n");
    expect((await run(["keys", "remove", "web", ...file])).code).toBe(0);
    expect(jsonLines(await run(["keys", "list", "--json", ...file]))).toEqual([
      { name: "reader", namespace: "team", scope: "read" },
    ]);
    expect(JSON.parse(readFileSync(file[1] as string, "utf8"))).toHaveLength(1);
  });

  it("adds keys that are bound to an owner, shows the owner, and binds no key with the scope admin", async () => {
    const bound = ["--keys-file", join(folder, "bound.json")];
    await run(["keys", "add", "ada-app", "--owner", "ada", ...bound]);
    await run(["keys", "add", "web", ...bound]);
    expect((await run(["keys", "list", ...bound])).stdout).toBe(
      "ada-app  write  default  owner ada\nweb  write  default\n",
    );
    expect(jsonLines(await run(["keys", "list", "--json", ...bound]))).toEqual([
      { name: "ada-app", namespace: "default", scope: "write", owner: "ada" },
      { name: "web", namespace: "default", scope: "write" },
    ]);
    const add = async (...args: string[]) => (await run(["keys", "add", "more", ...args, ...bound])).stderr;
    expect(await add("--owner", "ada", "--scope", "admin")).toMatch(/owner must be absent with the scope admin/);
    expect(await add("--owner", "a".repeat(129))).toMatch(/owner is 129 bytes; at most 128 are allowed/);
    expect(await add("--owner", "")).toMatch(/must not be empty/);
    expect(JSON.parse(readFileSync(bound[1] as string, "utf8"))).toHaveLength(2);
  });

  it("names a missing key and a missing file", async () => {
    const unknown = await run(["keys", "remove", "nobody", ...file]);
    expect(unknown).toMatchObject({ code: 1, stderr: `session-pool: Keys file ${file[1]} has no key named nobody\n` });
    expect((await run(["keys", "list", "--keys-file", join(folder, "none.json")])).stderr).toMatch(/cannot be read/);
  });
});

function infoOf(id: string): object {
  return { info: { id } };
}

function jsonLines({ stdout }: { readonly stdout: string }): unknown[] {
  const lines = stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as unknown);
}

function append(sessionId: string, id: string, text: string, httpUrl?: string): Promise<void> {
  const message = { info: { id, role: "user" }, parts: [{ type: "text", text }] };
  return call(`/session/${sessionId}/message`, message, httpUrl);
}

async function call(path: string, body: object, httpUrl = served.httpUrl): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
}
