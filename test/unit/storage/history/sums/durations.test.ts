import { describe, expect, it } from "vitest";
import { Durations } from "../../../../../src/storage/history/sums/durations.js";

function of(numbers: readonly number[]): Durations {
  const durations = new Durations();
  for (const one of numbers) durations.add(one);
  return durations;
}

function naive(numbers: readonly number[], percent: number): number | undefined {
  return numbers.toSorted((a, b) => a - b)[Math.max(1, Math.ceil((percent * numbers.length) / 100)) - 1];
}

describe("percentiles", () => {
  it.each([
    ["none", []],
    ["one", [7]],
    ["two", [9, 1]],
    ["as many as a list holds", Array.from({ length: 64 }, (_, i) => i)],
    ["one more than that", Array.from({ length: 65 }, (_, i) => 64 - i)],
    ["equal ones", Array.from({ length: 1000 }, () => 30 * 86_400_000_000)],
    ["all sizes up to 30 days", Array.from({ length: 3000 }, (_, i) => (i * 7_919 * 1_234_567) % 2_592_000_000_001)],
    ["small ones", Array.from({ length: 70_000 }, (_, i) => (i * 31) % 1000)],
  ])("of %s are of the nearest rank", async (_, numbers) => {
    const durations = of(numbers);
    expect(durations.count).toBe(numbers.length);
    for (const percent of [1, 50, 95, 100]) expect(await durations.percentile(percent)).toBe(naive(numbers, percent));
    const joined = of([1, 2, 3]);
    joined.addAll(durations);
    expect(await joined.percentile(95)).toBe(naive([1, 2, 3, ...numbers], 95));
  });
});
