/** Runs for so long, or does a set piece of work; resolves to operations and the milliseconds they took. */
export type Subject = () => Promise<Slice>;

export interface Slice {
  readonly operations: number;
  readonly elapsedMs: number;
  /** What the measured process used of the processor meanwhile; undefined where the system does not tell. */
  readonly processorMs: number | undefined;
}

/** By which time operations are counted: that of the clock, or that which the measured process had a processor. */
export type Time = "clock" | "processor";

/** What alternating slices showed. Rates are operations a second. */
export interface Comparison {
  /** What `ratio` goes by; the other one is `otherRatio`. */
  readonly by: Time;
  readonly rate: number;
  readonly baselineRate: number;
  /** Median of the ratios of neighbouring slices: what slows the machine down for a while slows both. */
  readonly ratio: number;
  /** All of those ratios, in the order of measuring. */
  readonly ratios: readonly number[];
  readonly otherRatio: number | undefined;
}

export interface AlternateOptions {
  readonly slices: number;
  readonly by: Time;
  readonly onSlice?: ((done: number) => void) | undefined;
}

/**
 * How long each runs, in its time, and how often, before it counts: the code is compiled meanwhile. On a busy machine that takes longer, but what makes
 * few operations has no need of so many.
 */
const WARM_UP = { leastMs: 3000, operations: 2000, mostMs: 15_000 };

/** Measures A B A B ... */
export async function alternate(
  baseline: Subject,
  ours: Subject,
  { slices, by, onSlice }: AlternateOptions,
): Promise<Comparison> {
  await warmUp([baseline, ours], by);
  const pairs: Pair[] = [];
  while (pairs.length < slices) {
    pairs.push({ baseline: await baseline(), ours: await ours() });
    onSlice?.(pairs.length);
  }
  const known = pairs[0]?.ours.processorMs === undefined ? "clock" : by;
  const ratios = ratiosOf(pairs, known);
  return {
    by: known,
    rate: median(pairs.map((pair) => rateOf(pair.ours, known))),
    baselineRate: median(pairs.map((pair) => rateOf(pair.baseline, known))),
    ratio: median(ratios),
    ratios,
    otherRatio: known === by ? median(ratiosOf(pairs, by === "clock" ? "processor" : "clock")) : undefined,
  };
}

async function warmUp(subjects: readonly Subject[], by: Time): Promise<void> {
  const done = subjects.map(() => ({ ms: 0, operations: 0 }));
  const isWarm = ({ ms, operations }: { ms: number; operations: number }) =>
    ms >= WARM_UP.mostMs || (ms >= WARM_UP.leastMs && operations >= WARM_UP.operations);
  while (!done.every(isWarm)) {
    for (const [i, subject] of subjects.entries()) {
      const slice = await subject();
      const { ms, operations } = done[i] as { ms: number; operations: number };
      done[i] = { ms: ms + timeOf(slice, by), operations: operations + slice.operations };
    }
  }
}

interface Pair {
  readonly baseline: Slice;
  readonly ours: Slice;
}

function ratiosOf(pairs: readonly Pair[], time: Time): number[] {
  return pairs.map(({ baseline, ours }) => rateOf(ours, time) / rateOf(baseline, time));
}

/** Repeats the work for so long, in this process. */
export function during(sliceMs: number, work: () => Promise<number> | number): Subject {
  return () =>
    timed(async (elapsedMs) => {
      let operations = 0;
      do operations += await work();
      while (elapsedMs() < sliceMs);
      return operations;
    });
}

/** The same by several callers at a time. */
export function duringBy(callers: number, sliceMs: number, work: (caller: number) => Promise<number>): Subject {
  return () =>
    timed(async (elapsedMs) => {
      let operations = 0;
      const call = async (caller: number) => {
        while (elapsedMs() < sliceMs) {
          const done = await work(caller);
          operations += done;
        }
      };
      await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
      return operations;
    });
}

/** Takes the time of work in this process that answers how many operations it made. */
export async function timed(work: (elapsedMs: () => number) => Promise<number>): Promise<Slice> {
  const begun = performance.now();
  const usedBefore = process.cpuUsage();
  const elapsedMs = () => performance.now() - begun;
  const operations = await work(elapsedMs);
  const { user, system } = process.cpuUsage(usedBefore);
  return { operations, elapsedMs: elapsedMs(), processorMs: (user + system) / 1000 };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}

function rateOf(slice: Slice, time: Time): number {
  return (slice.operations / timeOf(slice, time)) * 1000;
}

function timeOf({ elapsedMs, processorMs }: Slice, time: Time): number {
  return time === "processor" && processorMs !== undefined ? processorMs : elapsedMs;
}
