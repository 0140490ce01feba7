import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Child, run, type Served } from "../support/child.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";

const LEFT = "Old versions of rows stay in the database until a vacuum; --vacuum runs one\n";

const folder = mkdtempSync(join(tmpdir(), "session-pool-owners-"));
const postgres = await startPostgresServer();
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

const stores: readonly [string, boolean, () => string, string][] = [
  ["SQLite", true, () => `sqlite:${folder}/pool.db`, ""],
  ["PostgreSQL", Boolean(postgres), () => freshSchemaUrl(postgres!), LEFT],
];

describe.each(stores)("session-pool sessions of owners, beside a running server on %s", (_store, isHere, url, left) => {
  if (!isHere) return it.skip("There is no PostgreSQL server", () => {});
  let env: Readonly<Record<string, string>>;
  let served: Served;

  beforeAll(async () => {
    env = { SESSION_POOL_STORAGE: url() };
    served = await Child.serveWith(env);
  });
  afterAll(async () => {
    served.child.kill("SIGTERM");
    await served.child.ended();
  });

  const call = async (path: string, body?: object) => {
    const init = body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const answer = await fetch(served.httpUrl + path, init);
    expect(answer.status).toBe(200);
    return answer.text();
  };
  const append = (sessionId: string, text: string) =>
    call(`/session/${sessionId}/message`, { info: { id: "m1", role: "user" }, parts: [{ type: "text", text }] });
  const sessions = (...args: readonly string[]) => run(["sessions", ...args], env);
  const listed = async (...args: readonly string[]) => {
    const { stdout } = await sessions("list", "--json", ...args);
    const lines = stdout.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line).sessionId as string).sort();
  };

  it("lists those of an owner, those of none, and those with labels, and shows whose they are", async () => {
    await call("/session", { sessionId: "of-ada", owner: "ada\u202e", title: "Trip" });
    await call("/session", { sessionId: "old-1", labels: { user: "bob", team: "ops" } });
    await call("/session", { sessionId: "old-2", labels: { user: "bob" } });
    await call("/session", { sessionId: "old-3", parentId: "old-1" });
    expect((await sessions("list", "--owner", "ada\u202e")).stdout).toMatch(/Z {2}of-ada {2}\(ada\\u202e\) {2}Trip\n$/);
    expect(await listed("--no-owner")).toEqual(["old-1", "old-2", "old-3"]);
    expect(await listed("--label", "user=bob", "--label", "team=ops")).toEqual(["old-1"]);
    expect((await sessions("show", "of-ada")).stdout).toContain("owner     ada\\u202e\n");
  });

  it("assigns those without an owner after it has said how many, and only when told to", async () => {
    const assign = (...args: readonly string[]) => sessions("assign", "--owner", "bob", ...args);
    expect(await assign()).toMatchObject({
      code: 1,
      stderr: "session-pool: Say which sessions are meant: --label, --parent or --all\n",
    });
    expect(await assign("--label", "user=bob")).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        '2 sessions without an owner will get the owner "bob"\n' +
        "session-pool: There is no terminal to ask whether to go on; add --yes\n",
    });
    expect(await listed("--owner", "bob")).toEqual([]);
    const done = await assign("--label", "user=bob", "--yes");
    expect(done).toMatchObject({ code: 0, stdout: 'Assigned 2 sessions to "bob"\n' });
    expect(await assign("--label", "user=bob")).toMatchObject({ code: 0, stdout: 'Assigned 0 sessions to "bob"\n' });
    const ofParent = await assign("--parent", "old-1", "--yes", "--json");
    expect(JSON.parse(ofParent.stdout)).toEqual({ owner: "bob", assigned: 1, left: 0 });
    expect(await listed("--owner", "bob")).toEqual(["old-1", "old-2", "old-3"]);
    const renamed = await sessions("assign", "--owner", "carol", "--from", "bob", "--all", "--yes");
    expect(renamed).toMatchObject({ code: 0, stdout: 'Assigned 3 sessions to "carol"\n' });
    expect(await listed("--owner", "ada\u202e")).toEqual(["of-ada"]);
  });

  it("refuses what cannot be meant", async () => {
    const refusals = [
      [["assign", "--owner", "bob", "--from", "bob", "--all"], '--from and --owner are both "bob"'],
      [["assign", "--owner", "x".repeat(129), "--all"], "--owner is 129 bytes; at most 128 are allowed"],
      [["assign", "--owner", "bob", "--label", "user"], 'label[0] is "user"; it must be key=value'],
      [["delete"], "Give either ids of sessions or --owner, --label or the like"],
      [["delete", "old-1", "--owner", "bob"], "Give either ids of sessions or --owner, --label or the like"],
      [["delete", "old-1", "--erase"], "--erase needs --owner"],
      [["delete", "--owner", "bob", "--vacuum"], "--vacuum and --vacuum-full need --erase"],
    ] as const;
    for (const [args, error] of refusals) {
      expect(await sessions(...args)).toMatchObject({ code: 1, stdout: "", stderr: `session-pool: ${error}\n` });
    }
  });

  it("deletes all of one owner, and no other", async () => {
    await call("/session", { sessionId: "of-dan", owner: "dan" });
    expect(await sessions("delete", "--owner", "dan")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^1 session of "dan" will be deleted; there is no way back, .*\n.*add --yes\n$/),
    });
    const kept = await sessions("delete", "--owner", "dan", "--undelete-days", "1");
    expect(kept.stderr).toContain("will be deleted; each can be brought back for 1 day with: ");
    const deleted = await sessions("delete", "--owner", "dan", "--yes");
    expect(deleted).toMatchObject({ code: 0, stdout: 'Deleted 1 session of "dan"\n' });
    expect(await sessions("delete", "--owner", "dan")).toMatchObject({
      code: 0,
      stdout: 'Deleted 0 sessions of "dan"\n',
    });
    expect(await listed()).toEqual(["of-ada", "old-1", "old-2", "old-3"]);
  });

  it("erases all of one owner, also what was deleted, and shows it erased in the forks of others", async () => {
    for (const id of ["eve-1", "eve-2"]) {
      await call("/session", { sessionId: id, owner: "eve" });
      await append(id, `hunter2 in ${id}`);
    }
    await call("/session/eve-1/fork", { newSessionId: "fork" });
    await sessions("assign", "--owner", "carol", "--from", "eve", "--parent", "eve-1", "--yes");
    await sessions("delete", "eve-2");
    const erased = await sessions("delete", "--owner", "eve", "--erase", "--yes");
    expect(erased).toMatchObject({
      code: 0,
      stdout: `Erased: 2 sessions of "eve", with 2 messages and drafts\n${left}`,
    });
    const shown = await call("/session/fork/message");
    expect(shown).toContain('"erased"');
    expect(shown).not.toContain("hunter2");
    expect(await listed("--owner", "eve")).toEqual([]);
    for (const name of readdirSync(folder)) {
      expect(readFileSync(join(folder, name)).includes("hunter2"), name).toBe(false);
    }
    const again = await sessions("delete", "--owner", "eve", "--erase", "--yes", "--json");
    expect(JSON.parse(again.stdout.split("\n")[0] as string)).toEqual({ owner: "eve", erased: 0, copies: 0 });
  });
});
