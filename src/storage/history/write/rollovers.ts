import type { HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";

/** A rollover that comes later than this after the last one begins a new row. */
const ROW_MS = 60_000;

/** The store's clock, because the clocks of two machines may differ by more than a row may pause. */
type Clock = Pick<HistoryContext, "storeMicros">;

/** How many rollovers in a row this session has had. */
export function rolloversInRow({ rollovers }: Pick<SessionRecord, "rollovers">, clock: Clock): number {
  // A time in the future ends a row as well, because a clock that was ahead must not keep a row going.
  return Math.abs(nowMs(clock) - rollovers.atMs) > ROW_MS ? 0 : rollovers.count;
}

/** The count to store after one more rollover. */
export function rolloversAfter(record: Pick<SessionRecord, "rollovers">, clock: Clock): SessionRecord["rollovers"] {
  return { count: rolloversInRow(record, clock) + 1, atMs: nowMs(clock) };
}

function nowMs(clock: Clock): number {
  return Math.floor(clock.storeMicros() / 1000);
}
