import { DEFAULT_LIMITS, type Limits } from "../domain/limits.js";
import { Pools } from "../pools.js";
import { createLogger, logFile } from "../server/logging.js";
import { openStorage } from "../storage/open-storage.js";
import type { CommandAudit } from "./audited.js";

/** The store and namespace that a command works on. */
export interface CommandTarget {
  readonly storage: string;
  readonly namespace: string;
  /** The default limits when absent. */
  readonly limits?: Limits | undefined;
  /** Where the command tells what it changes, besides its beginning and its end. */
  readonly audit?: CommandAudit | undefined;
}

export interface CommandOptions {
  readonly create?: boolean;
  readonly limits?: Limits | undefined;
  readonly retentionMs?: number;
  readonly attachmentIdleMs?: number;
  readonly feedRetentionMs?: number;
  /** For how long sessions that it deletes can be brought back; 0 when absent. */
  readonly undeleteMs?: number;
  /** Whether messages can be searched, if the store has an index of words. */
  readonly search?: boolean;
}

/**
 * Opens a store for a command, and closes it afterwards. A missing database is made only with `create`, because a typo
 * in a URL must not look like an empty store. A store in memory is refused, because it would be gone afterwards.
 */
export async function withPools<T>(
  storageUrl: string,
  run: (pools: Pools) => Promise<T>,
  {
    create = false,
    limits = DEFAULT_LIMITS,
    retentionMs,
    attachmentIdleMs,
    feedRetentionMs,
    undeleteMs,
    search = false,
  }: CommandOptions = {},
): Promise<T> {
  // The log must stand above what the command prints afterwards on standard error.
  const logger = createLogger("warn", process.stderr.isTTY, logFile(2, { sync: true }));
  const mayCreate = create && storageUrl !== "memory:";
  const storage = await openStorage(storageUrl, {
    limits,
    logger,
    create: mayCreate,
    retentionMs,
    attachmentIdleMs,
    feedRetentionMs,
    undeleteMs,
    search: search && "existing",
  });
  const pools = new Pools(storage, limits, logger);
  try {
    return await run(pools);
  } finally {
    await pools.close();
  }
}
