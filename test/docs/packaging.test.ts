import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { addServeOptions } from "../../src/config/config.js";

const ROOT = join(import.meta.dirname, "../..");
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");

const COMPOSE_FILES = ["compose.yaml", "compose.postgres.yaml"];

describe("the package for operators", () => {
  it("has a SECURITY.md that says how to report a vulnerability, what is promised and what is not", () => {
    const headings = [...read("SECURITY.md").matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(["Report a vulnerability", "What is promised", "What is not promised"]);
    expect(read("README.md")).toContain("(SECURITY.md)");
  });

  it("comes with a list of its components, which a release includes", () => {
    const { scripts, dependencies, devDependencies } = JSON.parse(read("package.json"));
    expect(scripts.release).toContain("npm run --silent sbom > session-pool.cdx.json");
    const printed = execFileSync("npm", ["run", "--silent", "sbom"], {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const bom = JSON.parse(printed) as { bomFormat: string; components: { "bom-ref": string; name: string }[] };
    expect(bom.bomFormat).toBe("CycloneDX");
    const names = bom.components.map(({ name }) => name);
    // What is bundled is a development dependency.
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) expect(names).toContain(name);
  });

  it("sets only variables that the server knows, in the image and in compose", () => {
    const known = new Set(addServeOptions(new Command()).options.map(({ envVar }) => envVar));
    for (const file of ["Dockerfile", ...COMPOSE_FILES]) {
      const named = [...read(file).matchAll(/\bSESSION_POOL_\w+/g)].map(([name]) => name);
      expect(named.length, file).toBeGreaterThan(0);
      expect(
        named.filter((name) => !known.has(name)),
        file,
      ).toEqual([]);
    }
  });

  it.each(COMPOSE_FILES)("has in %s a database with a password, and keys that the image's user can read", (file) => {
    const compose = read(file);
    expect(compose).toMatch(/^ +SESSION_POOL_KEYS_FILE: \/keys\/keys\.json$/m);
    const [, storage] = /^ +SESSION_POOL_STORAGE_FILE: \/run\/(secrets\/[\w-]+)$/m.exec(compose) ?? [];
    expect(compose).toMatch(new RegExp(`^# .*> ${storage}$`, "m"));
    expect(compose).toMatch(new RegExp(`^# .*chown -R 1000:1000 keys ${storage} `, "m"));
    expect(compose).toMatch(/^ +(MONGO_INITDB_ROOT|POSTGRES)_PASSWORD_FILE: /m);
    expect(compose).not.toMatch(/^[^#]*(mongodb|postgres):\/\//m);
    // Ports must be published on this machine only.
    const ports = [...compose.matchAll(/^ +- (.*:\d+)$/gm)].map(([, port]) => port);
    expect(ports).not.toEqual([]);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it("gives the members of MongoDB's replica set a key in its compose file", () => {
    expect(read("compose.yaml")).toContain("--keyFile /tmp/mongo-key");
  });

  it.each(COMPOSE_FILES)(
    "has in %s containers that write only where they must, and secrets that only their owners can read",
    (file) => {
      const compose = read(file);
      const [, services = ""] = /^services:\n(.*?)^secrets:/ms.exec(compose) ?? [];
      const blocks = services.split(/^(?= {2}[\w-]+:$)/m).filter((block) => block.trim() !== "");
      expect(blocks).toHaveLength(2);
      for (const block of blocks) {
        expect(block).toMatch(/^ {4}read_only: true$/m);
        expect(block).toMatch(/^ {4}cap_drop: \[ALL\]$/m);
        expect(block).toMatch(/^ {4}security_opt: \["no-new-privileges:true"\]$/m);
        expect(block).not.toMatch(/privileged|cap_add/);
      }
      // Before the first secret is written.
      expect(compose).toMatch(/^# {3}umask 077\n# {3}mkdir -p secrets/m);
    },
  );

  it("is tested by a workflow that runs only actions named by their commits, with the least rights", () => {
    const workflow = read(".github/workflows/ci.yml");
    const actions = [...workflow.matchAll(/uses: (.+)$/gm)].map(([, action]) => action);
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    const checkouts = workflow.split("actions/checkout@").slice(1);
    for (const checkout of checkouts) expect(checkout).toMatch(/^.*\n +with:\n +persist-credentials: false\n/);
    expect([...workflow.matchAll(/^ *permissions:.*(?:\n +.*)?/gm)].map(([text]) => text)).toEqual([
      "permissions:\n  contents: read",
    ]);
  });

  it("has an image that runs as a user without privileges, has a base image that can be pinned, and documents the owner of its files", () => {
    const image = read("Dockerfile");
    expect(image).toMatch(/^USER node$/m);
    const bases = [...image.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    expect(bases.filter((base) => base?.slice(1) !== "{NODE_IMAGE}")).toEqual([]);
    expect(bases).toHaveLength(2);
    expect(read("docs/operations/secure.md")).toContain("In the image that user is `node`, with id 1000.");
  });
});
