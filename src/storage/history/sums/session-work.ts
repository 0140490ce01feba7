import type { Call } from "../../../domain/call.js";
import type { UsageQuery } from "../../../domain/usage-groups.js";
import type { Segment, SessionRecord } from "../log-store.js";
import type { CallOutcomes } from "./call-outcomes.js";
import type { GroupTable } from "./group-table.js";

/** A session that is to be added, and what of it is left. */
export interface Work {
  readonly record: SessionRecord;
  ranges: readonly Segment[];
  /** What has been read of a session that takes several reads; added to the sum once it is whole. */
  table: GroupTable | null;
  /** The calls of tools in what has been read. Absent until then. */
  calls?: CallOutcomes;
  /** Those of the ranges in logs of other sessions whose messages were first written to this one. */
  own?: ReadonlySet<Segment>;
  /** How often entries were missing that the record names. */
  misses?: number;
}

/** What a portion of a sum has looked at. */
export interface Spent {
  readonly rows: number;
  readonly sessions: number;
  readonly bytes: number;
}

/** Adds what sessions hold to a sum. */
export interface Adder {
  /** The work for sessions whose records have just been read. */
  workOf(records: readonly SessionRecord[], call: Call): Promise<Work[]>;
  /**
   * Reads a portion of the first sessions, and then, unless `isLate` by now, adds it to the table and shortens the work
   * by what was read.
   */
  add(work: Work[], table: GroupTable, isLate: () => boolean, call: Call): Promise<Spent>;
}

export const NOTHING_SPENT: Spent = Object.freeze({ rows: 0, sessions: 0, bytes: 0 });

export function plusSpent(a: Spent, b: Spent): Spent {
  return { rows: a.rows + b.rows, sessions: a.sessions + b.sessions, bytes: a.bytes + b.bytes };
}

/** Whether a message of this time counts. */
export function isWithin({ sinceMicros, untilMicros }: UsageQuery, micros: number): boolean {
  return (sinceMicros === undefined || micros >= sinceMicros) && (untilMicros === undefined || micros < untilMicros);
}
