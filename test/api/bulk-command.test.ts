import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Child, run, type Served } from "../support/child.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-bulk-"));
const env = { SESSION_POOL_STORAGE: `sqlite:${join(folder, "bulk.db")}` };
let served: Served;

beforeAll(async () => {
  served = await Child.serveWith({ ...env, SESSION_POOL_UNDELETE_DAYS: "7" });
});

afterAll(async () => {
  served.child.kill("SIGTERM");
  await served.child.ended();
  rmSync(folder, { recursive: true });
});

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(served.httpUrl + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return answer.json();
}

const make = (sessionId: string, fields = {}) => call("POST", "/session", { sessionId, ...fields });
const labelsOf = async (id: string) => ((await call("GET", `/session/${id}`)) as { labels?: object }).labels ?? {};

describe("sessions label", () => {
  it("sets and removes labels of what matches, and leaves the rest alone", async () => {
    await make("l1", { owner: "ada", labels: { team: "a", old: "1", kept: "k" } });
    await make("l2", { owner: "ada", labels: { team: "a" }, title: "Kyoto in May" });
    await make("l3", { owner: "bob", labels: { team: "a", old: "1" } });
    const args = ["sessions", "label", "--label", "team=a", "--owner", "ada", "--set", "state=done", "--remove", "old"];
    const refused = await run(args, env);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("2 sessions will get other labels");
    expect(await labelsOf("l2")).toEqual({ team: "a" });
    expect(await run([...args, "--yes"], env)).toMatchObject({ code: 0, stdout: "Labeled 2 sessions\n" });
    expect(await labelsOf("l1")).toEqual({ team: "a", kept: "k", state: "done" });
    expect(await labelsOf("l2")).toEqual({ team: "a", state: "done" });
    expect(await labelsOf("l3")).toEqual({ team: "a", old: "1" });
    expect(await run([...args, "--yes", "--json"], env)).toMatchObject({
      stdout: '{"labeled":0,"left":0,"failed":0}\n',
    });
    const titled = ["sessions", "label", "--title", "kyoto", "--set", "place=jp", "--yes"];
    expect(await run(titled, env)).toMatchObject({ stdout: "Labeled 1 session\n" });
  });

  it.each([
    [["--set", "a=1", "--set", "a=2"], '--set names "a" twice'],
    [["--set", "a=1", "--remove", "a"], '--set and --remove both name "a"'],
    [["--set", "a\nb=1"], "A key of --set must not contain control characters"],
    [["--remove", "a=1"], '--remove must be a key; it is "a=1"'],
    [["--remove", ""], '--remove must be a key; it is ""'],
    [["--set", "a=1", "--parent", ""], "option '--parent <id>' argument '' is invalid. It must not be empty."],
  ])("refuses %j before it counts", async (args, message) => {
    const ended = await run(["sessions", "label", "--owner", "ada", "--yes", ...args], env);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).not.toContain("will get other labels");
  });

  it("reports sessions whose labels have no room, and labels the others", async () => {
    const full = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, ""]));
    await make("full", { owner: "carol", labels: full });
    await make("room", { owner: "carol" });
    const ended = await run(["sessions", "label", "--owner", "carol", "--set", "more=1", "--yes"], env);
    expect(ended).toMatchObject({ code: 1, stdout: "Labeled 1 session\n" });
    expect(ended.stderr).toMatch(/^"full": labels has 33 entries; at most 32 are allowed$/m);
    expect(ended.stderr).toContain("1 session failed");
    expect(await labelsOf("room")).toEqual({ more: "1" });
  });

  it("refuses what selects nothing, or says two things", async () => {
    const wrong = [
      [["label", "--set", "a=1"], "Say which sessions are meant"],
      [["label", "--owner", "x"], "Give at least one of --set and --remove"],
      [["label", "--owner", "x", "--set", "a=1", "--remove", "a"], '--set and --remove both name "a"'],
      [["label", "--owner", "x", "--set", "a"], "--set must be key=value"],
      [["delete", "--updated-until", "yesterday"], "It must be a time such as"],
      [["delete", "an-id", "--label", "a=1"], "Give either ids of sessions or"],
      [["delete", "--owner", "x", "--label", "a=1", "--erase"], "--erase takes all sessions of an owner"],
      [["export", "--label", "nothing=here"], "No session matches"],
    ] as const;
    for (const [args, text] of wrong) {
      const ended = await run(["sessions", ...args], env);
      expect(ended.code, String(args)).not.toBe(0);
      expect(ended.stderr).toContain(text);
    }
  });
});

describe("sessions export", () => {
  it("writes what matches, which an import restores", async () => {
    await make("e1", { labels: { set: "x" }, title: "first" });
    await call("POST", "/session/e1/message", {
      info: { id: "m1", role: "user" },
      parts: [{ type: "text", text: "hi" }],
    });
    await make("e2", { labels: { set: "y" } });
    const file = join(folder, "some.jsonl");
    const ended = await run(["sessions", "export", file, "--label", "set=x", "--yes"], env);
    expect(ended).toMatchObject({ code: 0, stderr: "Exporting 1 session\nExported 1 session\n" });
    expect(readFileSync(file, "utf8")).not.toContain('"e2"');
    const other = { SESSION_POOL_STORAGE: `sqlite:${join(folder, "other.db")}` };
    await run(["import", file], other);
    expect((await run(["sessions", "show", "e1"], other)).stdout).toContain("hi");
  });
});

describe("sessions delete", () => {
  it("deletes what matches, says whether there is a way back, and audits each session", async () => {
    for (const id of ["d1", "d2"]) await make(id, { labels: { drop: "1" } });
    await make("d3");
    const args = ["sessions", "delete", "--label", "drop=1", "--updated-until", "2999-01-01"];
    expect((await run(args, env)).stderr).toContain("2 sessions will be deleted; there is no way back");
    const audit = join(folder, "audit.jsonl");
    const keeping = { ...env, SESSION_POOL_UNDELETE_DAYS: "7", SESSION_POOL_AUDIT_LOG: audit };
    const ended = await run([...args, "--yes"], keeping);
    expect(ended).toMatchObject({ code: 0, stdout: "Deleted 2 sessions\n" });
    expect(ended.stderr).toContain("each can be brought back for 7 days");
    expect(await run([...args, "--yes"], keeping)).toMatchObject({ stdout: "Deleted 0 sessions\n" });
    expect((await run(["sessions", "undelete", "d1"], env)).stdout).toBe('Brought back "d1"\n');
    expect(await labelsOf("d1")).toEqual({ drop: "1" });
    const told = readFileSync(audit, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(
      told
        .filter(({ sessionId }) => sessionId)
        .map(({ sessionId }) => sessionId)
        .sort(),
    ).toEqual(["d1", "d2"]);
    expect(readFileSync(audit, "utf8")).not.toContain("drop");
  });
});
