import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Child, run, type Served } from "../support/child.js";
import { poll } from "../support/poll.js";
import { describeWith, needPrograms, ROOT, run as runProgram } from "../support/toolchain.js";
import { repositoryFiles, shellBlocks, wordsOf } from "./shell.js";

const files = repositoryFiles();
const pages = files.filter(
  (path) => /^(docs\/.*|(examples|clients)\/.*|[A-Z]+)\.md$/.test(path) && path !== "CHANGELOG.md",
);
/** Pages whose every command another test runs. */
const RUN_WHOLE = new Map([
  ["docs/operations/move.md", "test/docs/move.test.ts"],
  ["docs/operations/postgres.md", "test/docs/postgres.test.ts"],
  ["docs/operations/postgres-server.md", "test/docs/postgres-server.test.ts"],
  ["docs/tutorials/chat-backend-in-python.md", "test/docs/tutorials.test.ts"],
  ["docs/tutorials/chat-backend-in-typescript.md", "test/docs/tutorials.test.ts"],
]);
const blocks = pages.filter((page) => !RUN_WHOLE.has(page)).flatMap(shellBlocks);
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };

/** Programs that no test can run as they are written, and why. Others must be among those that `problemWith` checks. */
const NOT_RUN = new Map([
  ["cd", "changes the folder for the command after it"],
  ["chown", "needs a user of its own"],
  ["cp", "copies what the text before it names"],
  ["rm", "removes what the text before it names"],
  ["ln", "puts an installed program where the unit expects it"],
  ["systemctl", "needs systemd; test/docs/systemd-unit.test.ts checks the unit, and runs its command"],
  ["umask", "test/docs/move.test.ts runs the same way of writing a secret file"],
  ["mkdir", "makes a folder for the command after it"],
  ["echo", "prints the exit code of the command before it"],
  ["curl", "README's are run below; the others show answers that README's do not"],
  ["grpcurl", "test/interop/grpcurl.test.ts runs it"],
  ["go", "test/examples/examples.test.ts runs the program, with these plugins"],
  ["docker", "needs Docker"],
  ["psql", "test/fault/postgres-upgrade.test.ts runs what `schema --upgrade` prints"],
]);

/** The files that a page asks its readers to write. */
const WRITTEN_BY_READERS = ["test/contract/log-store.example.test.ts"];

describe("the shell commands of the documents", () => {
  it.each([...RUN_WHOLE])("of %s are run by %s", (page, test) => {
    expect(readFileSync(join(ROOT, test), "utf8")).toContain(basename(page, ".md"));
  });

  it("are found", () => {
    expect(new Set(blocks.map(({ page }) => page))).toContain("README.md");
    expect(blocks.length).toBeGreaterThan(20);
  });

  it("are found wrong when they are", async () => {
    const wrong = [
      "session-pool serve --no-flag",
      "session-pool run",
      "npm run nothing",
      "node no.mjs",
      "npx nothing",
      "sh",
    ];
    for (const words of wrong.flatMap(wordsOf))
      expect(await problemWith(words, new Set()), words.join(" ")).toBeDefined();
  });

  it.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))(
    "exist, with their flags and files: %s",
    async (_where, { commands }) => {
      const made = new Set<string>();
      const problems: string[] = [];
      for (const words of commands.flatMap(({ text }) => wordsOf(text))) {
        const problem = await problemWith(words, made);
        if (problem !== undefined) problems.push(`${words.join(" ")}: ${problem}`);
        for (const word of words) made.add(word.replace(/^--outfile=/, ""));
      }
      expect(problems).toEqual([]);
    },
  );
});

await describeWith(
  "README's requests",
  async () => needPrograms("curl"),
  () => {
    let served: Served;

    beforeAll(async () => {
      served = await Child.serve("--storage", "memory:", "--search");
    });

    afterAll(async () => {
      served.child.kill("SIGTERM");
      await served.child.ended();
    });

    it("get the answers that it shows, one after the other", async () => {
      const shown = blocks.filter(({ page }) => page === "README.md").flatMap(({ commands }) => commands);
      const requests = shown.filter(({ text }) => text.startsWith("curl "));
      expect(requests.length).toBeGreaterThan(8);
      for (const { text, output } of requests) {
        const command = `${text.replaceAll("localhost:8080", new URL(served.httpUrl).host)} --silent --show-error`;
        const begin = comparable(output.replace(/\.\.\.$/, ""));
        const answer = await (text.includes(":watch") ? untilBegun(command, begin) : runProgram("sh", ["-c", command]));
        expect(comparable(answer).slice(0, begin.length), text).toBe(begin);
      }
    });
  },
);

/** Runs a command that ends only when its reader goes, until it has printed as much as this. Resolves to its output. */
async function untilBegun(command: string, begin: string): Promise<string> {
  const child = spawn("sh", ["-c", `exec ${command}`]);
  let printed = "";
  child.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  const isEnough = () => comparable(printed).length >= begin.length || child.exitCode !== null;
  await poll(isEnough, `${command} has printed ${begin}`);
  child.kill();
  return printed;
}

describe("instructions to fetch a name that is not ours", () => {
  const found = (text: string) => FOREIGN_NAMES.flatMap((pattern) => text.match(pattern) ?? []);

  it("are recognized", () => {
    const foreign = [
      "npx session-pool serve",
      "npm i session-pool-client",
      "pip install session-pool",
      'uvx "session-pool"',
    ];
    const urls = ["npm install git+https://github.com/session-pool/session-pool.git", "docker run session-pool"];
    expect([...foreign, ...urls].filter((text) => found(text).length === 0)).toEqual([]);
    const own = ["npm install ./session-pool-client-0.2.0.tgz", "pip install ./clients/python", "npx vitest run"];
    expect(own.flatMap(found)).toEqual([]);
  });

  it("are in no file", () => {
    const others = files.filter((path) => !path.endsWith("package-lock.json") && path !== "test/docs/commands.test.ts");
    const instructions = others.flatMap((path) =>
      found(readFileSync(join(ROOT, path), "utf8")).map((text) => `${path}: ${text}`),
    );
    expect(instructions).toEqual([]);
  });
});

/**
 * Nobody has registered these names for us, so whoever does could run code where somebody follows such an instruction.
 * Paths and files, such as `./clients/python` and `session-pool-0.2.0.tgz`, are ours.
 */
const NAME = String.raw`session[-_]pool(-client)?(?![\w./-])`;
const FOREIGN_NAMES = [
  new RegExp(String.raw`\b(npx|bunx|uvx|pipx run|(npm|pnpm|yarn) (exec|dlx)|npm init)( -\S+)*( --)? ["']?${NAME}`, "g"),
  /"command": "(npx|uvx)"/g,
  new RegExp(
    String.raw`\b(npm (install|i|add)|(pnpm|yarn|bun) add|pip3? install|uv (pip install|add)|poetry add)\b[^\n\x60]* ["']?${NAME}`,
    "g",
  ),
  /\b(git(hub|lab)\.com|ghcr\.io|docker\.io|quay\.io)[/:]+session-pool\b/g,
  /\b(docker (run(?! --pull never)|pull)|image:)[^\n`]* ["']?session-pool\b/g,
];

/** Returns what is wrong with a command, or undefined. */
async function problemWith(
  [program = "", ...args]: readonly string[],
  made: ReadonlySet<string>,
): Promise<string | undefined> {
  switch (program.replace(/^\(/, "")) {
    case "sudo":
      return await problemWith(args, made);
    case "session-pool":
    case "node_modules/.bin/session-pool":
      return await problemWithFlags(args);
    case "node":
      if (args[0] === "dist/main.js") return await problemWithFlags(args.slice(1));
      return problemWithFile(args[0], made);
    case "python":
      return args[0] === "-m" ? undefined : problemWithFile(args[0], made);
    case "npx":
      if (!existsSync(join(ROOT, "node_modules/.bin", args[0] ?? ""))) return "is not a program of the clone";
      return args
        .filter((word) => /^[\w-]+\/.*\.\w+$/.test(word))
        .map((word) => problemWithFile(word, made))
        .find(Boolean);
    case "npm":
      return await problemWithNpm(args);
    case "pip":
      return args
        .filter((word) => word.includes("/"))
        .map((word) => problemWithFile(word, made))
        .find(Boolean);
    default:
      return NOT_RUN.has(program.replace(/^\(/, "")) ? undefined : "is neither run nor checked, and no reason is given";
  }
}

async function problemWithNpm([verb = "", ...args]: readonly string[]): Promise<string | undefined> {
  if (["ci", "init", "install", "pack", "pkg"].includes(verb)) return undefined;
  const name = verb === "run" ? args.find((word) => !word.startsWith("-")) : verb;
  if (name === undefined || !(name in scripts)) return "package.json has no such script";
  const after = args.includes("--") ? args.slice(args.indexOf("--") + 1) : [];
  return name === "start" ? await problemWithFlags(["serve", ...after]) : undefined;
}

/** An earlier command of the block may make the file, and vitest takes the beginning of a path. */
function problemWithFile(path: string | undefined, made: ReadonlySet<string>): string | undefined {
  if (path === undefined || made.has(path) || WRITTEN_BY_READERS.includes(path)) return undefined;
  return files.some((file) => file.startsWith(path.replace(/^\.\//, ""))) ? undefined : `there is no ${path}`;
}

const helps = new Map<string, Promise<string>>();

/** Checks a command of the program, and its flags, against its help. */
async function problemWithFlags(args: readonly string[]): Promise<string | undefined> {
  const [command = "", second = ""] = args;
  if (command === "--version") return undefined;
  const names = ["sessions", "todo", "keys"].includes(command) ? [command, second] : [command];
  const key = names.join(" ");
  if (!helps.has(key))
    helps.set(
      key,
      run([...names, "--help"]).then(({ stdout }) => stdout),
    );
  const help = (await helps.get(key)) ?? "";
  if (!help.startsWith(`Usage: session-pool ${key} `)) return `the program has no command ${key}`;
  const known = new Set(help.match(/--[a-z][a-z-]*/g));
  const unknown = args
    .filter((word) => word.startsWith("--"))
    .map((word) => word.replace(/=.*/, ""))
    .filter((flag) => !known.has(flag));
  return unknown.length === 0 ? undefined : `has no ${unknown.join(", ")}`;
}

/** Leaves out what differs from run to run: times, tokens, and the ends of lines. */
function comparable(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/^id: .*$/gm, "id: TOKEN")
    .trim();
}
