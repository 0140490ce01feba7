const DAY_MS = 24 * 3600 * 1000;

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "long" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE_WITH_YEAR = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const UNTIL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
const NUMBER = new Intl.NumberFormat();

export function startOfDay(at: Date, daysAgo = 0): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() - daysAgo);
}

/** A time as a field of the kind `datetime-local` has it. */
export function localTime(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** Today, Yesterday, the weekday within the last week, otherwise the date. */
export function dayOf(timestamp: string, now = new Date()): string {
  const at = new Date(timestamp);
  if (Number.isNaN(at.getTime())) return timestamp;
  const days = Math.round((startOfDay(now).getTime() - startOfDay(at).getTime()) / DAY_MS);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days > 1 && days < 7) return WEEKDAY.format(at);
  return (at.getFullYear() === now.getFullYear() ? DATE : DATE_WITH_YEAR).format(at);
}

/** A day that is written as `2026-11-28`. */
export function dayName(day: string): string {
  const at = new Date(`${day}T00:00:00`);
  return Number.isNaN(at.getTime())
    ? day
    : (at.getFullYear() === new Date().getFullYear() ? DATE : DATE_WITH_YEAR).format(at);
}

export function clock(timestamp: string): string {
  const at = new Date(timestamp);
  return Number.isNaN(at.getTime()) ? timestamp : CLOCK.format(at);
}

export function whole(timestamp: string): string {
  const at = new Date(timestamp);
  return Number.isNaN(at.getTime()) ? timestamp : WHOLE.format(at);
}

/** The day in full and the time without seconds, for the end of something. */
export function untilMinute(timestamp: string): string {
  return UNTIL.format(new Date(timestamp));
}

/** A short form for lists: the time if it was today, otherwise the day. */
export function recently(timestamp: string, now = new Date()): string {
  const day = dayOf(timestamp, now);
  return day === "Today" ? clock(timestamp) : day;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = Math.floor((ms % 60_000) / 1000);
  if (minutes < 60) return seconds === 0 ? `${minutes} min` : `${minutes} min ${seconds} s`;
  return `${(minutes / 60).toFixed(1)} h`;
}

export function count(number: number | string | undefined): string {
  return NUMBER.format(Number(number ?? 0));
}

/** A number of bytes, as people read it. */
export function byteSize(bytes: number | string): string {
  let [size, unit] = [Number(bytes), 0];
  for (; size >= 1024 && unit < UNITS.length - 1; unit++) size /= 1024;
  if (unit === 0) return plural(size, "byte");
  return `${size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`;
}

const UNITS = ["bytes", "KB", "MB", "GB"];

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
