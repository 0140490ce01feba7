import { randomFillSync } from "node:crypto";
import { monotonicFactory } from "ulid";

const pool = new Uint8Array(1024);
let used = pool.length;

/** Makes ULIDs, each greater than the one before. */
export function ulidFactory(): () => string {
  const next = monotonicFactory(randomFraction);
  return () => next();
}

/**
 * From 0 to below 1, in steps of a byte. By itself `ulid` asks the system for every byte, and for 16 whenever the clock
 * has moved.
 */
function randomFraction(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return (pool[used++] as number) / 256;
}
