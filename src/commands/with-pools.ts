import { DEFAULT_LIMITS } from "../domain/limits.js";
import { Pools } from "../pools.js";
import { createLogger } from "../server/logging.js";
import { openStorage } from "../storage/open-storage.js";

/** Opens a store for a command, and closes it afterwards. */
export async function withPools<T>(storageUrl: string, run: (pools: Pools) => Promise<T>): Promise<T> {
  const logger = createLogger("warn");
  const storage = await openStorage(storageUrl, { limits: DEFAULT_LIMITS, logger });
  const pools = new Pools(storage, DEFAULT_LIMITS, logger);
  try {
    return await run(pools);
  } finally {
    await pools.close();
  }
}
