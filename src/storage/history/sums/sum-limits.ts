export interface KeepingLimits {
  /** How much all kept sums of the process may take. */
  readonly maxBytes: number;
  readonly maxCount: number;
  /** How long a sum is kept that nobody asks for. */
  readonly idleMs: number;
  /** How long after its beginning a sum is kept at most: so long may it hold what another process has erased. */
  readonly maxAgeMs: number;
}

/** What one call looks at, and what sums may take. */
export interface SumLimits extends KeepingLimits {
  readonly rows: number;
  readonly sessions: number;
  readonly bytes: number;
  /** How long one call works. */
  readonly ms: number;
  /** How much the groups of one sum may take. */
  readonly tableBytes: number;
}

export const SUM_LIMITS: SumLimits = Object.freeze({
  rows: 200_000,
  sessions: 20_000,
  bytes: 64 * 1024 * 1024,
  ms: 300,
  tableBytes: 40 * 1024 * 1024,
  maxBytes: 160 * 1024 * 1024,
  maxCount: 1000,
  idleMs: 60_000,
  // Longer than sums take whose calls follow each other, even over many millions of messages in several processes.
  maxAgeMs: 60 * 60_000,
});
