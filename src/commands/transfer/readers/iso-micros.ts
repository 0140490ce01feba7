const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?)?\s?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i;

/** Microseconds since 1970 of a time in ISO 8601. Without a zone it is UTC, as in SQLite's `2025-01-31 12:00:00`. */
export function isoMicros(text: string): number | undefined {
  const [found, day, time = "00:00", fraction = "", zone = "Z"] = TIME.exec(text.trim()) ?? [];
  if (found === undefined) return undefined;
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/^utc$/i, "Z");
  const ms = Date.parse(`${day}T${time}${offset.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
