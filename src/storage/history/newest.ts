import type { Entry, Newest, NewestOptions, Range, RangeOptions, SessionRecord } from "./log-store.js";
import { joinSegments } from "./segments.js";

/** Reads a range of a log as `readRange` does, at the moment at which the record was read. */
type ReadNow = (log: string, first: number, last: number, options: RangeOptions) => Range;

/** The newest messages of a record, for stores that can make several reads at one moment. */
export function newestOf(
  { segments, log }: SessionRecord,
  end: Newest["end"],
  { limit, maxBytes }: NewestOptions,
  read: ReadNow,
): Newest["messages"] {
  const entries: Entry[] = [];
  let bytesLeft = maxBytes;
  for (const segment of joinSegments(segments, [{ log, first: 1, last: end.last?.seq ?? 0 }]).toReversed()) {
    const wanted = Math.min(limit - entries.length, segment.last - segment.first + 1);
    if (wanted === 0) break;
    if (bytesLeft <= 0) return { entries, cut: true };
    const options = { descending: true, limit: wanted, maxBytes: bytesLeft };
    const range = read(segment.log, segment.first, segment.last, options);
    entries.push(...range.entries);
    if (range.cut || range.entries.length < wanted) return { entries, cut: range.cut };
    for (const { body } of range.entries) bytesLeft -= body.sizes.parts + body.sizes.metadata + body.sizes.usage;
  }
  return { entries, cut: false };
}
