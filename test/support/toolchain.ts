import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, it } from "vitest";
import { withLock } from "./lock.js";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const PROTO_FOLDER = join(ROOT, "proto");

const CACHE = join(ROOT, "node_modules/.cache/interop");
const DONE = ".done";

/** Thrown when this machine lacks something. The tests that need it are skipped, but in CI they fail. */
export class NotHere extends Error {}

/** Throws NotHere unless the programs are on the PATH. */
export function needPrograms(...programs: string[]): void {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const missing = programs.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));
  if (missing.length > 0) throw new NotHere(`no ${missing.join(", ")} on the PATH`);
}

/** Runs a program that installs something. Throws NotHere when it fails, because a machine may have no network. */
export async function install(program: string, args: readonly string[], options: RunOptions = {}): Promise<void> {
  try {
    await run(program, args, options);
  } catch (error) {
    throw new NotHere(error instanceof Error ? error.message : String(error));
  }
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. Resolves to its standard output. */
export async function run(program: string, args: readonly string[], { cwd = ROOT, env }: RunOptions = {}) {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  try {
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${message.split("\n")[0]}\n${stdout}${stderr}`.trim());
  }
}

/**
 * Resolves to a folder that `make` fills once for these inputs, which are texts, files or folders of files. Later runs
 * find it filled.
 */
export async function cached(
  name: string,
  inputs: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(CACHE, `${name}-${await hashOf(inputs)}`);
  await mkdir(CACHE, { recursive: true });
  await withLock(`${folder}.lock`, async () => {
    if (existsSync(join(folder, DONE))) return;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    await make(folder);
    await writeFile(join(folder, DONE), "");
  });
  return folder;
}

/**
 * Describes cases that use what `prepare` has made. When the machine lacks something for it, the cases are skipped and
 * one line says why; in CI that is a failure.
 */
export async function describeWith<T>(
  title: string,
  prepare: () => Promise<T>,
  cases: (prepared: T) => void,
): Promise<void> {
  let prepared: T;
  try {
    prepared = await prepare();
  } catch (error) {
    if (!(error instanceof NotHere) || process.env.CI) throw error;
    const why = error.message.split("\n")[0];
    console.warn(`Skipped: ${title}: ${why}`);
    describe.skip(title, () => it(`not run: ${why}`, () => {}));
    return;
  }
  describe(title, () => cases(prepared));
}

async function hashOf(inputs: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const input of inputs) {
    hash.update(`${input}\0`);
    if (existsSync(input)) await hashFiles(hash, input);
  }
  return hash.digest("hex").slice(0, 16);
}

async function hashFiles(hash: ReturnType<typeof createHash>, path: string): Promise<void> {
  if ((await stat(path)).isFile()) {
    hash.update(await readFile(path));
    return;
  }
  for (const name of (await readdir(path)).sort()) {
    hash.update(`${name}\0`);
    await hashFiles(hash, join(path, name));
  }
}
