import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const listed = (...paths: string[]): string[] =>
  execFileSync("git", ["ls-files", ...paths], { cwd: ROOT, encoding: "utf8" })
    .trim()
    .split("\n");

const sources = listed("src", "clients/typescript/src").filter((path) => /\.tsx?$/.test(path));
const tests = listed("test/unit").filter((path) => path.endsWith(".test.ts"));

describe("unit tests", () => {
  it("lie in the folder that has the name of a folder of the source", () => {
    const folders = new Set(sources.map((path) => posix.dirname(path)));
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter((path) => !folders.has(posix.dirname(counterpartOf(path))))).toEqual([]);
  });

  it("lie beside no folder that has the file that they are named after", () => {
    const misplaced = tests.filter((path) => {
      const counterpart = counterpartOf(path);
      if (sources.some((source) => isNamed(source, counterpart))) return false;
      const { dir, base } = posix.parse(counterpart);
      return sources.some((source) => source.startsWith(`${dir}/`) && isNamed(posix.basename(source), base));
    });
    expect(misplaced).toEqual([]);
  });
});

it("test/README.md says of every folder of tests what belongs there", () => {
  const readme = readFileSync(join(ROOT, "test/README.md"), "utf8");
  const folders = readdirSync(join(ROOT, "test"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).filter((name) => !readme.includes(`\`test/${name}/`))).toEqual([]);
});

/** The path of the source file that a unit test has the name of, whether or not there is one. */
function counterpartOf(path: string): string {
  const name = path.slice("test/unit/".length).replace(/\.test\.ts$/, ".ts");
  return name.startsWith("clients/typescript/") ? name.replace("typescript/", "typescript/src/") : `src/${name}`;
}

function isNamed(source: string, name: string): boolean {
  return source.replace(/\.tsx$/, ".ts") === name;
}
