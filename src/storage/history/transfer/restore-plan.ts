import { RangeMap } from "../../../domain/range-map.js";
import type { NumberRange, RestoredImage, SharedRange, WrittenRange } from "../../../domain/session-image.js";
import type { AncestrySegment, Segment } from "../log-store.js";
import { joinSegments } from "../segments.js";

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
 * Gives every number of an image a place. Each list is written to logs of its own, because an id may occur in several
 * lists; what two lists show is written once.
 */
export function planRestore(image: RestoredImage, newLog: () => string, maxLogEntries: number): RestorePlan {
  const places = new Places(image.sessionId, newLog, maxLogEntries);
  const ancestry = image.ancestry.flatMap(({ sessionId, ranges }) =>
    places.segmentsOf(ranges).map((segment) => ({ ...segment, sessionId })),
  );
  const segments = places.segmentsOf(image.messages);
  const undo = image.undo && places.segmentsOf(image.undo);
  return { ancestry, segments, undo, written: places.written, shared: places.shared };
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

  #segmentsOfNumbers({ first, last }: NumberRange): Segment[] {
    return this.#placed.parts(first, last).flatMap((part): Segment[] => {
      if (part.known === undefined) return this.#write(part);
      const { value, offset } = part.known;
      const start = value.first + offset;
      return [{ log: value.log, first: start, last: start + part.last - part.first }];
    });
  }

  #write({ first, last }: NumberRange): Segment[] {
    const segments: Segment[] = [];
    for (let next = first; next <= last; ) {
      if (this.#log === "" || this.#used === this.#maxLogEntries) {
        this.#log = this.#newLog();
        this.#used = 0;
      }
      const count = Math.min(last - next + 1, this.#maxLogEntries - this.#used);
      const segment = { log: this.#log, first: this.#used + 1, last: this.#used + count };
      const place = { ...segment, ownerId: this.#ownerId };
      this.#placed.add(next, next + count - 1, place);
      this.written.push({ first: next, last: next + count - 1, place });
      segments.push(segment);
      this.#used += count;
      next += count;
    }
    return segments;
  }
}
