import type { Call } from "../../../domain/call.js";
import type { MessageBody } from "../../../domain/message-body.js";
import type { UsageQuery } from "../../../domain/usage-groups.js";
import { toolsOf } from "../../../parts/tools.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, Segment, SessionRecord } from "../log-store.js";
import { countBefore, missing } from "../read/lookup.js";
import { openSegments } from "../read/pieces.js";
import { ownerOf } from "../record-facts.js";
import { Again } from "../retries.js";
import { joinSegments, sliceSegments } from "../segments.js";
import { CallOutcomes, toolName } from "./call-outcomes.js";
import type { GroupTable } from "./group-table.js";
import type { GroupFinder } from "./group-values.js";
import { isListed } from "./session-queue.js";
import { type Adder, isWithin, NOTHING_SPENT, type Spent, type Work } from "./session-work.js";

/** How many messages, of how many bytes, are read at once. */
const MESSAGES_AT_ONCE = 200;
const BYTES_AT_ONCE = 1024 * 1024;
/** How many places of another session's log are looked at at once. */
const PLACES_AT_ONCE = 1000;
/** How often a session is read again of which entries are missing. */
const MOST_MISSES = 3;

/** Counts calls of tools, by the parts of messages. */
export class ToolCounter implements Adder {
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

  async workOf(records: readonly SessionRecord[], _call: Call): Promise<Work[]> {
    return records.map((record) => ({ record, ranges: openSegments(record), table: null }));
  }

  /** Reads the first session alone, because the result of a call may come much later than the call. */
  async add(work: Work[], table: GroupTable, isLate: () => boolean, call: Call): Promise<Spent> {
    const item = work[0] as Work;
    try {
      const spent = await this.#read(item, isLate, call);
      if (isLate() || item.ranges.length > 0) return spent;
      if (item.table !== null) table.addAll(item.table);
      work.shift();
      return { ...spent, sessions: 1 };
    } catch (error) {
      if (!(error instanceof Again)) throw error;
      await this.#readAgain(work, item, call);
      return { ...NOTHING_SPENT, sessions: 1 };
    }
  }

  async #read(item: Work, isLate: () => boolean, call: Call): Promise<Spent> {
    const { calls = new CallOutcomes() } = item;
    const table = item.table ?? this.#newTable();
    const ranges = item.calls === undefined ? await this.#ranges(item.record, call) : item.ranges;
    const [range, ...others] = ranges;
    const places = range && (await this.#ownPlaces(item, range, call));
    if (isLate()) return NOTHING_SPENT;
    Object.assign(item, { calls, table, ranges });
    if (range === undefined) return NOTHING_SPENT;
    if (places !== undefined) {
      item.own = new Set([...(item.own ?? []), ...places.own]);
      item.ranges = [...places.own, ...places.rest, ...others];
      return { ...NOTHING_SPENT, rows: places.count };
    }
    const options = { limit: MESSAGES_AT_ONCE, maxBytes: BYTES_AT_ONCE };
    const { entries } = await this.#context.store.readRange(range.log, range.first, range.last, options, call);
    if (isLate()) return NOTHING_SPENT;
    const last = entries.at(-1);
    if (last === undefined || entries[0]?.seq !== range.first) throw missing(range.log, range.first);
    for (const entry of entries) this.#count(item.record, entry, table, calls);
    item.ranges = last.seq < range.last ? [{ ...range, first: last.seq + 1 }, ...others] : others;
    const { untilMicros } = this.#query;
    if (untilMicros !== undefined && last.timestampMicros >= untilMicros && !calls.hasOpen) item.ranges = [];
    return { rows: entries.length, sessions: 0, bytes: entries.reduce((sum, { body }) => sum + body.storedBytes, 0) };
  }

  /** What a session shows from the time on that counts. */
  async #ranges(record: SessionRecord, call: Call): Promise<readonly Segment[]> {
    const { last } = await this.#context.store.tail(record.log, call);
    const shown = joinSegments(record.segments, [{ log: record.log, first: 1, last: last?.seq ?? 0 }]);
    const { sinceMicros } = this.#query;
    if (sinceMicros === undefined || shown.length === 0) return shown;
    return sliceSegments(shown, await countBefore(this.#context, shown, sinceMicros, call));
  }

  /**
   * Which entries of a log of another session were first written to this one: a fork has none, but costs no more than
   * their number. Undefined for a range whose entries have to be read.
   */
  async #ownPlaces(
    { record, own }: Work,
    range: Segment,
    call: Call,
  ): Promise<{ readonly own: Segment[]; readonly rest: Segment[]; readonly count: number } | undefined> {
    const { log, first, last } = range;
    const uid = ownerOf(log);
    if (uid === record.uid || own?.has(range)) return undefined;
    const after = { log, seq: first - 1, originSessionId: "" };
    const places = await this.#context.store.listOwned(uid, after, PLACES_AT_ONCE, call);
    const inRange = places.filter((place) => place.log === log && place.seq <= last);
    const end = inRange.at(-1)?.seq ?? last;
    const hasRest = inRange.length === places.length && places.length > 0 && end < last;
    return {
      own: inRange
        .filter(({ originSessionId }) => originSessionId === record.sessionId)
        .map(({ seq }) => ({ log, first: seq, last: seq })),
      rest: hasRest ? [{ log, first: end + 1, last }] : [],
      count: places.length,
    };
  }

  #count(record: SessionRecord, entry: Entry, table: GroupTable, calls: CallOutcomes): void {
    const { originSessionId, timestampMicros, body } = entry;
    if (originSessionId !== record.sessionId || !mayHaveTools(body)) return;
    const found = toolsOf(body.parts, body.metadata);
    const { usage = {} } = body;
    const { model } = this.#query;
    const counts = isWithin(this.#query, timestampMicros) && (model === undefined || usage.model === model);
    const groups = this.#finder.in(table, record);
    for (const one of found.calls) {
      calls.tell(one, () => (counts ? groups.find(timestampMicros, usage, toolName(one.name)) : null));
    }
    for (const { callId, hasFailed } of found.results) calls.end(callId, hasFailed);
  }

  /** Reads a session again of which entries are missing. If it has not changed, what is missing is left out. */
  async #readAgain(work: Work[], item: Work, call: Call): Promise<void> {
    const { record } = item;
    const now = await this.#context.store.readRecordByUid(record.uid, call);
    if (now === null || !isListed(this.#context, this.#query, now, call)) {
      work.shift();
      return;
    }
    const misses = (item.misses ?? 0) + 1;
    if (now.revision !== record.revision) {
      work[0] = { record: now, ranges: openSegments(now), table: null };
    } else if (misses < MOST_MISSES) {
      work[0] = { record: now, ranges: openSegments(now), table: null, misses };
    } else {
      const id = JSON.stringify(record.sessionId);
      this.#context.options.onAnomaly(`Calls of tools in session ${id} were not counted: entries are missing`);
      work.shift();
    }
  }
}

/** Every type of a part that can be a call or a result has one of these in it, and so have the fields of metadata. */
export const TOOL_MARKS = ["tool", "call", "function", "langchain", "claude_agent"] as const;

/** Whether decoding a body may find calls or results. Most messages are texts, which need not be decoded. */
function mayHaveTools(body: MessageBody): boolean {
  if (body.isDecoded) return true;
  const { parts, metadata } = body.json;
  const texts = [parts.toBuffer(), ...(metadata === undefined ? [] : [metadata.toBuffer()])];
  return TOOL_MARKS.some((mark) => texts.some((text) => text.includes(mark)));
}
