import type { UsageRow, UsageSums } from "../api/types.js";
import { added } from "./usage-sums.js";

/** How many models have a colour of their own; the others share one. */
const MAX_SERIES = 6;
const OTHERS = "others";
const UNNAMED = "unnamed";
const DAY_MS = 24 * 3600 * 1000;
const MAX_DAYS = 400;

/**
 * All days from the first to the last, those without a call, too. Days are written as `2026-11-28`. `until` is no
 * longer in the time, so a time that ends at midnight does not have the day that begins then.
 */
export function daysBetween(rows: readonly UsageRow[], since: string, until: string): readonly string[] {
  const named = rows.flatMap(({ day }) => day ?? []).sort();
  const first = since.slice(0, 10) || named[0];
  const last = (until || localDay(new Date())).slice(0, 10);
  if (first === undefined) return named;
  const days: string[] = [];
  const lastAt = Date.parse(last) - (until.endsWith("T00:00") ? DAY_MS : 0);
  const end = Math.max(lastAt, ...named.slice(-1).map((day) => Date.parse(day)));
  for (let at = Date.parse(first); at <= end && days.length < MAX_DAYS; at += DAY_MS) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

function localDay(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/**
 * The models with the most calls, by name, so that each has the same colour whatever the time. The last is `others`
 * when there are more.
 */
export function seriesOf(rows: readonly UsageRow[]): readonly string[] {
  const models = [...sumsBy(rows, modelOf)].sort(([, a], [, b]) => Number(b.calls) - Number(a.calls));
  const names = models.map(([name]) => name);
  return names.length <= MAX_SERIES + 1 ? names.sort() : [...names.slice(0, MAX_SERIES).sort(), OTHERS];
}

export function modelOf({ model }: UsageRow): string {
  return model || UNNAMED;
}

/** The values of each day, by model. */
export function valuesOf(
  rows: readonly UsageRow[],
  series: readonly string[],
  value: (row: UsageRow) => number,
): readonly { readonly day: string; readonly series: string; readonly value: number }[] {
  const sums = new Map<string, { day: string; series: string; value: number }>();
  for (const row of rows) {
    const name = series.includes(modelOf(row)) ? modelOf(row) : OTHERS;
    const day = row.day ?? "";
    const key = `${day} ${name}`;
    const sum = sums.get(key) ?? { day, series: name, value: 0 };
    sum.value += value(row);
    sums.set(key, sum);
  }
  return [...sums.values()].filter((one) => one.value > 0);
}

/** Adds up rows by a name, exactly. */
export function sumsBy(rows: readonly UsageRow[], name: (row: UsageRow) => string): ReadonlyMap<string, UsageSums> {
  const sums = new Map<string, UsageSums>();
  for (const row of rows) sums.set(name(row), added(sums.get(name(row)), row));
  return sums;
}
