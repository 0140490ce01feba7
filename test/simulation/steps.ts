/** How a simulated store reaches its database: one step is one request that the database carries out at one moment. */
export interface Steps {
  /**
   * Carries out `effect` at some moment and answers what it gave, some time after. Rejects with `unavailable` when the answer was
   * lost: the effect may have happened, may happen later, or never. Settles never when the process has died.
   */
  run<T>(name: string, args: readonly unknown[], effect: () => T): Promise<T>;
  /** Work that the database may still do, in this order until one says false, though nobody waits for its answer any more. */
  leave(effects: readonly (() => boolean)[]): void;
  /** This process's wall clock. */
  wallMs(): number;
}

/** Every step at once, for directed schedules: what is to wait is gated outside. */
export function directSteps(wallMs: () => number): Steps {
  return {
    run: async (_name, _args, effect) => effect(),
    leave: () => {},
    wallMs,
  };
}
