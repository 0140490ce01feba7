import type { Call } from "../../../domain/call.js";
import { untilCallEnd } from "../../../domain/call-end.js";
import type { HistoryContext } from "../heads.js";
import type { NextRecord, SessionRecord } from "../log-store.js";
import { ownerOf } from "../record-facts.js";
import { droppedRanges, namedSegments } from "../segments.js";

/** Replaces records by compare-and-set, and keeps track of what they no longer name. */
export class RecordReplacer {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /**
   * Replaces the record if it still has the revision that was read; null when it does not. Notes as dropped what the
   * new record no longer names. A session without forks that names only its own logs stops counting as a fork of its
   * sources.
   */
  async replace(record: SessionRecord, next: NextRecord, call?: Call): Promise<SessionRecord | null> {
    const { options, store } = this.#context;
    // The log that version 0.1.0 kept for older messages loses its name: ranges of it may be swept.
    const namedLogs = next.namedLogs.filter(({ purpose }) => purpose !== "older");
    const dropped = next.deleted && next.bin === undefined ? [] : droppedRanges(record, { ...next, namedLogs });
    const full: NextRecord = {
      ...next,
      revision: record.revision + 1,
      namedLogs,
      dropped: [...record.dropped, ...dropped].slice(0, options.maxDropped),
    };
    this.#context.forget(record.sessionId);
    const stored = await store.replaceRecord(full, record.revision, call);
    if (!stored) return null;
    return next.deleted ? stored : await untilCallEnd(this.#releaseSources(stored), call);
  }

  async #releaseSources(stored: SessionRecord): Promise<SessionRecord> {
    const { store } = this.#context;
    if (stored.sources.length === 0) return stored;
    // Rule: lower-unforked-only. Forks of this session may name the sources, too.
    if (stored.forks > 0) return stored;
    // Rule: lower-unnamed-only.
    if (namedSegments(stored).some((segment) => ownerOf(segment.log) !== stored.uid)) return stored;
    const [foreign] = (await store.attachments?.targetsIn({ foreignTo: stored.uid }, 1)) ?? [];
    // Rule: named-sources-stay.
    if (foreign !== undefined) return stored;
    const next = { ...nextOf(stored), sources: [], revision: stored.revision + 1 };
    // The end of the call must not interrupt this, because a count that is not lowered stays too high for ever.
    const released = await store.replaceRecord(next, stored.revision);
    if (!released) return stored;
    for (const source of stored.sources) await store.addFork(source, -1);
    return released;
  }
}

/** The record as `replaceRecord` takes it. */
export function nextOf(record: SessionRecord): NextRecord {
  const { forks: _forks, ...rest } = record;
  return rest;
}
