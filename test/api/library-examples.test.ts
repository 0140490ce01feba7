import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { documentedProgram, promisedLines } from "../clients/documented.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";

const root = join(import.meta.dirname, "../..");
const examples = [documentedProgram("js", "fork.copiedCount"), documentedProgram("js", "extends StorageProvider")];

// The bundles are built below node_modules, so that they find the packages.
const cache = join(root, "node_modules/.cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "library-examples-"));
afterAll(() => rmSync(folder, { recursive: true }));
const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());

describe("the README's library examples", () => {
  it("begin with one of about ten lines", () => {
    expect(examples[0]?.split("\n").length).toBeLessThan(14);
  });

  it.each(examples.map((text, i) => [i + 1, text] as const))(
    "number %i prints what its comments say",
    async (number, text) => {
      const run = await runExample(`example-${number}`, text);
      expect([run.status, run.stderr]).toEqual([0, ""]);
      expect(run.stdout.trimEnd().split("\n")).toEqual(promisedLines(text));
    },
  );

  it.skipIf(!server)("prints the same with another store: the first one in PostgreSQL", async () => {
    const [first = ""] = examples;
    const opening = `PostgresStorageProvider.open(${JSON.stringify(freshSchemaUrl(server!))})`;
    const text = first
      .replace('SqliteStorageProvider.open("./data/chat.db")', opening)
      .replace("SqliteStorageProvider", "PostgresStorageProvider");
    const run = await runExample("example-postgres", text);
    expect([run.status, run.stderr]).toEqual([0, ""]);
    expect(run.stdout.trimEnd().split("\n")).toEqual(promisedLines(first));
  });

  it("keep their data where the first example says", () => {
    expect(existsSync(join(folder, "data/chat.db"))).toBe(true);
  });
});

async function runExample(name: string, text: string) {
  const outfile = join(folder, `${name}.mjs`);
  await build({
    stdin: { contents: text, resolveDir: root, loader: "js" },
    alias: { "session-pool": join(root, "src/index.ts") },
    external: ["libsql", "mongodb", "pg", "ulid", "async-mutex"],
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    outfile,
    logLevel: "silent",
  });
  return spawnSync(process.execPath, [outfile], { cwd: folder, encoding: "utf8" });
}
