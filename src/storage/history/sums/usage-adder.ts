import type { Call } from "../../../domain/call.js";
import type { UsageQuery } from "../../../domain/usage-groups.js";
import type { HistoryContext } from "../heads.js";
import type { Segment, SessionRecord, UsageRow } from "../log-store.js";
import { openSegments } from "../read/pieces.js";
import { ownerOf } from "../record-facts.js";
import type { GroupTable } from "./group-table.js";
import type { GroupFinder } from "./group-values.js";
import { type Adder, isWithin, type Spent, type Work } from "./session-work.js";

/** How many rows of usage, and of how many sessions, are read at once. */
const ROWS_AT_ONCE = 1000;
const SESSIONS_AT_ONCE = 100;
/** How many ranges are asked for their ends at once. */
const RANGES_AT_ONCE = 1000;

/** Adds up the usage of messages, by the rows that stores keep beside the bodies. */
export class UsageAdder implements Adder {
  readonly #context: HistoryContext;
  readonly #query: UsageQuery;
  readonly #finder: GroupFinder;
  readonly #newTable: () => GroupTable;

  constructor(context: HistoryContext, query: UsageQuery, finder: GroupFinder, newTable: () => GroupTable) {
    this.#context = context;
    this.#query = query;
    this.#finder = finder;
    this.#newTable = newTable;
  }

  /**
   * Leaves out ranges of the logs of others that hold no usage of the session itself, so that a fork does not cost what
   * its source has.
   */
  async workOf(records: readonly SessionRecord[], call: Call): Promise<Work[]> {
    const work = records.map((record): Work => ({ record, ranges: openSegments(record), table: null }));
    const foreign = work.flatMap(({ record, ranges }) =>
      ranges.filter(({ log }) => ownerOf(log) !== record.uid).map((range) => ({ range, record })),
    );
    const unneeded = new Set<Segment>();
    for (let i = 0; i < foreign.length; i += RANGES_AT_ONCE) {
      const some = foreign.slice(i, i + RANGES_AT_ONCE);
      const ranges = some.map(({ range }) => range);
      const ends = await this.#context.store.readUsageEnds(ranges, call);
      for (const [n, { range, record }] of some.entries()) {
        const end = ends[n] ?? null;
        // The session that owns the log may have had the same id.
        const isOwn = end?.sessionId === record.sessionId || end?.last.foreign.has(record.sessionId);
        if (!isOwn && !end?.last.more) unneeded.add(range);
      }
    }
    if (unneeded.size > 0) {
      for (const item of work) item.ranges = item.ranges.filter((range) => !unneeded.has(range));
    }
    return work;
  }

  async add(work: Work[], table: GroupTable, isLate: () => boolean, call: Call): Promise<Spent> {
    const some = work.slice(0, SESSIONS_AT_ONCE);
    const ranges = some.flatMap((item) => item.ranges);
    const { rows, rest } =
      ranges.length === 0 ? { rows: [], rest: [] } : await this.#context.store.readUsage(ranges, ROWS_AT_ONCE, call);
    const found = rowsOfSessions(rows, some);
    const read = await this.#wholeBatches(found, some, call);
    let covered = ranges.length - rest.length;
    let done = 0;
    for (; done < some.length; done++) {
      const { length } = (some[done] as Work).ranges;
      if (length > covered) break;
      covered -= length;
    }
    const cut = some[done];
    const rowsOfCut = read[done] ?? [];
    const last = found[done]?.at(-1);
    const isBegun = cut !== undefined && (covered > 0 || last !== undefined);
    const left = isBegun ? await this.#leftOf(rest.slice(0, cut.ranges.length - covered), cut, last, call) : [];
    if (isLate()) return { rows: rows.length, sessions: 0, bytes: 0 };
    for (const [i, item] of some.slice(0, done).entries()) {
      this.#addRows(item, item.table ?? table, read[i] ?? []);
      if (item.table !== null) table.addAll(item.table);
    }
    if (isBegun) {
      cut.table ??= this.#newTable();
      this.#addRows(cut, cut.table, rowsOfCut);
      cut.ranges = left;
    }
    work.splice(0, done);
    return { rows: rows.length, sessions: done, bytes: 0 };
  }

  /** Leaves out rows of batches that are not stored completely, where a store may stop half way. */
  async #wholeBatches(read: UsageRow[][], work: readonly Work[], call: Call): Promise<UsageRow[][]> {
    const { store } = this.#context;
    // A store without a clock of its own appends all of a batch or none.
    if (store.knownTimeMs === undefined) return read;
    return Promise.all(
      read.map(async (rows, i) => {
        const { log } = (work[i] as Work).record;
        if (rows.at(-1)?.log !== log) return rows;
        const { last } = await store.tail(log, call);
        return rows.filter((row) => row.log !== log || row.seq <= (last?.seq ?? 0));
      }),
    );
  }

  #addRows({ record }: Work, table: GroupTable, rows: readonly UsageRow[]): void {
    const groups = this.#finder.in(table, record);
    const { model } = this.#query;
    for (const { originSessionId, timestampMicros, usage } of rows) {
      if (originSessionId !== record.sessionId || !isWithin(this.#query, timestampMicros)) continue;
      if (model !== undefined && usage.model !== model) continue;
      const group = groups.find(timestampMicros, usage);
      if (group !== null) table.grow(group.add(usage));
    }
  }

  /** What is left of a session after its last row, without what is too old or too new to count. */
  async #leftOf(
    rest: readonly Segment[],
    { record }: Work,
    last: UsageRow | undefined,
    call: Call,
  ): Promise<readonly Segment[]> {
    const { sinceMicros, untilMicros } = this.#query;
    if (last === undefined) return rest;
    if (untilMicros !== undefined && last.timestampMicros >= untilMicros) return [];
    if (sinceMicros === undefined || last.timestampMicros >= sinceMicros) return rest;
    for (const [i, range] of rest.entries()) {
      const { store } = this.#context;
      const end = range.log === record.log ? ((await store.tail(range.log, call)).last?.seq ?? 0) : range.last;
      if (end < range.first) continue;
      const first = await store.seqAtTime(range.log, range.first, end, sinceMicros, call);
      // Whatever is missing is looked for when the record has been read again.
      if (first === null) return rest;
      if (first <= end) return [{ ...range, first }, ...rest.slice(i + 1)];
    }
    return [];
  }
}

/** The rows of each session. They come in the order of the ranges, and in each range by place. */
function rowsOfSessions(rows: readonly UsageRow[], work: readonly Work[]): UsageRow[][] {
  const found: UsageRow[][] = work.map(() => []);
  const ranges = work.flatMap((item, index) => item.ranges.map((range) => ({ range, index })));
  let at = 0;
  let lastSeq = 0;
  for (const row of rows) {
    for (; ; at++, lastSeq = 0) {
      const range = ranges[at]?.range;
      if (range === undefined) return found;
      if (range.log === row.log && row.seq > lastSeq && row.seq >= range.first && row.seq <= range.last) break;
    }
    lastSeq = row.seq;
    found[ranges[at]?.index ?? 0]?.push(row);
  }
  return found;
}
