import { mkdtempSync, rmSync } from "node:fs";
import { copyFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";

/** The files of a database: itself, what has not been written to it yet, and what takes back an unfinished write. */
const SUFFIXES = ["", "-wal", "-journal"] as const;
const ATTEMPTS = 20;
const PAUSE_MS = 100;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface DatabaseCopy {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Copies a SQLite database, with all that was committed, to a folder that only this user can read, as of one moment:
 * opening the original would write to it, or to files beside it. A signal that ends the process removes the copy.
 * Throws an Error when a program writes all the time.
 */
export async function copyDatabase(path: string): Promise<DatabaseCopy> {
  const { folder, remove } = temporaryFolder();
  const copy = join(folder, basename(path));
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await stateOf(path);
      await copyFiles(path, copy);
      if ((await stateOf(path)) === before) return { path: copy, remove };
      await setTimeout(PAUSE_MS);
    }
    throw new Error("a program is writing to the database all the time; stop it first");
  } catch (error) {
    await remove();
    throw error;
  }
}

function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-import-"));
  const onSignal = (signal: NodeJS.Signals) => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    } finally {
      if (process.listenerCount(signal) === 0) endBy(signal);
    }
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const remove = async () => {
    await rm(folder, { recursive: true, force: true });
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  return { folder, remove };
}

/** Ends the process by a signal that it does not listen to. */
function endBy(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal);
  // The first process of a container ignores the signal.
  process.exit(1);
}

async function copyFiles(path: string, copy: string): Promise<void> {
  for (const suffix of SUFFIXES) {
    await rm(`${copy}${suffix}`, { force: true });
    await copyFile(`${path}${suffix}`, `${copy}${suffix}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" || suffix === "") throw error;
    });
  }
}

/** Changes whenever one of the files does. */
async function stateOf(path: string): Promise<string> {
  const states = SUFFIXES.map(async (suffix) => {
    const found = await stat(`${path}${suffix}`, { bigint: true }).catch(() => undefined);
    return found ? [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(" ") : "";
  });
  return (await Promise.all(states)).join("\n");
}
