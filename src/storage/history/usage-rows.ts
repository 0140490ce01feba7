import type { Segment, UsageRow, UsageRows } from "./log-store.js";

/** Implements `readUsage` for stores that read one range after another, each as far as `most` rows. */
export function usageRowsOf(
  ranges: readonly Segment[],
  limit: number,
  read: (range: Segment, most: number) => readonly UsageRow[],
): UsageRows {
  const rows: UsageRow[] = [];
  for (const [i, range] of ranges.entries()) {
    const left = limit - rows.length;
    const found = left === 0 ? [] : read(range, left);
    rows.push(...found);
    if (found.length === left) return { rows, rest: restOf(ranges, i, found.at(-1)) };
  }
  return { rows, rest: [] };
}

/** What is left of ranges after the last row that was found in the range at `index`. */
export function restOf(ranges: readonly Segment[], index: number, last: UsageRow | undefined): readonly Segment[] {
  if (last === undefined) return ranges.slice(index);
  const range = ranges[index] as Segment;
  const rest = last.seq < range.last ? [{ ...range, first: last.seq + 1 }] : [];
  return [...rest, ...ranges.slice(index + 1)];
}
