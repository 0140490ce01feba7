/** What a suite said about one of its tests. */
export interface Outcome {
  readonly outcome: "passed" | "failed" | "skipped";
  readonly error: string;
}

export type Outcomes = ReadonlyMap<string, Outcome>;

/**
 * The tests of a suite that fail, by the reason why that is not ours to mend. A name without its parameters (`[…]`)
 * stands for the test with all of them.
 */
export type KnownFailures = Readonly<Record<string, readonly string[]>>;

/** The row of a suite in the table at the end of a run. */
export interface SuiteTotals {
  readonly sdk: string;
  readonly suite: string;
  readonly passed: number;
  readonly known: number;
  readonly failed: number;
}

declare module "vitest" {
  interface TaskMeta {
    suite?: SuiteTotals;
  }
}

/** The outcomes without those of the listed tests. */
export function without(outcomes: Outcomes, leftOut: readonly string[]): Outcomes {
  return new Map([...outcomes].filter(([name]) => !leftOut.includes(withoutParameters(name))));
}

/**
 * Compares what happened with what is known. `problems` has a line for each failure that is not listed, and for each
 * listed test that passes or is not in the suite any more.
 */
export function judge(outcomes: Outcomes, known: KnownFailures) {
  const listed = new Set(Object.values(known).flat());
  const names = [...outcomes].filter(([, { outcome }]) => outcome !== "skipped").map(([name]) => name);
  const listedAs = (name: string) => [name, withoutParameters(name)].find((one) => listed.has(one));
  const hasFailed = (name: string) => outcomes.get(name)?.outcome === "failed";

  const unlisted = names.filter((name) => hasFailed(name) && listedAs(name) === undefined);
  const problems = unlisted.map((name) => `${name} fails: ${oneLine(outcomes.get(name)?.error)}`);
  for (const name of names)
    if (!hasFailed(name) && listedAs(name) !== undefined) problems.push(`${name} passes, and is listed as a failure`);
  const found = new Set(names.map(listedAs));
  for (const name of listed) if (!found.has(name)) problems.push(`${name} is listed, and did not run`);
  if (names.length === 0) problems.push("No test ran");

  const passed = names.filter((name) => !hasFailed(name)).length;
  const failed = unlisted.length;
  return { passed, failed, known: names.length - passed - failed, problems };
}

function withoutParameters(name: string): string {
  return name.replace(/\[.*\]$/s, "");
}

function oneLine(error = ""): string {
  return error.replace(/\s+/g, " ").slice(0, 300);
}
