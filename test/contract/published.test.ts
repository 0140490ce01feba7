import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { documentedProgram, promisedLines } from "../clients/documented.js";
import { startPostgresServer } from "../support/postgres-server.js";
import { describeWith, install, ROOT, run } from "../support/toolchain.js";

const QUIET = ["--loglevel", "error", "--no-audit", "--no-fund", "--prefer-offline"];
/** What the guide installs beside the package. */
const BESIDE = ["vitest", "fast-check", "typescript", "@types/node"] as const;
const STRICT = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noEmit"];
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const project = mkdtempSync(join(tmpdir(), "session-pool-store-"));

type Files = Readonly<Record<string, string>>;

const TOY = {
  "toy-attachments.ts": read("test/contract/published/toy-attachments.ts"),
  "toy-log.ts": read("test/contract/published/toy-log.ts"),
  "toy-store.ts": read("test/contract/published/toy-store.ts"),
  "contract.test.ts": read("test/contract/published/contract.ts"),
};

afterAll(() => rmSync(project, { recursive: true }));

/** Makes a project outside the repository, as docs/adding-a-store.md says, but with the versions that we use. */
async function makeProject(): Promise<void> {
  const packed = await run("npm", ["pack", "--loglevel", "error", "--pack-destination", project]);
  const { devDependencies } = JSON.parse(read("package.json")) as { devDependencies: Files };
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const beside = BESIDE.map((name) => `${name}@${devDependencies[name]}`);
  const tarball = join(project, packed.trim().split("\n").at(-1) ?? "");
  await install("npm", ["install", ...QUIET, tarball, ...beside], { cwd: project });
}

/** Writes the files of a store into a folder of its own. */
function storeOf(name: string, files: Files): string {
  const folder = mkdtempSync(join(project, `${name}-`));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

/** The toy store with one change, which breaks it. */
function brokenToy(file: keyof typeof TOY, from: string, to: string): Files {
  expect(TOY[file]).toContain(from);
  return { ...TOY, [file]: TOY[file].replace(from, to) };
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The names of the cases that failed, and how many passed. */
interface Outcome {
  readonly failed: readonly string[];
  readonly passed: number;
}

/** Runs those cases of a store whose names match. The exit code says only what the report says. */
async function reportOf(folder: string, cases: string): Promise<Outcome> {
  const path = join(folder, "report.json");
  const args = ["run", "--root", folder, "--reporter=json", "--outputFile", path, "-t", cases];
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const env = { ...Object.fromEntries(own), MODEL_RUNS: "40", MODEL_SEED: "1" };
  const program = join(project, "node_modules/vitest/vitest.mjs");
  const ended = await promisify(execFile)(process.execPath, [program, ...args], { cwd: folder, env }).then(
    () => 0,
    ({ code }: { code: unknown }) => code,
  );
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(path, "utf8")) as Report;
  expect(ended).toBe(numFailedTests > 0 ? 1 : 0);
  const failed = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter((one) => one.status === "failed"),
  );
  expect(failed).toHaveLength(numFailedTests);
  return { failed: failed.map(({ fullName }) => fullName), passed: numPassedTests };
}

async function compile(folder: string, ...files: readonly string[]): Promise<void> {
  const target = ["--module", "nodenext", "--target", "es2023", "--types", "node", "--skipLibCheck"];
  await run(join(project, "node_modules/.bin/tsc"), [...STRICT, ...target, ...files], { cwd: folder });
}

await describeWith("a store outside the repository, with the packed package", makeProject, () => {
  it("compiles strictly and passes every suite", async () => {
    const folder = storeOf("toy", TOY);
    await compile(folder, "contract.test.ts");
    const { failed, passed } = await reportOf(folder, "");
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(500);
  });

  it("passes every suite without attachments, which are unimplemented then", async () => {
    const files = brokenToy("toy-store.ts", "this.attachments = new ToyAttachmentTable(", "void (");
    const folder = storeOf("without-attachments", files);
    const cases = "StorageProvider on toy (attachments|restoreSession|eraseMessage|eraseOwner)";
    const { failed, passed } = await reportOf(folder, cases);
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(30);
  });

  it.each([
    ["LogStore on toy replaceRecord", "toy-store.ts", "before?.revision !== ifRevision", "!before"],
    ["LogStore on toy append", "toy-log.ts", "seq !== this.#lastSeq + 1", "seq <= this.#lastSeq"],
    ["LogStore on toy readNewest", "toy-store.ts", "of shown.reverse()", "of shown.slice(-1)"],
    [
      "LogStore on toy readNewest",
      "toy-store.ts",
      "let left = maxBytes;",
      "let left = maxBytes;\n    await new Promise((go) => setTimeout(go));",
    ],
    ["histories on toy", "toy-store.ts", "seq >= first && entries", "seq > first && entries"],
    ["LogStore on toy the update time", "toy-store.ts", "this.#database.now()", "Date.now()"],
    ["StorageProvider on toy.*labels", "toy-store.ts", "labelTexts(record.labels).includes(label)", "label !== ''"],
    ["histories on toy", "toy-store.ts", "labelTexts(record.labels).includes(label)", "label !== ''"],
    ["LogStore on toy attachments", "toy-attachments.ts", "return known ?? this", "return this"],
    ["LogStore on toy attachments", "toy-attachments.ts", "...change }", "state: 'stored', ...change }"],
    ["LogStore on toy attachments", "toy-store.ts", "this.#database.attachments.delete(target);", ""],
    ["StorageProvider on toy.*attachments", "toy-attachments.ts", "one.target === target &&", "false &&"],
  ] as const)("fails %s once it is broken in %s", async (cases, file, from, to) => {
    const folder = storeOf(cases.replaceAll(/\W/g, "-"), brokenToy(file, from, to));
    expect((await reportOf(folder, cases)).failed).not.toEqual([]);
  });

  it("gets its first green cases as the guide says", async () => {
    const first = documentedProgram("ts", "class ExampleLogDatabase");
    const mended = documentedProgram("ts", "?? { revision: 0 }");
    const body = /^ {2}async replaceTodos.*?^ {2}\}\n/ms;
    const files = { "example-store.ts": first, "contract.test.ts": documentedProgram("ts", "open: async (now)") };
    const folder = storeOf("example", files);
    await compile(folder, "contract.test.ts");
    expect((await reportOf(folder, "example todos")).failed).toHaveLength(1);
    expect(first).toMatch(body);
    const indented = mended.replaceAll(/^(?=.)/gm, "  ");
    writeFileSync(
      join(folder, "example-store.ts"),
      first.replace(body, () => indented),
    );
    await compile(folder, "contract.test.ts");
    const { failed, passed } = await reportOf(folder, "example todos");
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(4);
  });

  it("can be the package's own store in PostgreSQL, by the clock of its server", async ({ skip }) => {
    const server = await startPostgresServer({ fast: true });
    if (server === null) return skip("no PostgreSQL");
    onTestFinished(() => server.stop());
    const contract = `import { randomBytes } from "node:crypto";
      import { PostgresStorageProvider } from "session-pool";
      import { describeLogStore } from "session-pool/testing";

      const open = async () => {
        const schema = randomBytes(6).toString("hex");
        const url = \`${server.url}?connections=2&schema=\${schema}\`;
        return (await PostgresStorageProvider.open(url)).database;
      };
      describeLogStore("example", { atomicAppend: true, hasOwnClock: true, open });`;
    const folder = storeOf("postgres", { "contract.test.ts": contract });
    await compile(folder, "contract.test.ts");
    const { failed, passed } = await reportOf(folder, "example (append|seal|readNewest|figures|todos)");
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(20);
  });

  it("is given to every suite as the guide says", async () => {
    const suites = `import type { LogStoreHarness } from "session-pool/testing";
      declare const harness: LogStoreHarness;
      ${documentedProgram("ts", "describeModel(")}`;
    const files = {
      "example-store.ts": documentedProgram("ts", "class ExampleLogDatabase"),
      "suites.ts": suites,
    };
    await compile(storeOf("used", files), "suites.ts");
  });

  it("is used by the guide's program", async () => {
    const program = documentedProgram("ts", "new LogHistoryProvider(database");
    const store = 'export { ToyLogDatabase as ExampleLogDatabase } from "./toy-store.js";';
    const config = documentedProgram("json", '"files": ["program.ts"]');
    const files = { ...TOY, "example-store.ts": store, "program.ts": program, "tsconfig.json": config };
    const folder = storeOf("program", files);
    await run(join(project, "node_modules/.bin/tsc"), [], { cwd: folder });
    const printed = await run(process.execPath, ["build/program.js"], { cwd: folder });
    expect(printed.trim().split("\n")).toEqual(promisedLines(program));
  });
});
