import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, ".github/workflows");
const workflows = readdirSync(FOLDER).map((name) => ({ name, text: readFileSync(join(FOLDER, name), "utf8") }));
const actions = workflows.flatMap(({ text }) => [...text.matchAll(/\buses: *(.*)$/gm)].map(([, action]) => action!));

/** What a job may do beyond reading the repository. */
const MAY_WRITE: Readonly<Record<string, readonly string[]>> = {
  "ci.yml": [],
  "codeql.yml": ["security-events"],
  "release.yml": ["id-token", "id-token"],
};

describe("the workflows", () => {
  it("name each action by a commit and its version, and each version of an action by one commit", () => {
    expect(actions.length).toBeGreaterThan(0);
    expect(actions.filter((action) => !/^[\w.-]+(\/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
    const commits = new Map<string, Set<string>>();
    for (const action of actions) {
      const [, repository = "", commit = ""] = /^([^/]+\/[^/@]+).*@(\w+)/.exec(action) ?? [];
      commits.set(repository, (commits.get(repository) ?? new Set()).add(commit));
    }
    expect([...commits].filter(([, found]) => found.size > 1)).toEqual([]);
  });

  it.each(workflows)("$name may only read the repository, unless a job needs more", ({ name, text }) => {
    expect(text).toMatch(/^permissions:\n {2}contents: read\n\n/m);
    const written = [...text.matchAll(/^ +([\w-]+): write$/gm)].map(([, permission]) => permission);
    expect(written).toEqual(MAY_WRITE[name]);
    expect(text).not.toMatch(/write-all|pull_request_target|workflow_run/);
  });

  it.each(workflows)("$name leaves no key in a checkout", ({ text }) => {
    for (const [step] of text.matchAll(/uses: actions\/checkout@.*\n(?: {8}.*\n)*/g))
      expect(step).toContain("\n          persist-credentials: false\n");
  });

  it.each(workflows)("$name gives each job a time limit, and shells nothing that somebody else wrote", ({ text }) => {
    const jobs = text.slice(text.indexOf("\njobs:\n")).match(/^ {2}[\w-]+:$/gm) ?? [];
    expect(jobs.length).toBeGreaterThan(0);
    expect(text.match(/^ {4}timeout-minutes: \d+$/gm)).toHaveLength(jobs.length);
    expect(text.match(/^ *-? *run: .*\$\{\{.*$/gm)).toBeNull();
  });
});

describe("a release", () => {
  const names = { NPM_NAMES: "session-pool session-pool-client", PYPI_NAME: "session-pool" };
  const check = (env: Record<string, string>) =>
    spawnSync(process.execPath, [join(ROOT, "scripts/check-release-names.mjs")], { env, encoding: "utf8" });
  const release = workflows.find(({ name }) => name === "release.yml")!.text;

  it("publishes nothing unless it is asked to, by hand", () => {
    expect(release).toMatch(/^on:\n {2}workflow_dispatch:\n {4}inputs:\n {6}publish:\n[\s\S]*? {8}default: false\n\n/m);
    const [, ...publishing] = release
      .slice(release.indexOf("\njobs:\n"))
      .split(/^ {2}(?=[\w-]+:$)/m)
      .slice(1);
    expect(publishing).toHaveLength(2);
    for (const job of publishing) expect(job).toMatch(/^ {4}needs: build\n {4}if: inputs\.publish$/m);
    expect(release).toMatch(/if: inputs\.publish\n(?: {8}.*\n| {10}.*\n)* {8}run: node scripts\/check-release-names/);
  });

  it("is refused while nobody has claimed the names of the packages", () => {
    const { status, stderr } = check({});
    expect(status).toBe(1);
    expect(stderr.trim().split("\n")).toHaveLength(3);
  });

  it.each([{ NPM_NAMES: "session-pool" }, { NPM_NAMES: "session-pool-client" }, { PYPI_NAME: "session_pool" }])(
    "is refused with %o",
    (wrong) => {
      expect(check({ ...names, ...wrong }).status).toBe(1);
    },
  );

  it("goes on when all names are claimed", () => {
    expect(check(names)).toMatchObject({ status: 0, stderr: "" });
  });
});
