import type { Entry, Range, RangeOptions, Segment, Tail, UsageEnds, UsageRow } from "../history/log-store.js";
import type { AttachmentMemory } from "./attachment-memory.js";
import { frozenEntry } from "./frozen-copy.js";
import { UsageIndex } from "./usage-index.js";

const SEAL = "seal";
const NOT_DELETING = { first: 0, last: 0, next: 0 };

/** One log: an array of entries whose last place is never empty. */
export class MemoryLog {
  /** Entry `seq` is at index `seq - 1`; undefined where a sweep removed it. */
  readonly #places: (Entry | typeof SEAL | undefined)[] = [];
  readonly #seqs = new Map<string, number>();
  /** The size of each entry, measured when it is first read. */
  readonly #bytes: number[] = [];
  /** Where the last chunk of a range deletion ended, so that the next one can skip what is deleted already. */
  #deleting = NOT_DELETING;
  readonly #index: AttachmentMemory;
  readonly #usage = new UsageIndex();

  /** `index` is told what the entries name. */
  constructor(index: AttachmentMemory) {
    this.#index = index;
  }

  get empty(): boolean {
    return this.#places.length === 0;
  }

  get sealed(): boolean {
    return this.#places.at(-1) === SEAL;
  }

  /** The place of the last message, whether or not a sweep has removed it. */
  get lastSeq(): number {
    return this.#places.length - (this.sealed ? 1 : 0);
  }

  append(seq: number, entries: readonly Entry[]): number | "idTaken" {
    if (this.sealed || seq !== this.#places.length + 1) return 0;
    if (entries.some((entry) => this.#seqs.has(entry.id)) || repeatsId(entries)) return "idTaken";
    if (seq < this.#deleting.next) this.#deleting = NOT_DELETING;
    for (const entry of entries) {
      // Batches are all or nothing, so no reader can meet part of one and nobody needs to look for the rest.
      const stored = frozenEntry(entry);
      this.#places.push(stored);
      this.#seqs.set(entry.id, entry.seq);
      this.#index.note(stored);
      if (entry.usageSums !== undefined) this.#usage.add(entry.seq, entry.usageSums);
    }
    return entries.length;
  }

  seal(): number {
    if (!this.sealed) this.#places.push(SEAL);
    return this.lastSeq;
  }

  tail(): Omit<Tail, "isNamed"> {
    const state = this.sealed ? "sealed" : "open";
    const last = this.entry(this.lastSeq);
    if (last === undefined) return { last: null, state };
    return { last: { seq: last.seq, id: last.id, timestampMicros: last.timestampMicros }, state };
  }

  entry(seq: number): Entry | undefined {
    const place = this.#places[seq - 1];
    return place === SEAL ? undefined : place;
  }

  /** The entries after a place, in their order. */
  *after(seq: number): Generator<Entry> {
    for (let next = seq + 1; next <= this.lastSeq; next++) {
      const entry = this.entry(next);
      if (entry !== undefined) yield entry;
    }
  }

  find(id: string): Entry | undefined {
    const seq = this.#seqs.get(id);
    return seq === undefined ? undefined : this.entry(seq);
  }

  /** Replaces the entry at the same place with the same id, if it is there. */
  replace(entry: Entry): void {
    if (this.entry(entry.seq)?.id !== entry.id) return;
    const stored = frozenEntry(entry);
    this.#index.forget(entry.log, entry.seq);
    this.#index.note(stored);
    this.#places[entry.seq - 1] = stored;
    delete this.#bytes[entry.seq - 1];
  }

  /** How many bytes the bodies in a range take. */
  bodyBytes({ first, last }: Segment): number {
    let bytes = 0;
    for (const place of this.#places.slice(first - 1, last)) {
      if (place !== undefined && place !== SEAL) bytes += place.body.storedBytes;
    }
    return bytes;
  }

  read(first: number, last: number, options: RangeOptions): Range {
    const { descending = false, limit = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = options;
    const step = descending ? -1 : 1;
    const entries: Entry[] = [];
    let bytes = 0;
    for (let seq = descending ? last : first; seq >= first && seq <= last && entries.length < limit; seq += step) {
      const entry = this.entry(seq);
      if (entry === undefined) break;
      if (maxBytes !== Number.POSITIVE_INFINITY) bytes += this.#bytesOf(entry);
      if (bytes > maxBytes && entries.length > 0) return { entries, cut: true };
      entries.push(entry);
    }
    return { entries, cut: false };
  }

  /** The entries with usage in a range, at most `limit` of them. */
  readUsage(first: number, last: number, limit: number): UsageRow[] {
    const rows: UsageRow[] = [];
    for (const { seq } of this.#usage.between(first, last)) {
      if (rows.length === limit) break;
      rows.push(usageRowOf(this.entry(seq) as Entry));
    }
    return rows;
  }

  usageEnds(first: number, last: number): UsageEnds | null {
    const used = this.#usage.between(first, last);
    const [start] = used;
    const end = used.at(-1);
    if (start === undefined || end === undefined) return null;
    const entry = this.entry(start.seq) as Entry;
    return { sessionId: entry.sessionId, first: { ...usageRowOf(entry), sums: start.sums }, last: end.sums };
  }

  seqAtTime(first: number, last: number, micros: number): number | null {
    let low = first;
    let high = last + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const entry = this.entry(middle);
      if (entry === undefined) return null;
      if (entry.timestampMicros < micros) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Deletes at most `limit` places from the end; returns how many. */
  deleteLast(limit: number): number {
    let deleted = 0;
    while (deleted < limit && !this.empty) {
      this.#deletePlace(this.#places.length);
      this.#trim();
      deleted++;
    }
    return deleted;
  }

  /** Deletes at most `limit` places of a range; returns whether there may be more. */
  deleteRange({ first, last }: Segment, limit: number): boolean {
    const resumes = this.#deleting.first === first && this.#deleting.last === last;
    const end = Math.min(last, this.#places.length);
    let deleted = 0;
    let seq = resumes ? this.#deleting.next : Math.max(first, 1);
    for (; seq <= end && deleted < limit; seq++) if (this.#deletePlace(seq)) deleted++;
    this.#trim();
    this.#deleting = seq > end ? NOT_DELETING : { first, last, next: seq };
    return seq <= end;
  }

  /** Everything in the log, in order; for tests that look for leftovers. */
  *entries(): Generator<Entry> {
    for (const place of this.#places) if (place !== undefined && place !== SEAL) yield place;
  }

  #deletePlace(seq: number): boolean {
    const place = this.#places[seq - 1];
    if (place === undefined) return false;
    if (place !== SEAL) {
      this.#seqs.delete(place.id);
      this.#usage.delete(seq);
      this.#index.forget(place.log, seq);
    }
    this.#places[seq - 1] = undefined;
    delete this.#bytes[seq - 1];
    return true;
  }

  /** Removes empty places from the end, so that they are free again. */
  #trim(): void {
    let length = this.#places.length;
    while (length > 0 && this.#places[length - 1] === undefined) length--;
    this.#places.length = length;
    this.#bytes.length = Math.min(this.#bytes.length, length);
  }

  #bytesOf(entry: Entry): number {
    this.#bytes[entry.seq - 1] ??= sizeOf(entry);
    return this.#bytes[entry.seq - 1] as number;
  }
}

/** How much longer a part is as JSON than as protobuf, not counting its content. */
const PART_BYTES = 30;

/**
 * The approximate number of bytes that an entry takes as JSON. The other stores keep it in this form, and count that.
 */
function sizeOf({ id, body }: Entry): number {
  return body.sizes.parts + PART_BYTES * body.parts.length + body.sizes.metadata + body.sizes.usage + id.length;
}

function usageRowOf({ log, seq, timestampMicros, originSessionId, body }: Entry): UsageRow {
  return { log, seq, timestampMicros, originSessionId, usage: body.usage ?? {} };
}

function repeatsId(entries: readonly Entry[]): boolean {
  return entries.length > 1 && new Set(entries.map((entry) => entry.id)).size < entries.length;
}
