import { type BigIntStats, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Logger } from "./logging.js";

const INTERVAL_MS = 1000;

/** Every how many failed attempts in a row the same reason is logged again: once a minute. */
const LOG_EVERY = 60;

export interface FileUse {
  /** Reads the files again and puts what they hold into use. Throws if that is impossible. */
  readonly read: () => void;
  /** What the log says, beside the reason, while the files cannot be used. */
  readonly failure: string;
  readonly logger: Logger;
}

export interface WatchedFiles {
  /** Reads the files now, whether or not they have changed. */
  reload(): void;
  close(): void;
}

/**
 * Reads files again after one of them, or a link or folder on the path to it, was changed or replaced. Whatever the
 * reason why they cannot be used, it tries again each time that it looks, because a file may become readable without
 * being changed, for example once the process has descriptors again. Call this before reading the files for the first
 * time, so that no change is missed.
 *
 * It looks once a second, because a watch by the operating system follows a folder rather than a path: it notices
 * nothing when a folder on the path is replaced, and nothing on many network file systems.
 */
export function watchFiles(
  paths: readonly string[],
  { read, failure, logger }: FileUse,
  intervalMs = INTERVAL_MS,
): WatchedFiles {
  let seen = paths.map(identityNow).join();
  let isLooking = false;
  let failures = 0;
  let lastReason: string | undefined;
  const reload = () => {
    try {
      read();
      failures = 0;
      lastReason = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== lastReason || failures % LOG_EVERY === 0) logger.error({ reason }, failure);
      failures += 1;
      lastReason = reason;
    }
  };
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    const found = (await Promise.all(paths.map(identityOf))).join();
    isLooking = false;
    if (found === seen && failures === 0) return;
    seen = found;
    reload();
  };
  const timer = setInterval(look, intervalMs);
  timer.unref();
  return { reload, close: () => clearInterval(timer) };
}

const MISSING = "missing";

function identityNow(path: string): string {
  try {
    return identity(statSync(path, { bigint: true }));
  } catch {
    return MISSING;
  }
}

function identityOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(identity, () => MISSING);
}

/** Differs for two files, and for one file before and after a write. Links are followed. */
function identity({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}
