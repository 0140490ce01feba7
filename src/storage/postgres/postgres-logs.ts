import type { Call } from "../../domain/call.js";
import { isSameMessage, type MessageIdentity } from "../../domain/erasure.js";
import { NOTHING_KNOWN } from "../../domain/usage-text.js";
import type {
  Entry,
  OwnedPlace,
  Range,
  RangeOptions,
  Segment,
  SessionRecord,
  Tail,
  UsageEnds,
  UsageRow,
  UsageRows,
} from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { runningOfText } from "../history/running-usage.js";
import { restOf } from "../history/usage-rows.js";
import { fromColumn, toColumn } from "../text-column.js";
import { BUSY, ID_TAKEN, UNNAMED } from "./functions.js";
import {
  bodyValues,
  columnsOf,
  type EntryValues,
  entryValues,
  splitLog,
  toEntry,
  toUsageRow,
  type UsageColumns,
} from "./rows.js";
import { newWrite, type PostgresShared } from "./shared.js";
import type { Row, Value } from "./values.js";
import { wordsColumn } from "./words-column.js";

const MOST = Number.MAX_SAFE_INTEGER;
/** The most bytes of a message that shares a statement with others. Longer ones would make them wait. */
const MOST_SHARED_BYTES = 16 * 1024;
/** How many owners one statement looks at. */
const OWNERS_AT_ONCE = 1000;
/** How many ranges one statement reads usage of. */
const RANGES_AT_ONCE = 16;

/** The logs that the records of one namespace name. */
export class PostgresLogs {
  readonly #shared: PostgresShared;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(shared: PostgresShared, namespace: string) {
    this.#shared = shared;
    this.#namespace = toColumn(namespace);
  }

  async append(
    log: string,
    seq: number,
    entries: readonly Entry[],
    call?: Call,
  ): Promise<number | "idTaken" | "unnamed"> {
    if (entries.length === 0) return 0;
    const { pool, turns, changes } = this.#shared;
    const uid = ownerOf(log);
    const place = splitLog(log);
    const write = newWrite();
    const rows = entries.map((entry) => entryValues(entry, this.#wordsOf(entry)));
    const head = [...place, this.#namespace, write, seq];
    const stored = await turns.take(uid, call, (limited) =>
      pool.settle(limited, async (isRepeat) => {
        const answer = await this.#send(head, rows, isRepeat, limited);
        if (!isRepeat || answer === rows.length) return answer;
        const [at] = await pool.run(this.#shared.sql.writeAt, [...place, seq, this.#namespace], limited);
        return at?.[0] === write ? rows.length : answer;
      }),
    );
    if (stored === UNNAMED) return "unnamed";
    if (stored === ID_TAKEN) return "idTaken";
    if (stored > 0) changes.tell(uid);
    return stored;
  }

  /** A single message is first sent together with those of other sessions. */
  async #send(head: readonly Value[], rows: readonly EntryValues[], isRepeat: boolean, call: Call): Promise<number> {
    const { pool, sql, appends } = this.#shared;
    const [one] = rows as [EntryValues];
    if (rows.length > 1) {
      const columns = one.map((_, i) => rows.map((row) => row[i] as EntryValues[number]));
      return numberOf(await pool.run(sql.appendMany, [...head, ...columns], call));
    }
    const values = [...head, ...one];
    const [, , size] = one;
    const answer = isRepeat || size > MOST_SHARED_BYTES ? BUSY : await appends.append(values, call);
    return answer === BUSY ? numberOf(await pool.run(sql.appendOne, [...values, true], call)) : answer;
  }

  async seal(log: string, call?: Call): Promise<number | "unnamed"> {
    const { pool, sql, turns, changes } = this.#shared;
    const uid = ownerOf(log);
    const values = [...splitLog(log), this.#namespace, newWrite()];
    const count = await turns.take(uid, call, (limited) =>
      pool.settle(limited, async () => numberOf(await pool.run(sql.seal, values, limited))),
    );
    if (count === UNNAMED) return "unnamed";
    changes.tell(uid);
    return count;
  }

  async readRange(
    log: string,
    first: number,
    last: number,
    { descending = false, limit = MOST, maxBytes = MOST }: RangeOptions = {},
    call?: Call,
  ): Promise<Range> {
    const { pool, sql } = this.#shared;
    const places = Math.min(last - first + 1, limit);
    if (places <= 0) return { entries: [], cut: false };
    const near = descending ? last : first;
    const step = descending ? -1 : 1;
    const far = near + step * (places - 1);
    const bounds = [Math.min(near, far), Math.min(Math.max(near, far), MOST)];
    const values = [...splitLog(log), ...bounds, places, Math.min(maxBytes, MOST)];
    const rows = await pool.read(descending ? sql.rangeDown : sql.rangeUp, values, call);
    const entries: Entry[] = [];
    for (const row of rows) {
      if (row[2] !== near + step * entries.length) break;
      if (row[8] === null) return { entries, cut: true };
      entries.push(toEntry(row));
    }
    return { entries, cut: false };
  }

  async readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    const { pool, sql } = this.#shared;
    const rows = await pool.read(sql.readLast, columnsOf(logs), call);
    const found = new Map(rows.map(([i, ...row]) => [i, toEntry(row)]));
    return logs.map((_, i) => found.get(i + 1) ?? null);
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    const { pool, sql } = this.#shared;
    const [end, before] = (await pool.read(sql.tail, [...splitLog(log), this.#namespace], call)) as TailRow[];
    const [isNamed, seq, id] = end as TailRow;
    if (seq === null) return { last: null, state: "open", isNamed };
    if (id !== null) return { last: lastOf(end as TailRow), state: "open", isNamed };
    // Rule: tail-first-gap.
    return { last: before?.[1] === seq - 1 ? lastOf(before) : null, state: "sealed", isNamed };
  }

  async readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    const { pool, sql } = this.#shared;
    const found: UsageRow[] = [];
    for (let from = 0; from < ranges.length; from += RANGES_AT_ONCE) {
      const some = ranges.slice(from, from + RANGES_AT_ONCE);
      const most = limit - found.length;
      const rows = await pool.read(sql.usageRows, [...rangeColumns(some), most], call);
      found.push(...rows.map(([i, ...row]) => toUsageRow(logAt(some, i), row as unknown as UsageColumns)));
      if (rows.length === most) {
        const last = from + (rows.at(-1)?.[0] as number) - 1;
        return { rows: found, rest: restOf(ranges, last, found.at(-1)) };
      }
    }
    return { rows: found, rest: [] };
  }

  async readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    const { pool, sql } = this.#shared;
    const ends: (UsageEnds | null)[] = ranges.map(() => null);
    for (const [i, ...row] of await pool.read(sql.usageEnds, rangeColumns(ranges), call)) {
      const [sessionId, sums, last] = row.slice(4) as [string, string, string];
      const first = { ...toUsageRow(logAt(ranges, i), row as unknown as UsageColumns), sums: runningOfText(sums) };
      ends[(i as number) - 1] = { sessionId: fromColumn(sessionId), first, last: runningOfText(last) };
    }
    return ends;
  }

  async seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    if (first > last) return last + 1;
    const { pool, sql } = this.#shared;
    const [row] = await pool.read(sql.seqAtTime, [...splitLog(log), first, last, micros], call);
    return row === undefined ? null : (row[0] as number);
  }

  async findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    const { pool, sql } = this.#shared;
    const values = [...columnsOf([...new Set(logs)]), [...new Set(ids)].map(toColumn)];
    return (await pool.read(sql.findById, values, call)).map(toEntry);
  }

  async findCopies(
    owners: readonly Pick<SessionRecord, "uid">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]> {
    const uids = owners.map(({ uid }) => uid);
    return (await this.findOwned(uids, message.id, call)).filter((entry) => isSameMessage(entry, message));
  }

  async findOwned(uids: readonly string[], id: string, call?: Call): Promise<readonly Entry[]> {
    const { pool, sql } = this.#shared;
    return (await pool.read(sql.findOwned, [uids.map(toColumn), toColumn(id)], call)).map(toEntry);
  }

  async listOwned(
    uid: string,
    after: OwnedPlace | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly OwnedPlace[]> {
    const { pool, sql } = this.#shared;
    const [owner, log] = after === undefined ? [toColumn(uid), ""] : splitLog(after.log);
    const rows = await pool.read(sql.listOwned, [owner, log, after?.seq ?? 0, limit], call);
    return (rows as unknown as readonly [string, number, string][]).map(([log, seq, origin]) => ({
      log: uid + fromColumn(log),
      seq,
      originSessionId: fromColumn(origin),
    }));
  }

  async overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    const { pool, sql } = this.#shared;
    const rows = entries.map((entry) => ({ ...bodyValues(entry), words: this.#wordsOf(entry) }));
    const values = [
      ...columnsOf(entries.map(({ log }) => log)),
      entries.map(({ seq }) => seq),
      entries.map(({ id }) => toColumn(id)),
      rows.map(({ size }) => size),
      rows.map(({ body }) => body),
      rows.map(({ words }) => words),
      rows.map(({ named }) => named),
      entries.map(({ body }) => body.usageText ?? NOTHING_KNOWN),
    ];
    await pool.settle(call, () => pool.run(sql.overwrite, values, call));
  }

  async entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    const { pool, sql } = this.#shared;
    return numberOf(await pool.read(sql.bodyBytes, rangeColumns(ranges), call));
  }

  async deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    const { pool, sql } = this.#shared;
    const isOwner = "uid" in target;
    const values = isOwner
      ? [toColumn(target.uid), limit]
      : [...splitLog(target.log), target.first, Math.min(target.last, MOST), limit];
    const work = async () => numberOf(await pool.run(isOwner ? sql.deleteOwned : sql.deleteRange, values, call));
    return (await pool.settle(call, work)) === limit;
  }

  async listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    const { pool, sql } = this.#shared;
    const orphans: string[] = [];
    for (let after = ""; orphans.length < limit; ) {
      const rows = await pool.read(sql.owners, [after, OWNERS_AT_ONCE], call);
      for (const [uid, hasRecord] of rows) {
        after = uid as string;
        if (!hasRecord && orphans.length < limit) orphans.push(fromColumn(after));
      }
      if (rows.length < OWNERS_AT_ONCE) break;
    }
    return orphans;
  }

  #wordsOf(entry: Entry): string | null {
    const { indexed } = this.#shared;
    return indexed ? wordsColumn(this.#namespace, entry, indexed) : null;
  }
}

/** The columns of ranges, as statements take them. */
function rangeColumns(ranges: readonly Segment[]): Value[] {
  return [
    ...columnsOf(ranges.map(({ log }) => log)),
    ranges.map(({ first }) => first),
    ranges.map(({ last }) => Math.min(last, MOST)),
  ];
}

/** The log of the range with a number. */
function logAt(ranges: readonly Segment[], i: Row[number] | undefined): string {
  return ranges[(i as number) - 1]?.log ?? "";
}

type TailRow = readonly [boolean, number | null, string | null, number];

function lastOf([, seq, id, timestampMicros]: TailRow): NonNullable<Tail["last"]> {
  return { seq: seq as number, id: fromColumn(id as string), timestampMicros };
}

function numberOf([row]: readonly Row[]): number {
  return row?.[0] as number;
}
