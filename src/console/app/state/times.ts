import { localTime, startOfDay } from "../text/format.js";

/** Local times as the fields of a form have them; empty where there is no limit. */
export interface TimeRange {
  readonly since: string;
  readonly until: string;
}

interface Times {
  readonly since: Date;
  /** The first moment that is no longer in it; none when it lasts until now. */
  readonly until?: Date;
}

const HOUR_MS = 3_600_000;

const days = (before: number) => (now: Date) => ({ since: startOfDay(now, before) });

interface NamedTimes {
  readonly label: string;
  /** How a sentence names the time: "2 sessions changed …". */
  readonly phrase: string;
  readonly of: (now: Date) => Times;
}

/** The times that readers ask for, wherever a time can be chosen. */
export const TIMES = {
  hour: {
    label: "Last hour",
    phrase: "in the last hour",
    of: (now: Date) => ({ since: new Date(now.getTime() - HOUR_MS) }),
  },
  today: { label: "Today", phrase: "today", of: days(0) },
  yesterday: { label: "Since yesterday", phrase: "since yesterday", of: days(1) },
  thisWeek: { label: "This week", phrase: "this week", of: (now: Date) => ({ since: startOfWeek(now) }) },
  lastWeek: {
    label: "Last week",
    phrase: "last week",
    of: (now: Date) => ({ since: startOfWeek(now, 1), until: startOfWeek(now) }),
  },
  days7: { label: "7 days", phrase: "in 7 days", of: days(6) },
  days30: { label: "30 days", phrase: "in 30 days", of: days(29) },
  days90: { label: "90 days", phrase: "in 90 days", of: days(89) },
} as const satisfies Readonly<Record<string, NamedTimes>>;

export type TimeName = keyof typeof TIMES;

export const TIME_NAMES = Object.keys(TIMES) as readonly TimeName[];

/** The beginning and the end of a time. */
export function timesOf(name: TimeName, now = new Date()): Times {
  return TIMES[name].of(now);
}

export function rangeOf(name: TimeName, now = new Date()): TimeRange {
  const { since, until } = timesOf(name, now);
  return { since: localTime(since), until: until === undefined ? "" : localTime(until) };
}

/** The name of the time that two fields hold. Several may begin with the same day; the first of them counts. */
export function timeNameOf({ since, until }: TimeRange, now = new Date()): TimeName | undefined {
  return TIME_NAMES.find((name) => {
    const range = rangeOf(name, now);
    return range.since === since && range.until === until;
  });
}

/**
 * The first day of a week, `weeksAgo` weeks before the one of `at`. Days are counted from Monday, 1, to Sunday, 7.
 * @public Its test imports it by a path that knip does not follow.
 */
export function startOfWeek(at: Date, weeksAgo = 0, firstDay = firstDayOfWeek()): Date {
  return startOfDay(at, ((at.getDay() - firstDay + 7) % 7) + 7 * weeksAgo);
}

/** The day with which weeks begin where the reader is; Monday where the browser does not know it. */
function firstDayOfWeek(): number {
  const { locale } = new Intl.DateTimeFormat().resolvedOptions();
  const known: Intl.Locale & { readonly getWeekInfo?: () => { readonly firstDay: number } } = new Intl.Locale(locale);
  return known.getWeekInfo?.().firstDay ?? 1;
}
