import { compareOrderKeys, type OrderKey, orderKey, type SessionOrder } from "../../domain/session-order.js";
import type { RecordPage, SessionRecord } from "../history/log-store.js";

interface Place {
  readonly key: OrderKey;
  readonly sessionId: string;
}

/** Records in an order. */
export interface OrderedRecords {
  readonly size: number;
  /** The records after a place, or all, in either direction. */
  after(place: Place | undefined, descending: boolean): Iterable<SessionRecord>;
}

/**
 * Living records ordered by their update times or something else, then by session id. Stored in ascending order,
 * because new records come last.
 */
export class RecordOrder implements OrderedRecords {
  readonly #by: Pick<SessionOrder, "by">;
  readonly #records: SessionRecord[] = [];
  /** The keys of the records, in the same order. */
  readonly #keys: OrderKey[] = [];

  constructor(by: SessionOrder["by"] = "update_time") {
    this.#by = { by };
  }

  get size(): number {
    return this.#records.length;
  }

  add(record: SessionRecord): void {
    const place = this.#placeOf(record);
    const index = this.#countBefore(place);
    this.#records.splice(index, 0, record);
    this.#keys.splice(index, 0, place.key);
  }

  remove(record: SessionRecord): void {
    const index = this.#countBefore(this.#placeOf(record));
    this.#records.splice(index, 1);
    this.#keys.splice(index, 1);
  }

  /** The records of a page, newest first, after the place `after`; only those that `isListed` accepts. */
  page({ limit, after }: RecordPage, isListed?: (record: SessionRecord) => boolean): SessionRecord[] {
    const place = after && { key: after.updateTimeMicros, sessionId: after.sessionId };
    const page: SessionRecord[] = [];
    for (const record of this.after(place, true)) {
      if (page.length >= limit) break;
      if (isListed === undefined || isListed(record)) page.push(record);
    }
    return page;
  }

  after(place: Place | undefined, descending: boolean): Generator<SessionRecord, void, undefined> {
    return this.#walk(place, descending, { first: 0, end: this.#records.length });
  }

  /** The records, ordered by a time, from one time until before another. They must be used before any is changed. */
  between(sinceMicros = -Infinity, untilMicros = Infinity): OrderedRecords {
    const first = this.#countBefore({ key: sinceMicros, sessionId: "" });
    const end = this.#countBefore({ key: untilMicros, sessionId: "" });
    const after = (place: Place | undefined, descending: boolean) => this.#walk(place, descending, { first, end });
    return { size: Math.max(0, end - first), after };
  }

  *#walk(
    place: Place | undefined,
    descending: boolean,
    { first, end }: { readonly first: number; readonly end: number },
  ): Generator<SessionRecord, void, undefined> {
    if (descending) {
      let i = place === undefined ? end : Math.min(end, this.#countBefore(place));
      while (--i >= first) yield this.#records[i] as SessionRecord;
    } else {
      let i = place === undefined ? first : this.#countBefore(place);
      // The record at the place itself does not come after it.
      if (place && this.#records[i]?.sessionId === place.sessionId && this.#keys[i] === place.key) i++;
      for (i = Math.max(first, i); i < end; i++) yield this.#records[i] as SessionRecord;
    }
  }

  #placeOf(record: SessionRecord): Place {
    return { key: orderKey(record, { ...this.#by, descending: false }), sessionId: record.sessionId };
  }

  #countBefore(place: Place): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#isBefore(middle, place)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isBefore(index: number, place: Place): boolean {
    const compared = compareOrderKeys(this.#keys[index] as OrderKey, place.key);
    return compared === 0 ? (this.#records[index] as SessionRecord).sessionId < place.sessionId : compared < 0;
  }
}
