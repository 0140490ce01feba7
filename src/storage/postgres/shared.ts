import type { Call } from "../../domain/call.js";
import type { SearchScope } from "../../domain/search.js";
import type { AppendGroups } from "./append-groups.js";
import type { PostgresChanges } from "./postgres-changes.js";
import type { PostgresPool } from "./postgres-pool.js";
import type { Statements } from "./statements.js";
import type { Turns } from "./turns.js";

/** What all stores of one database share. */
export interface PostgresShared {
  readonly pool: PostgresPool;
  /** The schema of the tables, as statements name it. */
  readonly schema: string;
  readonly sql: Statements;
  /** Writes of one session wait here for each other, by its uid, and writes of the todos of one namespace. */
  readonly turns: Turns;
  readonly appends: AppendGroups;
  readonly changes: PostgresChanges;
  /** Whether notifications arrive. */
  readonly hears: boolean;
  /** What of messages is in the index of words; undefined where they are not searched. */
  readonly indexed: SearchScope | undefined;
  /** As in LogStore. */
  ping(call?: Call): Promise<void>;
}

/**
 * A number for the column `write` that no other write has, below 2^53 so that it stays exact. It is no secret, and
 * cryptographic random numbers took an eighth of the processor time of an append.
 */
export function newWrite(): number {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER) + 1;
}
