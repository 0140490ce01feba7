/**
 * Runs for a slice of time, or does a fixed amount of work. Resolves to the number of operations and the time they
 * took.
 */
export type Subject = () => Promise<Slice>;

export interface Slice {
  readonly operations: number;
  readonly elapsedMs: number;
  /** The processor time that the measured process used; undefined where the system does not say. */
  readonly processorMs: number | undefined;
}

/** Which time a rate is based on: elapsed time, or the processor time of the measured process. */
export type Time = "clock" | "processor";

/** The result of alternating slices. Rates are operations a second. */
export interface Comparison {
  /** The time that `ratio` is based on. `otherRatio` is based on the other one. */
  readonly by: Time;
  readonly rate: number;
  readonly baselineRate: number;
  /**
   * The median of the ratios of neighbouring slices. Anything that slows the machine down for a while affects both
   * slices.
   */
  readonly ratio: number;
  /** All of these ratios, in the order in which they were measured. */
  readonly ratios: readonly number[];
  readonly otherRatio: number | undefined;
}

export interface AlternateOptions {
  readonly slices: number;
  readonly by: Time;
  /** How many times as long as usual the subjects run before they are measured; 1 when absent. */
  readonly warmUpFactor?: number | undefined;
  readonly onSlice?: ((done: number) => void) | undefined;
}

/**
 * How long each subject runs before it is measured, so that its code is compiled. It runs for at least `leastMs` of the
 * chosen time, and until it has made this many operations, but no longer than `mostMs`.
 */
const WARM_UP = { leastMs: 3000, operations: 2000, mostMs: 15_000 };

/** Measures the baseline and the subject in turn. */
export async function alternate(
  baseline: Subject,
  ours: Subject,
  { slices, by, warmUpFactor = 1, onSlice }: AlternateOptions,
): Promise<Comparison> {
  await warmUp([baseline, ours], by, warmUpFactor);
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

async function warmUp(subjects: readonly Subject[], by: Time, factor: number): Promise<void> {
  const done = subjects.map(() => ({ ms: 0, operations: 0 }));
  const isWarm = ({ ms, operations }: { ms: number; operations: number }) =>
    ms >= factor * WARM_UP.mostMs || (ms >= factor * WARM_UP.leastMs && operations >= factor * WARM_UP.operations);
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

/** Makes a subject that repeats the work in this process for `sliceMs`. */
export function during(sliceMs: number, work: () => Promise<number> | number): Subject {
  return () =>
    timed(async (elapsedMs) => {
      let operations = 0;
      do operations += await work();
      while (elapsedMs() < sliceMs);
      return operations;
    });
}

/** Makes a subject in which several callers repeat the work at the same time. */
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

/** Measures work in this process. The work resolves to how many operations it made. */
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
