import { readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const RETRY_MS = 200;

/**
 * Does the work while this process holds the lock file, so that no other process does its work at the same time. A lock
 * file that a dead process has left behind is taken over.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  while (!(await take(path))) await sleep(RETRY_MS);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const holder = Number(await readFile(path, "utf8").catch(() => ""));
  // An empty file is just being written.
  if (holder > 0 && !isRunning(holder)) await rm(path, { force: true });
  return false;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
