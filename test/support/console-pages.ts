import { join } from "node:path";
import { buildConsole } from "../../scripts/build-console.mjs";
import { type Page, readPages } from "../../src/console/pages.js";
import { cached, ROOT } from "./toolchain.js";

const INPUTS = ["src/console/app", "scripts/build-console.mjs", "package-lock.json"].map((path) => join(ROOT, path));

/** Resolves to the pages of the console, which is built from its source once for all tests. */
export async function builtPages(): Promise<readonly Page[]> {
  return readPages(await builtConsole());
}

/** Resolves to the folder of the built console. */
function builtConsole(): Promise<string> {
  return cached("console", INPUTS, buildConsole);
}
