import type { RecordPage, SessionRecord } from "../history/log-store.js";

type Place = Pick<SessionRecord, "updateTimeMicros" | "sessionId">;

/** Living records ordered by update time, then session id. Stored in ascending order, because new records come last. */
export class RecordOrder {
  readonly #records: SessionRecord[] = [];

  get size(): number {
    return this.#records.length;
  }

  add(record: SessionRecord): void {
    this.#records.splice(this.#countBefore(record), 0, record);
  }

  remove(record: SessionRecord): void {
    this.#records.splice(this.#countBefore(record), 1);
  }

  /** The records of a page, newest first, after the place `after`; only those that `isListed` accepts. */
  page({ limit, after }: RecordPage, isListed: (record: SessionRecord) => boolean = () => true): SessionRecord[] {
    const page: SessionRecord[] = [];
    let i = after === undefined ? this.#records.length : this.#countBefore(after);
    while (--i >= 0 && page.length < limit) {
      const record = this.#records[i] as SessionRecord;
      if (isListed(record)) page.push(record);
    }
    return page;
  }

  #countBefore(place: Place): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (isBefore(this.#records[middle] as SessionRecord, place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(a: Place, b: Place): boolean {
  return a.updateTimeMicros === b.updateTimeMicros
    ? a.sessionId < b.sessionId
    : a.updateTimeMicros < b.updateTimeMicros;
}
