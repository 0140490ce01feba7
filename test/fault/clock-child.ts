import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServeConfig } from "../../src/config/config.js";
import { Pools } from "../../src/pools.js";
import { Metrics } from "../../src/server/call/metrics.js";
import { createLogger } from "../../src/server/logging.js";
import { RunningServer } from "../../src/server/server.js";
import type { EngineOptions } from "../../src/storage/history/log-history-provider.js";
import { openStorage } from "../../src/storage/open-storage.js";
import { TEST_CONFIG } from "../support/server.js";
import { shifts } from "./own-clocks.js";

/**
 * A line of JSON that this service reads from its standard input to change its clocks. Environment variables scale down
 * the service's ages.
 */
export interface ClockShift {
  /** Added to the wall clock. `steadyMs` is added to the steady clock. */
  readonly wallMs: number;
  readonly steadyMs: number;
}

const { CHAOS_STORAGE = "", CHAOS_STALE_MS, CHAOS_SWEEP_AGE_MS, CHAOS_SWEEP_INTERVAL_MS } = process.env;
const config: ServeConfig = { ...TEST_CONFIG, storage: CHAOS_STORAGE, logLevel: "error" };
const logger = createLogger(config.logLevel);
const ages: EngineOptions = { staleMs: Number(CHAOS_STALE_MS), sweepAgeMs: Number(CHAOS_SWEEP_AGE_MS) };
const storage = await openStorage(config.storage, { ...ages, logger });
const pools = new Pools(storage, config.limits, logger);
const metrics = new Metrics();
const server = await RunningServer.start({
  config,
  logger,
  metrics,
  metricsText: () => metrics.registry.metrics(),
  pages: [],
  usePool: (namespace) => pools.use(namespace),
  pingStorage: () => pools.ping(),
});
process.stdout.write(`${server.httpPort}\n`);
void sweep();

for await (const line of createInterface({ input: process.stdin })) {
  const { wallMs, steadyMs } = JSON.parse(line) as ClockShift;
  shifts.wallMs += wallMs;
  shifts.steadyMs += steadyMs;
}

async function sweep(): Promise<never> {
  for (;;) {
    await sleep(Number(CHAOS_SWEEP_INTERVAL_MS));
    try {
      await pools.sweep();
    } catch (error) {
      logger.error({ err: error }, "A sweep failed");
    }
  }
}
