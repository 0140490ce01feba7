/**
 * How a simulated store reaches its database. One step is one request, which the database carries out at one moment.
 */
export interface Steps {
  /**
   * Carries out `effect` at some moment, and resolves to its result some time later. Rejects with `unavailable` when
   * the answer was lost: the effect may have happened, may happen later, or never happens. It never settles when the
   * process has died.
   */
  run<T>(name: string, args: readonly unknown[], effect: () => T): Promise<T>;
  /**
   * Work that the database may still do although nobody waits for its answer any more: in this order, until one returns
   * false.
   */
  leave(effects: readonly (() => boolean)[]): void;
  /** This process's wall clock. */
  wallMs(): number;
}

/** Carries out every step at once. Schedules written by hand do not use it; they hold requests up with gates. */
export function directSteps(wallMs: () => number): Steps {
  return {
    run: async (_name, _args, effect) => effect(),
    leave: () => {},
    wallMs,
  };
}
