import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { documentedProgram, promisedLines } from "../clients/documented.js";

const root = join(import.meta.dirname, "../..");
const examples = [documentedProgram("js", "fork.copiedCount"), documentedProgram("js", "extends StorageProvider")];

// The bundles are built below node_modules, so that they find the packages.
const cache = join(root, "node_modules/.cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "library-examples-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the README's library examples", () => {
  it("begin with one of about ten lines", () => {
    expect(examples[0]?.split("\n").length).toBeLessThan(14);
  });

  it.each(examples.map((text, i) => [i + 1, text] as const))(
    "number %i prints what its comments say",
    async (number, text) => {
      const outfile = join(folder, `example-${number}.mjs`);
      await build({
        stdin: { contents: text, resolveDir: root, loader: "js" },
        alias: { "session-pool": join(root, "src/index.ts") },
        external: ["libsql", "mongodb", "ulid", "async-mutex"],
        bundle: true,
        format: "esm",
        platform: "node",
        target: "node20.19",
        outfile,
        logLevel: "silent",
      });
      const run = spawnSync(process.execPath, [outfile], { cwd: folder, encoding: "utf8" });
      expect([run.status, run.stderr]).toEqual([0, ""]);
      expect(run.stdout.trimEnd().split("\n")).toEqual(promisedLines(text));
    },
  );

  it("keep their data where the first example says", () => {
    expect(existsSync(join(folder, "data/chat.db"))).toBe(true);
  });
});
