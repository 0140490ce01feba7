import type { Outcome } from "./suite.js";

/** Runs a test of ours, which throws when it fails. */
export async function outcomeOf(run: () => Promise<void>): Promise<Outcome> {
  try {
    await run();
    return { outcome: "passed", error: "" };
  } catch (error) {
    return { outcome: "failed", error: error instanceof Error ? error.message : String(error) };
  }
}

/** Shows where the JSON of two values parts. */
export function differenceOf(actual: unknown, expected: unknown): string {
  const [a, b] = [JSON.stringify(actual) ?? "nothing", JSON.stringify(expected) ?? "nothing"];
  let from = 0;
  while (a[from] !== undefined && a[from] === b[from]) from++;
  from = Math.max(0, from - 60);
  return `…${a.slice(from, from + 120)}… and not …${b.slice(from, from + 120)}…`;
}
