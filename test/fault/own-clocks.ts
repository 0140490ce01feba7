/** How far the clocks of this process are from the machine's, in milliseconds. */
export const shifts = { wallMs: 0, steadyMs: 0 };

const now = Date.now.bind(Date);
const steady = performance.now.bind(performance);

/** From here on every module of the process, drivers too, reads clocks that `shifts` sets: this one comes first. Timers are the machine's. */
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
