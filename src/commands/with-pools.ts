import { DEFAULT_LIMITS } from "../domain/limits.js";
import { Pools } from "../pools.js";
import { createLogger } from "../server/logging.js";
import { openStorage } from "../storage/open-storage.js";

/** The store and namespace that a command works on. */
export interface CommandTarget {
  readonly storage: string;
  readonly namespace: string;
}

/**
 * Opens a store for a command, and closes it afterwards. A missing database is made only with `create`, because a typo
 * in a URL must not look like an empty store. A store in memory is refused, because it would be gone afterwards.
 */
export async function withPools<T>(
  storageUrl: string,
  run: (pools: Pools) => Promise<T>,
  { create = false, retentionMs }: { readonly create?: boolean; readonly retentionMs?: number } = {},
): Promise<T> {
  const logger = createLogger("warn");
  const mayCreate = create && storageUrl !== "memory:";
  const storage = await openStorage(storageUrl, { limits: DEFAULT_LIMITS, logger, create: mayCreate, retentionMs });
  const pools = new Pools(storage, DEFAULT_LIMITS, logger);
  try {
    return await run(pools);
  } finally {
    await pools.close();
  }
}
