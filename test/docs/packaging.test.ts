import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { addServeOptions } from "../../src/config.js";

const ROOT = join(import.meta.dirname, "../..");
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");

describe("what operators are given", () => {
  it("says how to report a vulnerability, what is promised and what is not", () => {
    const headings = [...read("SECURITY.md").matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(["Report a vulnerability", "What is promised", "What is not promised"]);
    expect(read("README.md")).toContain("(SECURITY.md)");
  });

  it("comes with a list of what is inside it, which a release makes, too", () => {
    const { scripts, dependencies } = JSON.parse(read("package.json"));
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
    // npm itself leaves out what tools of the build need as well, when it is told to omit those.
    for (const name of Object.keys(dependencies)) expect(names).toContain(name);
  });

  it("is told nothing in the image or in compose that the server does not know", () => {
    const known = new Set(addServeOptions(new Command()).options.map(({ envVar }) => envVar));
    for (const file of ["Dockerfile", "compose.yaml"]) {
      const named = [...read(file).matchAll(/\bSESSION_POOL_\w+/g)].map(([name]) => name);
      expect(named.length, file).toBeGreaterThan(0);
      expect(
        named.filter((name) => !known.has(name)),
        file,
      ).toEqual([]);
    }
  });

  it("has a database with a password, and keys that the image's user can read, in compose", () => {
    const compose = read("compose.yaml");
    expect(compose).toMatch(/^ +SESSION_POOL_KEYS_FILE: \/keys\/keys\.json$/m);
    expect(compose).toMatch(/^# .*chown -R 1000:1000 keys secrets\/storage/m);
    expect(compose).toMatch(/^ +SESSION_POOL_STORAGE_FILE: \/run\/secrets\/storage$/m);
    expect(compose).toMatch(/^ +MONGO_INITDB_ROOT_PASSWORD_FILE: /m);
    expect(compose).toContain("--keyFile /data/mongo-key");
    expect(compose).not.toMatch(/^[^#]*mongodb:\/\//m);
    // Published on this machine only.
    const ports = [...compose.matchAll(/^ +- (.*:\d+)$/gm)].map(([, port]) => port);
    expect(ports).not.toEqual([]);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it("runs as a user of its own, on a base image that can be pinned, with the files' owner documented", () => {
    const image = read("Dockerfile");
    expect(image).toMatch(/^USER node$/m);
    const bases = [...image.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    expect(bases.filter((base) => base?.slice(1) !== "{NODE_IMAGE}")).toEqual([]);
    expect(bases).toHaveLength(2);
    expect(read("docs/operations.md")).toContain("In the image that user is `node`, with id 1000.");
  });
});
