import { join } from "node:path";
import { buildConsole } from "../../scripts/build-console.mjs";
import { type Page, readPages } from "../../src/console/pages.js";
import { cached, ROOT } from "./toolchain.js";

const INPUTS = ["src/console/app", "scripts/build-console.mjs", "package-lock.json"].map((path) => join(ROOT, path));

/** The console as it is in the source, built once for all tests. */
export async function builtPages(): Promise<readonly Page[]> {
  return readPages(await builtConsole());
}

/** The folder that it is built into. */
function builtConsole(): Promise<string> {
  return cached("console", INPUTS, buildConsole);
}
