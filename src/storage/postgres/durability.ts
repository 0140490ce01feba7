import type { Row } from "./values.js";

/** Asks whether the server takes writes, and for the settings on which it depends that what it acknowledges is kept. */
export const DURABILITY = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
  current_setting('fsync', true), current_setting('full_page_writes', true), current_setting('synchronous_commit', true)`;

const RISKS = [
  "fsync is off in PostgreSQL: a crash of the machine can lose or damage everything",
  "full_page_writes is off in PostgreSQL: a crash of the machine can damage the database",
  "synchronous_commit is off in PostgreSQL: a crash can lose what was acknowledged last",
] as const;

/** What the settings endanger, a sentence each. */
export function risksOf([, ...settings]: Row): readonly string[] {
  return RISKS.filter((_, i) => settings[i] === "off");
}
