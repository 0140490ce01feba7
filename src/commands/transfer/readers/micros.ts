const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/**
 * Microseconds since 1970 of an RFC 3339 time, to the microsecond, or of SQLite's `2025-01-31 12:00:00`, which is UTC;
 * undefined for anything else.
 */
export function microsOf(value: unknown): number | undefined {
  const [, day, time, fraction = "", zone = "Z"] = (typeof value === "string" && TIME.exec(value)) || [];
  const ms = Date.parse(`${day}T${time}${zone.length === 3 ? `${zone}:00` : zone}`);
  return Number.isNaN(ms) ? undefined : ms * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
