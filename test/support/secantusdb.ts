import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

const PACKAGE = "secantusdb==0.7.0b3";
const CACHE = join(process.cwd(), "node_modules", ".cache");
const STALE_LOCK_MS = 5 * 60_000;

/**
 * The SecantusDB server's program, in a Python environment that is made on first use. It is under the GPL: these tests start it as a process of its own,
 * and nothing of this package depends on it.
 */
export async function secantusBinary(): Promise<string> {
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

/** Test files run in several processes, and only one of them may install. */
async function withLock(path: string, work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await mkdir(path);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const held = await stat(path).catch(() => null);
      if (held && Date.now() - held.mtimeMs > STALE_LOCK_MS) await rm(path, { recursive: true, force: true });
      await sleep(200);
    }
  }
  try {
    await work();
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}
