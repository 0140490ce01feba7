import type { NextRecord } from "./log-store.js";

/**
 * How long after the first send of a record its uid may be blocked. This is far less than the age at which sweeps clear
 * away deleted sessions.
 */
export const LATE_MS = 60_000;

/** A tombstone with the same uid, which names nothing. It is as small as a record can be. */
export function blockerOf(record: NextRecord): NextRecord {
  const nothing = {
    segments: [],
    namedLogs: [],
    drafts: [],
    dropped: [],
    ancestry: [],
    edits: [],
    sources: [],
    undo: null,
    origin: null,
  };
  const { metadata: _metadata, labels: _labels, restoring: _restoring, expireTimeMicros: _expiry, ...named } = record;
  const { owner: _owner, creatorKey: _key, isCounted: _isCounted, ...rest } = named;
  return { ...rest, ...nothing, title: "", deleted: true };
}
