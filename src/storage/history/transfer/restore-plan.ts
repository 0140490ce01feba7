import { RangeMap } from "../../../domain/range-map.js";
import type { NumberRange, RestoredImage, SharedRange, WrittenRange } from "../../../domain/session-image.js";
import type { AncestrySegment, Segment } from "../log-store.js";
import { joinSegments, totalLength } from "../segments.js";

/** As long as the names that logs get: two random uids of 24 digits. */
const LOG_NAME = `${"0".repeat(24)}.${"0".repeat(24)}`;

/** The ranges of a record to be restored, and which of them have to be written. */
export interface RestorePlan {
  readonly ancestry: readonly AncestrySegment[];
  readonly segments: readonly Segment[];
  readonly undo: readonly Segment[] | null;
  /** In the order of the logs; each log begins at 1. */
  readonly written: readonly WrittenRange[];
  readonly shared: readonly SharedRange[];
}

/**
 * Gives every message number of an image a place in a log. Each list is written to logs of its own, because an id may
 * occur in several lists, but a message that two lists show is written only once. With `isPacked`, everything that an
 * ancestor shows is written anew as a whole, so that it takes one segment; such an image must not share ranges in its
 * ancestry.
 */
export function planRestore(
  image: RestoredImage,
  newLog: () => string,
  maxLogEntries: number,
  isPacked = false,
): RestorePlan {
  const places = new Places(image.sessionId, newLog, maxLogEntries);
  const ancestry = image.ancestry.flatMap(({ sessionId, ranges }) => {
    const segments = isPacked ? places.writeAnew(ranges) : places.segmentsOf(ranges);
    return segments.map((segment) => ({ ...segment, sessionId }));
  });
  const segments = places.segmentsOf(image.messages);
  const undo = image.undo && places.segmentsOf(image.undo);
  return { ancestry, segments, undo, written: places.written, shared: places.shared };
}

/** The ancestry of a packed plan, as far as its size goes: one segment for each ancestor that shows messages. */
export function packedAncestry(ancestry: RestoredImage["ancestry"]): AncestrySegment[] {
  return ancestry
    .map(({ sessionId, ranges }) => ({ sessionId, ranges: ranges.map((range) => ({ ...range, log: "" })) }))
    .map(({ sessionId, ranges }) => ({ log: LOG_NAME, first: 1, last: totalLength(ranges), sessionId }))
    .filter(({ last }) => last > 0);
}

class Places {
  readonly written: WrittenRange[] = [];
  readonly shared: SharedRange[] = [];
  readonly #ownerId: string;
  readonly #newLog: () => string;
  readonly #maxLogEntries: number;
  readonly #placed = new RangeMap<SharedRange>();
  #log = "";
  #used = 0;

  constructor(ownerId: string, newLog: () => string, maxLogEntries: number) {
    this.#ownerId = ownerId;
    this.#newLog = newLog;
    this.#maxLogEntries = maxLogEntries;
  }

  segmentsOf(ranges: readonly (SharedRange | NumberRange)[]): Segment[] {
    this.#log = "";
    const segments = ranges.flatMap((range): Segment[] => {
      if (!("log" in range)) return this.#segmentsOfNumbers(range);
      this.shared.push(range);
      return [{ log: range.log, first: range.first, last: range.last }];
    });
    return joinSegments(segments);
  }

  /** Writes numbers to a fresh log, even if they have places already. */
  writeAnew(ranges: readonly NumberRange[]): Segment[] {
    this.#log = "";
    return joinSegments(ranges.flatMap((range) => this.#write(range).map(({ place }) => place)));
  }

  #segmentsOfNumbers({ first, last }: NumberRange): Segment[] {
    return this.#placed.parts(first, last).flatMap((part): Segment[] => {
      if (part.known === undefined) {
        const written = this.#write(part);
        for (const { first, last, place } of written) this.#placed.add(first, last, place);
        return written.map(({ place }) => place);
      }
      const { value, offset } = part.known;
      const start = value.first + offset;
      return [{ log: value.log, first: start, last: start + part.last - part.first }];
    });
  }

  #write({ first, last }: NumberRange): WrittenRange[] {
    const written: WrittenRange[] = [];
    for (let next = first; next <= last; ) {
      if (this.#log === "" || this.#used === this.#maxLogEntries) {
        this.#log = this.#newLog();
        this.#used = 0;
      }
      const count = Math.min(last - next + 1, this.#maxLogEntries - this.#used);
      const place = { log: this.#log, first: this.#used + 1, last: this.#used + count, ownerId: this.#ownerId };
      written.push({ first: next, last: next + count - 1, place });
      this.#used += count;
      next += count;
    }
    this.written.push(...written);
    return written;
  }
}
