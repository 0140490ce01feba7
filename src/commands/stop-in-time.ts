import { endsBy } from "../domain/call.js";
import type { Logger } from "../server/logging.js";
import type { Service } from "./service.js";
import type { Watchdog } from "./watchdog.js";

/** How long stopping may take after the calls have ended. */
const LAST_MS = 1000;

/**
 * Stops the service and ends the process a second after `--shutdown-s` at the latest, even if something still waits for
 * the store then. The exit code is 1 if that was so, or if calls were cut off. If even that is impossible, the watchdog
 * kills the process.
 */
export async function stopInTime(
  service: Service,
  shutdownMs: number,
  logger: Logger,
  watchdog?: Watchdog,
): Promise<never> {
  watchdog?.endAfter(shutdownMs + LAST_MS);
  const stopped = service.stop();
  const hasStopped = await endsBy(Date.now() + shutdownMs + LAST_MS, stopped);
  if (!hasStopped)
    logger.error("Stopped before the store had answered: calls without an answer may or may not have been done");
  process.exit(hasStopped && (await stopped) ? 0 : 1);
}
