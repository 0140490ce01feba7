import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { withLock } from "./lock.js";

const run = promisify(execFile);

const PACKAGE = "secantusdb==0.7.0b3";
const CACHE = join(process.cwd(), "node_modules", ".cache");

/**
 * Resolves to the path of the SecantusDB server, in a Python environment that is made on first use. SecantusDB is under
 * the GPL: the tests start it as a separate process, and nothing in this package depends on it. SECANTUS_BINARY names
 * another build, such as the one in Rust, which is several times faster.
 */
export async function secantusBinary(): Promise<string> {
  if (process.env.SECANTUS_BINARY) return process.env.SECANTUS_BINARY;
  const home = join(CACHE, PACKAGE.replace("==", "-"));
  const binary = join(home, "bin", "secantusd-py");
  await mkdir(CACHE, { recursive: true });
  await withLock(`${home}.lock`, async () => {
    if (existsSync(binary)) return;
    await rm(home, { recursive: true, force: true });
    await run("python3", ["-m", "venv", home]);
    await run(join(home, "bin", "pip"), ["install", "--quiet", "--disable-pip-version-check", PACKAGE]);
  });
  return binary;
}
