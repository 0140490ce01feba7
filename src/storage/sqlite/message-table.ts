import type { Entry, Range, RangeOptions, Segment, Tail } from "../history/log-store.js";
import { rowToEntry, sealToRow } from "./rows.js";
import { type Bound, IDS_AT_ONCE, type Row, type Statements } from "./statements.js";
import { fromColumn, toColumn } from "./text-column.js";

/** A deletion reads what it frees: so much in one chunk keeps the event loop going. */
const DELETE_BYTES = 16 * 1024 * 1024;
const NOTHING: Range = { entries: [], cut: false };

/** Logs and their entries. Nothing here waits; changes are made inside a transaction that the caller holds. */
export class MessageTable {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  /** Stores all rows (made by `entryToRow`) or none. */
  append(log: string, seq: number, rows: readonly Bound[][]): number | "idTaken" {
    const column = toColumn(log);
    const last = this.#sql.lastPlace.get(column);
    const isFree = last === undefined ? seq === 1 : last[0] === seq - 1 && last[1] !== null;
    if (!isFree) return 0;
    for (const [i, row] of rows.entries()) {
      // The place is free, so it is the id that stands in the way.
      if (this.#sql.insertEntry.run(...row) === 1) continue;
      if (i > 0) this.#sql.deleteRange.run(column, seq, seq + i - 1);
      return "idTaken";
    }
    return rows.length;
  }

  seal(log: string): number {
    const column = toColumn(log);
    const [seq, id] = (this.#sql.lastPlace.get(column) ?? [0, ""]) as [number, string | null];
    if (id === null) return seq - 1;
    this.#sql.insertEntry.run(...sealToRow(column, seq + 1));
    return seq;
  }

  tail(log: string): Tail {
    const [end, before] = this.#sql.lastPlaces.all(toColumn(log)) as [number, string | null, number][];
    if (end === undefined) return { last: null, state: "open" };
    if (end[1] !== null) return { last: lastOf(end), state: "open" };
    return { last: before?.[0] === end[0] - 1 ? lastOf(before) : null, state: "sealed" };
  }

  read(log: string, first: number, last: number, options: RangeOptions): Range {
    const { descending = false, limit, maxBytes } = options;
    const places = Math.min(last - first + 1, limit ?? Number.POSITIVE_INFINITY);
    if (places <= 0) return NOTHING;
    const column = toColumn(log);
    const near = descending ? last : first;
    const bounds = (count: number): [number, number] =>
      descending ? [near - count + 1, near] : [near, near + count - 1];
    const count = maxBytes === undefined ? places : this.#fitting(column, bounds(places), descending, maxBytes);
    const rows = (descending ? this.#sql.readDown : this.#sql.readUp).all(column, ...bounds(count));
    const entries = contiguous(rows, near, descending ? -1 : 1);
    return { entries, cut: count < places && entries.length === count };
  }

  seqAtTime(log: string, first: number, last: number, micros: number): number {
    const column = toColumn(log);
    let low = first;
    let high = last + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [time] = (this.#sql.timeAt.get(column, middle) ?? [micros]) as [number];
      if (time < micros) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Entries of one log with these ids, each named once. */
  find(log: string, ids: readonly string[]): Entry[] {
    const column = toColumn(log);
    const found: Row[] = [];
    for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
      const some = ids.slice(start, start + IDS_AT_ONCE).map(toColumn);
      if (some.length === 1) found.push(...this.#sql.findOne.all(column, ...some));
      else found.push(...this.#sql.findMany.all(column, ...padded(some)));
    }
    return found.map(rowToEntry);
  }

  /** Deletes at most `limit` places; whether there may be more. */
  delete(target: { readonly uid: string } | Segment, limit: number): boolean {
    const places = this.#places(target, limit) as [string, number, number][];
    let bytes = 0;
    let deleted = 0;
    while (deleted < places.length && bytes < DELETE_BYTES) {
      const [log, first] = places[deleted] as [string, number, number];
      let last = first;
      for (; deleted < places.length && bytes < DELETE_BYTES; deleted++) {
        const [sameLog, seq, size] = places[deleted] as [string, number, number];
        if (sameLog !== log) break;
        last = seq;
        bytes += size;
      }
      this.#sql.deleteRange.run(log, first, last);
    }
    return deleted < places.length || places.length === limit;
  }

  /** The first uid, at or behind the one given, that owns a place. */
  nextOwner(from: string): string | undefined {
    const row = this.#sql.nextLog.get(toColumn(from));
    return row === undefined ? undefined : ownerOf(fromColumn(row[0] as string));
  }

  #places(target: { readonly uid: string } | Segment, limit: number): Row[] {
    if (!("uid" in target)) {
      return this.#sql.placesOfRange.all(toColumn(target.log), target.first, target.last, limit);
    }
    const uid = toColumn(target.uid);
    return this.#sql.placesOfOwner.all(`${uid}.`, `${uid}/`, limit);
  }

  /** How many entries of a range fit into `maxBytes`, counted from the near end; one at least. */
  #fitting(log: string, [first, last]: [number, number], descending: boolean, maxBytes: number): number {
    const places = last - first + 1;
    const [total] = (this.#sql.sizeOfRange.get(log, first, last) ?? [null]) as [number | null];
    if ((total ?? 0) <= maxBytes) return places;
    const sizes = (descending ? this.#sql.sizesDown : this.#sql.sizesUp).all(log, first, last, places);
    let bytes = 0;
    const over = sizes.findIndex(([size]) => {
      bytes += size as number;
      return bytes > maxBytes;
    });
    return over < 0 ? places : Math.max(1, over);
  }
}

function lastOf([seq, id, timestampMicros]: [number, string | null, number]): NonNullable<Tail["last"]> {
  return { seq, id: fromColumn(id as string), timestampMicros };
}

/** Entries up to the first gap or seal. */
function contiguous(rows: readonly Row[], near: number, step: 1 | -1): Entry[] {
  const entries: Entry[] = [];
  for (const row of rows) {
    if (row[1] !== near + step * entries.length || row[2] === null) break;
    entries.push(rowToEntry(row));
  }
  return entries;
}

function padded(ids: readonly string[]): string[] {
  return [...ids, ...Array(IDS_AT_ONCE - ids.length).fill(ids[0])];
}

/** Logs are named `uid.n`. */
function ownerOf(log: string): string {
  const dot = log.indexOf(".");
  return dot < 0 ? log : log.slice(0, dot);
}
