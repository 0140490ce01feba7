import type { UsageValues } from "../../domain/usage-text.js";
import type {
  Entry,
  OwnedPlace,
  Range,
  RangeOptions,
  Segment,
  Tail,
  UsageEnds,
  UsageRow,
  UsageRows,
} from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { runningOfText } from "../history/running-usage.js";
import { restOf } from "../history/usage-rows.js";
import { fromColumn, toColumn } from "../text-column.js";
import { IDS_AT_ONCE } from "./attachment-sql.js";
import { bodyToRow, type PageRow, pageToEntries, rowToEntry, sealToRow, toUsageRow } from "./rows.js";
import type { Bound, Row, Statements } from "./statements.js";

/** A deletion reads what it frees; chunks of this size keep the event loop responsive. */
const DELETE_BYTES = 16 * 1024 * 1024;
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const NOTHING: Range = { entries: [], cut: false };

/**
 * Logs and their entries. All methods are synchronous; changes must be made inside a transaction that the caller holds.
 */
export class MessageTable {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  /**
   * Stores all rows (made by `entryToRow`) or none. A caller that knows it passes `lastPlace`, as the method of that
   * name returns it.
   */
  append(log: string, seq: number, rows: readonly Bound[][], lastPlace = this.lastPlace(log)): number | "idTaken" {
    if (lastPlace !== seq - 1) return 0;
    const column = toColumn(log);
    for (const [i, row] of rows.entries()) {
      // The place is free, so the id must be taken.
      if (this.#sql.insertEntry.run(...row) === 1) continue;
      if (i > 0) this.#sql.deleteRange.run(column, seq, seq + i - 1);
      return "idTaken";
    }
    return rows.length;
  }

  seal(log: string): number {
    const last = this.lastPlace(log);
    if (last < 0) return -last - 1;
    this.#sql.insertEntry.run(...sealToRow(toColumn(log), last + 1));
    return last;
  }

  /** The last place of the log: 0 when the log is empty, negative when a seal is there. */
  lastPlace(log: string): number {
    const row = this.#sql.lastPlace.get(toColumn(log));
    return row === undefined ? 0 : (row[0] as number);
  }

  /** How many bytes the bodies in a range take. */
  bodyBytes({ log, first, last }: Segment): number {
    return this.#sql.bodyBytes.get(toColumn(log), first, last)?.[0] as number;
  }

  /**
   * The end of a log. `isNamed` is true only if the log is the open log of a record; the caller has to find out whether
   * a record names it otherwise.
   */
  tail(log: string, namespace: string): Tail {
    const [end, before] = this.#sql.tail.all(toColumn(log), toColumn(ownerOf(log)), namespace) as TailColumns[];
    if (end === undefined) return { last: null, state: "open", isNamed: false };
    const isNamed = end[3] === 1;
    if (end[1] !== null) return { last: lastOf(end), state: "open", isNamed };
    // Rule: tail-first-gap.
    return { last: before?.[0] === end[0] - 1 ? lastOf(before) : null, state: "sealed", isNamed };
  }

  /** The last message of the log. */
  last(log: string): Entry | null {
    const last = this.lastPlace(log);
    const seq = last < 0 ? -last - 1 : last;
    return seq === 0 ? null : (this.read(log, seq, seq, {}).entries[0] ?? null);
  }

  read(log: string, first: number, last: number, options: RangeOptions): Range {
    const { descending = false, limit, maxBytes } = options;
    const places = Math.min(last - first + 1, limit ?? Number.POSITIVE_INFINITY);
    if (places <= 0) return NOTHING;
    const column = toColumn(log);
    const near = descending ? last : first;
    const bounds = (count: number): [number, number] =>
      descending ? [near - count + 1, near] : [near, near + count - 1];
    // If no message exceeds its share, all of them fit.
    const share = maxBytes === undefined ? NO_LIMIT : Math.floor(maxBytes / places);
    let page = this.#page(column, bounds(places), share);
    let count = places;
    if (page[0] !== null && page[0] > share) {
      count = this.#fitting(column, bounds(places), descending, maxBytes ?? NO_LIMIT);
      page = this.#page(column, bounds(count), NO_LIMIT);
    }
    if (page[0] === null) return NOTHING;
    const entries = contiguous(pageToEntries(log, page[1], page[2]), near, descending ? -1 : 1);
    return { entries, cut: count < places && entries.length === count };
  }

  /** The entries with usage in these ranges, at most `limit` of them. */
  readUsage(ranges: readonly Segment[], limit: number): UsageRows {
    const given = JSON.stringify(ranges.map(({ log, first, last }) => [toColumn(log), first, last]));
    const [text] = this.#sql.usageRows.get(given, limit) as [Buffer];
    const [of, seqs, times, origins, usages] = JSON.parse(text.toString()) as UsageLists;
    let before = { range: -1, seq: 0 };
    const rows = of.map((range, i): UsageRow => {
      const seq = seqs[i] as number;
      const isNext = range > before.range || (range === before.range && seq > before.seq);
      if (!isNext) throw new Error("Rows of usage are not in order");
      before = { range, seq };
      const { log } = ranges[range] as Segment;
      return toUsageRow(log, [seq, times[i] as number, origins[i] as string, usages[i] as UsageValues]);
    });
    return { rows, rest: rows.length < limit ? [] : restOf(ranges, of.at(-1) as number, rows.at(-1)) };
  }

  usageEnds({ log, first, last }: Segment): UsageEnds | null {
    const range = [toColumn(log), first, last] as const;
    const start = this.#sql.firstUsage.get(...range) as unknown as FirstUsage | undefined;
    if (start === undefined) return null;
    const [seq, time, origin, sessionId, usage, sums] = start;
    const [end] = this.#sql.lastUsage.get(...range) as unknown as [string];
    return {
      sessionId: fromColumn(sessionId),
      first: { ...toUsageRow(log, [seq, time, origin ?? sessionId, JSON.parse(usage)]), sums: runningOfText(sums) },
      last: runningOfText(end),
    };
  }

  seqAtTime(log: string, first: number, last: number, micros: number): number | null {
    const column = toColumn(log);
    let low = first;
    let high = last + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = this.#sql.timeAt.get(column, middle);
      if (row === undefined) return null;
      if ((row[0] as number) < micros) low = middle + 1;
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

  /** Entries with this id in any log of an owner. */
  findOwned(uid: string, id: string): Entry[] {
    const owner = toColumn(uid);
    const found: Row[] = [];
    for (let after = `${owner}.`; ; ) {
      const [log] = (this.#sql.logAfter.get(after, `${owner}/`) ?? []) as [string?];
      if (log === undefined) return found.map(rowToEntry);
      found.push(...this.#sql.findOne.all(log, toColumn(id)));
      after = log;
    }
  }

  /** Places of entries in the logs of an owner, after a place. */
  listOwned(uid: string, after: OwnedPlace | undefined, limit: number): OwnedPlace[] {
    const owner = toColumn(uid);
    const [log, seq] = after === undefined ? [`${owner}.`, 0] : [toColumn(after.log), after.seq];
    const rows = this.#sql.entriesOfOwner.all(log, seq, `${owner}/`, limit) as OwnedColumns[];
    return rows.map(([log, seq, session, origin]) => ({
      log: fromColumn(log),
      seq,
      originSessionId: fromColumn(origin ?? session),
    }));
  }

  /** Replaces parts and metadata of the entry with this id at this place; returns whether it is there. */
  overwrite(entry: Entry): boolean {
    return this.#sql.updateBody.run(...bodyToRow(entry)) === 1;
  }

  /** Deletes at most `limit` places, and what they name; returns whether there may be more. */
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
      this.#sql.deleteNamings.run(log, first, last);
    }
    return deleted < places.length || places.length === limit;
  }

  /** The first uid at or after the given one that owns a place. */
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

  #page(log: string, [first, last]: readonly [number, number], mostBytes: number): PageRow {
    return this.#sql.readPage.get(log, first, last, mostBytes) as unknown as PageRow;
  }

  /** How many entries of a range fit into `maxBytes`, counted from where the read begins; at least one. */
  #fitting(log: string, [first, last]: [number, number], descending: boolean, maxBytes: number): number {
    const places = last - first + 1;
    const sizes = (descending ? this.#sql.sizesDown : this.#sql.sizesUp).all(log, first, last, places);
    let bytes = 0;
    const over = sizes.findIndex(([size]) => {
      bytes += size as number;
      return bytes > maxBytes;
    });
    return over < 0 ? places : Math.max(1, over);
  }
}

/** What `usageRows` returns. */
type UsageLists = readonly [
  of: readonly number[],
  seqs: readonly number[],
  times: readonly number[],
  origins: readonly string[],
  usages: readonly UsageValues[],
];
/** What `firstUsage` returns. */
type FirstUsage = readonly [
  seq: number,
  timestampMicros: number,
  origin: string | null,
  sessionId: string,
  usage: string,
  sums: string,
];

/** The columns that `tail` returns. */
type TailColumns = readonly [seq: number, id: string | null, timestampMicros: number, isOpenLog: number];

type OwnedColumns = readonly [log: string, seq: number, sessionId: string, origin: string | null];

function lastOf([seq, id, timestampMicros]: TailColumns): NonNullable<Tail["last"]> {
  return { seq, id: fromColumn(id as string), timestampMicros };
}

/** Of entries sorted by place, those from `near` on, in the direction of `step`, up to the first gap. */
function contiguous(entries: Entry[], near: number, step: 1 | -1): Entry[] {
  if (step < 0) entries.reverse();
  const end = entries.findIndex(({ seq }, i) => seq !== near + step * i);
  return end < 0 ? entries : entries.slice(0, end);
}

function padded(ids: readonly string[]): string[] {
  return [...ids, ...Array(IDS_AT_ONCE - ids.length).fill(ids[0])];
}
