import { expect, it } from "vitest";

// The compiler checks the page with the types of browsers, so that it does not follow this name.
const path = "../../../../../src/console/app/state/times.js";
const { timeNameOf, rangeOf, startOfWeek } = (await import(path)) as {
  timeNameOf(range: Range, now: Date): string | undefined;
  rangeOf(name: string, now: Date): Range;
  startOfWeek(at: Date, weeksAgo: number, firstDay: number): Date;
};

interface Range {
  readonly since: string;
  readonly until: string;
}

/** A Wednesday. */
const NOW = new Date(2026, 10, 25, 15, 42, 30);
const day = (date: number, hours = 0, minutes = 0) => {
  const two = (number: number) => String(number).padStart(2, "0");
  return `2026-11-${two(date)}T${two(hours)}:${two(minutes)}`;
};

it.each([
  ["hour", day(25, 14, 42), ""],
  ["today", day(25), ""],
  ["yesterday", day(24), ""],
  ["days7", day(19), ""],
])("knows when %s begins", (name, since, until) => {
  expect(rangeOf(name, NOW)).toEqual({ since, until });
  expect(timeNameOf({ since, until }, NOW)).toBe(name);
});

it("lets last week end where this week begins", () => {
  const [last, current] = [rangeOf("lastWeek", NOW), rangeOf("thisWeek", NOW)];
  expect(last.until).toBe(current.since);
  expect(current.until).toBe("");
  expect(timeNameOf(last, NOW)).toBe("lastWeek");
});

it.each([
  ["Monday", 1, 23],
  ["Saturday", 6, 21],
  ["Sunday", 7, 22],
  ["Wednesday", 3, 25],
])("begins a week with %s where that is the first day", (_, firstDay, date) => {
  expect(startOfWeek(NOW, 0, firstDay)).toEqual(new Date(2026, 10, date));
  expect(startOfWeek(NOW, 1, firstDay)).toEqual(new Date(2026, 10, date - 7));
});

it("names no time for other limits, and the first of those that begin alike", () => {
  expect(timeNameOf({ since: day(25, 14), until: "" }, NOW)).toBeUndefined();
  expect(timeNameOf({ since: day(25), until: day(26) }, NOW)).toBeUndefined();
  expect(timeNameOf({ since: "", until: "" }, NOW)).toBeUndefined();
  const firstOfWeek = startOfWeek(NOW, 0, 1);
  expect(timeNameOf(rangeOf("today", firstOfWeek), firstOfWeek)).toBe("today");
});
