/** How far the clocks of this process differ from those of the machine, in milliseconds. */
export const shifts = { wallMs: 0, steadyMs: 0 };

const now = Date.now.bind(Date);
const steady = performance.now.bind(performance);

/**
 * This module is loaded first. From here on, all modules of the process, including drivers, read clocks that `shifts`
 * changes. Timers are not changed.
 */
globalThis.Date = class extends Date {
  constructor(...args: ConstructorParameters<typeof Date> | []) {
    if (args.length === 0) super(now() + shifts.wallMs);
    else super(...(args as ConstructorParameters<typeof Date>));
  }

  static override now(): number {
    return now() + shifts.wallMs;
  }
} as DateConstructor;
performance.now = () => steady() + shifts.steadyMs;
