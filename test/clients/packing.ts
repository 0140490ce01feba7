import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "../support/lock.js";
import { install, ROOT, run } from "../support/toolchain.js";

export interface Tarballs {
  readonly server: string;
  readonly client: string;
}

/** Builds and packs both packages. One process does so at a time, because builds share a folder. */
export function packInto(folder: string): Promise<Tarballs> {
  mkdirSync(join(ROOT, "node_modules/.cache"), { recursive: true });
  return withLock(join(ROOT, "node_modules/.cache/pack.lock"), async () => ({
    server: await pack(folder),
    client: await pack(folder, "--workspace", "session-pool-client"),
  }));
}

async function pack(folder: string, ...workspace: readonly string[]): Promise<string> {
  const packed = await run("npm", ["pack", ...workspace, "--loglevel", "error", "--pack-destination", folder]);
  return join(folder, packed.trim().split("\n").at(-1) ?? "");
}

/** Makes an empty project in a folder, and installs packages there as a user does. Throws NotHere when that fails. */
export async function installInto(folder: string, ...args: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await install("npm", ["install", "--loglevel", "error", "--no-audit", "--no-fund", ...args], { cwd: folder });
}

/** Returns the bytes that a folder takes on the disk, as `du` counts them. */
export function bytesOnDisk(path: string): number {
  const stats = lstatSync(path);
  const own = stats.blocks * 512;
  if (!stats.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + bytesOnDisk(join(path, name)), own);
}

/** Returns the folders of all packages in a folder's node_modules. */
export function packagesIn(folder: string): readonly string[] {
  const modules = join(folder, "node_modules");
  if (!existsSync(modules)) return [];
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  const packages = names.map((name) => join(modules, name)).filter((path) => existsSync(join(path, "package.json")));
  return packages.flatMap((path) => [path, ...packagesIn(path)]);
}
