import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cached, install, NotHere, run } from "../support/toolchain.js";

/** Installs the newest versions that the ranges allow, as in `ai@6`. Resolves to the folder. */
export async function installNewest(name: string, ranges: readonly string[]): Promise<string> {
  const pins = await Promise.all(ranges.map(newest));
  const options = ["--silent", "--no-package-lock", "--ignore-scripts", "--omit=optional", "--legacy-peer-deps"];
  return cached(`sdk-${name}`, pins, (folder) => install("npm", ["install", ...options, "--prefix", folder, ...pins]));
}

/** The version of an installed package. */
export async function versionOf(folder: string, name: string): Promise<string> {
  return JSON.parse(await readFile(join(folder, "node_modules", name, "package.json"), "utf8")).version;
}

async function newest(range: string): Promise<string> {
  const told = await run("npm", ["view", "--json", range, "version"]).catch((error: unknown) => {
    throw new NotHere(error instanceof Error ? error.message : String(error));
  });
  const versions: string | string[] = JSON.parse(told);
  const sorted = [versions].flat().sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return `${range.replace(/(.)@.*$/, "$1")}@${sorted.at(-1)}`;
}
