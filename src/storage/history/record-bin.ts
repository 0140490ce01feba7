import type { Call } from "../../domain/call.js";
import type { NextRecord, SessionRecord } from "./session-record.js";

/** Which deleted sessions to list: those of an owner (empty for none) or with an id; all when both are absent. */
export type BinFilter =
  | { readonly owner?: string | undefined; readonly sessionId?: undefined }
  | { readonly owner?: undefined; readonly sessionId: string };

/**
 * The order is `bin.deleteTimeMicros`, then `sessionId` (by code unit or by byte, but always the same), both
 * descending. No two records are equal in it.
 */
export interface BinPage {
  readonly limit: number;
  /** Only records after this place in the order. */
  readonly after?: { readonly deleteTimeMicros: number; readonly sessionId: string } | undefined;
}

/** The tombstones of one namespace whose sessions can be brought back: those with `bin`. */
export interface RecordBin {
  /** Reads an index, so that a page costs the same however many there are, also with a filter. */
  list(filter: BinFilter, page: BinPage, call?: Call): Promise<readonly SessionRecord[]>;

  /** At most `limit` of them whose `bin.purgeTimeMicros` is at most this, whatever their `forks`; earliest first. */
  listDue(untilMicros: number, limit: number, call?: Call): Promise<readonly SessionRecord[]>;

  /**
   * Turns one into a living record: replaces it with this one of the same uid, as `replaceRecord` does, if its revision
   * is still `ifRevision` and no living record has the session id, in one step. `exists`: one has; nothing was changed.
   * Null when the revision differs. An unknown outcome is read back as that of `replaceRecord`.
   */
  revive(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | "exists" | null>;
}
