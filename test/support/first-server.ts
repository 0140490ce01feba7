import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Tries one way to get a server after the other; each resolves to null where it does not apply. When none has a server,
 * prints one line that says why and resolves to null; in CI it throws.
 */
export async function firstServer<T>(product: string, ways: readonly (() => Promise<T | null>)[]): Promise<T | null> {
  const reasons: string[] = [];
  for (const start of ways) {
    try {
      const server = await start();
      if (server) return server;
    } catch (error) {
      reasons.push(`${start.name}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
    }
  }
  const text = `${product} tests skipped: no server (${reasons.join("; ")})`;
  if (process.env.CI) throw new Error(text);
  if (isFirstOfRun(product)) console.warn(text);
  return null;
}

/** Test files run in separate processes. The first one leaves a mark for the others. */
function isFirstOfRun(product: string): boolean {
  try {
    writeFileSync(join(tmpdir(), `session-pool-${product}-skipped-${process.ppid}`), "", { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}
