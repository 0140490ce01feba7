import { type BigIntStats, statSync } from "node:fs";
import { stat } from "node:fs/promises";

const INTERVAL_MS = 1000;

/**
 * Calls back after one of the files, or a link or folder on the path to it, was changed or replaced. Returns a function
 * that stops watching. Call it before reading the files for the first time, so that no change is missed. It polls once
 * a second, because a watch by the operating system follows a folder rather than a path: it notices nothing when a
 * folder on the path is replaced, and nothing on many network file systems.
 */
export function watchFiles(paths: readonly string[], onChange: () => void, intervalMs = INTERVAL_MS): () => void {
  let seen = paths.map(identityNow).join();
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    const found = (await Promise.all(paths.map(identityOf))).join();
    isLooking = false;
    if (found === seen) return;
    seen = found;
    onChange();
  };
  const timer = setInterval(look, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

const MISSING = "missing";

function identityNow(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? MISSING : identity(stats);
}

function identityOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(identity, () => MISSING);
}

/** Differs for two files, and for one file before and after a write. Links are followed. */
function identity({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}
