import { randomFillSync } from "node:crypto";
import { monotonicFactory } from "ulid";

const pool = new Uint8Array(1024);
let used = pool.length;

/** Returns a function that makes ULIDs, each greater than the one before. */
export function ulidFactory(): () => string {
  const next = monotonicFactory(randomFraction);
  return () => next();
}

/**
 * A random fraction from 0 to below 1, in steps of 1/256. By default, `ulid` asks the system for each byte separately,
 * and for 16 whenever the clock has advanced.
 */
function randomFraction(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return (pool[used++] as number) / 256;
}
