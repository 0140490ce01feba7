import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import { blockerOf, LATE_MS } from "../history/blocked-uid.js";
import type { Newest, NewestOptions, NextRecord, SessionRecord, Usage, UsageFilter } from "../history/log-store.js";
import { fromColumn, toColumn } from "../text-column.js";
import { takenKey } from "./postgres-errors.js";
import { listingValues, RECORD_COLUMNS, RECORD_FIELDS, recordValues, toEntry, toRecord } from "./rows.js";
import { newWrite, type PostgresShared } from "./shared.js";
import type { Row, Value } from "./values.js";

const ENTRY_COLUMNS = 10;

/** The records of one namespace. */
export class PostgresRecords {
  readonly #shared: PostgresShared;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(shared: PostgresShared, namespace: string) {
    this.#shared = shared;
    this.#namespace = toColumn(namespace);
  }

  async create(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    const { pool, sql, changes } = this.#shared;
    const scope = [toColumn(record.uid), this.#namespace];
    const values = [...scope, ...recordValues(record, newWrite()), bytesOf(record), ...listingValues(record)];
    const blockedBy = newWrite();
    const blocker = [...scope, ...blockerValues(record, blockedBy)];
    const sentAtMs = performance.now();
    const outcome = await this.#inTurn(record.uid, call, async (limited) => {
      const first = await pool.settle(limited, async (isRepeat) => {
        // Rule: repeated-create-unknown.
        if (isRepeat) return this.#block(blocker, blockedBy, sentAtMs, limited);
        if (countOf(await pool.run(sql.create, values, limited)) === 1) return "created";
        return (await this.readByUid(record.uid, limited)) === null ? "exists" : "created";
      });
      return first === "blocked" ? this.#unblock(scope, blockedBy, record, limited) : first;
    });
    if (outcome === "unknown") throw unknown(record, "created");
    if (outcome === "created") changes.tell(record.uid);
    return outcome;
  }

  async read(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    const { pool, sql } = this.#shared;
    return recordOf(await pool.read(sql.byId, [this.#namespace, toColumn(sessionId)], call));
  }

  async readByUid(uid: string, call?: Call): Promise<SessionRecord | null> {
    const { pool, sql } = this.#shared;
    return recordOf(await pool.read(sql.byUid, [toColumn(uid), this.#namespace], call));
  }

  async readNewest(sessionId: string, { limit, maxBytes }: NewestOptions, call?: Call): Promise<Newest | null> {
    const { pool, sql } = this.#shared;
    const most = Math.min(maxBytes, Number.MAX_SAFE_INTEGER);
    const rows = await pool.read(sql.newest, [this.#namespace, toColumn(sessionId), limit, most], call);
    const [end, ...messages] = rows;
    if (end === undefined) return null;
    const [, , , seq, id, time] = end as EndColumns;
    const last = id === null ? null : { seq: lastOf(seq), id: fromColumn(id), timestampMicros: time as number };
    return {
      record: toRecord(end.slice(ENTRY_COLUMNS, ENTRY_COLUMNS + RECORD_COLUMNS)),
      end: { last, state: seq !== null && seq < 0 ? "sealed" : "open" },
      messages: {
        entries: messages.filter(([kind]) => kind === 1).map((row) => toEntry(row.slice(1, ENTRY_COLUMNS))),
        cut: messages.at(-1)?.[0] === 2,
      },
    };
  }

  async raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    const { pool, sql, turns } = this.#shared;
    const values = [this.#namespace, toColumn(sessionId)];
    // Its uid is not known yet, and no uid has U+0000.
    return turns.take(`\u0000${values.join("\u0000")}`, call, async (limited) =>
      recordOf(await pool.writeOnce(sql.raiseForks, values, limited)),
    );
  }

  async addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean> {
    const { pool, sql } = this.#shared;
    const values = [toColumn(uid), this.#namespace, delta];
    const work = async (limited: Call) => (await pool.writeOnce(sql.addFork, values, limited)).length === 1;
    return this.#inTurn(uid, call, work);
  }

  /** The numbers are added, or with `sets` they replace the stored ones. */
  async countBytes(bytes: ReadonlyMap<string, number>, sets: boolean, call?: Call): Promise<void> {
    if (bytes.size === 0) return;
    const { pool, sql } = this.#shared;
    const values = [this.#namespace, [...bytes.keys()].map(toColumn), [...bytes.values()], sets];
    if (sets) await pool.settle(call, () => pool.run(sql.countBytes, values, call));
    else await pool.writeOnce(sql.countBytes, values, call);
  }

  async usage({ owner, key }: UsageFilter, call?: Call): Promise<Usage> {
    const { pool, sql } = this.#shared;
    const rows = () => {
      if (owner !== undefined) return pool.read(sql.usageOfOwner, [this.#namespace, toColumn(owner)], call);
      if (key !== undefined) return pool.read(sql.usageOfKey, [this.#namespace, toColumn(key)], call);
      return pool.read(sql.usage, [this.#namespace], call);
    };
    const [[sessions, counted, sum]] = (await rows()) as [[number, number, number]];
    return { sessions, bytes: sum, uncounted: sessions - counted };
  }

  async replace(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    const { pool, sql, changes } = this.#shared;
    const write = newWrite();
    const scope = [toColumn(record.uid), this.#namespace];
    const values = [...scope, ifRevision, ...recordValues(record, write), ...listingValues(record)];
    const replaced = await this.#inTurn(record.uid, call, (limited) =>
      pool.settle(limited, async (isRepeat) => {
        // Rule: compare-and-set.
        const after = recordOf(await pool.run(sql.replace, values, limited));
        if (after !== null || !isRepeat) return after;
        return this.#outcomeOf(record, ifRevision, write, limited);
      }),
    );
    if (replaced === "unknown") throw unknown(record, "changed");
    if (replaced !== null) changes.tell(record.uid);
    return replaced;
  }

  async publish(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone"> {
    const { pool, sql, changes } = this.#shared;
    const scope = [toColumn(record.uid), this.#namespace];
    const values = [...scope, null, ...recordValues(record, newWrite()), ...listingValues(record)];
    const outcome = await this.#inTurn(record.uid, call, (limited) =>
      pool.settle(limited, async (isRepeat) => {
        try {
          if (recordOf(await pool.run(sql.publish, values, limited)) !== null) return "published";
        } catch (error) {
          if (takenKey(error) === null) throw error;
          // An earlier send may still arrive, once the other session is deleted.
          return isRepeat ? "unknown" : "exists";
        }
        const [stored] = await pool.run(sql.writeOf, scope, limited);
        if (stored && !toRecord(stored.slice(1)).deleted) return "published";
        // After an unknown outcome it may have been published and deleted since, and forks may name its messages.
        return isRepeat ? "unknown" : "gone";
      }),
    );
    if (outcome === "unknown") throw unknown(record, "restored");
    if (outcome === "published") changes.tell(record.uid);
    return outcome;
  }

  async revive(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | "exists" | null> {
    const { pool, sql, changes } = this.#shared;
    const write = newWrite();
    const scope = [toColumn(record.uid), this.#namespace];
    const values = [...scope, ifRevision, ...recordValues(record, write), ...listingValues(record)];
    const revived = await this.#inTurn(record.uid, call, (limited) =>
      pool.settle(limited, async (isRepeat) => {
        try {
          const after = recordOf(await pool.run(sql.replace, values, limited));
          if (after !== null || !isRepeat) return after;
        } catch (error) {
          if (takenKey(error) === null) throw error;
          // An earlier send may still arrive, once the other session is deleted.
          return isRepeat ? "unknown" : "exists";
        }
        return this.#outcomeOf(record, ifRevision, write, limited);
      }),
    );
    if (revived === "unknown") throw unknown(record, "brought back");
    if (revived !== null && revived !== "exists") changes.tell(record.uid);
    return revived;
  }

  async delete(uid: string, call?: Call): Promise<boolean> {
    const { pool, sql } = this.#shared;
    const values = [toColumn(uid), this.#namespace];
    const work = async (limited: Call) => (await pool.writeOnce(sql.deleteRecord, values, limited)).length === 1;
    return this.#inTurn(uid, call, work);
  }

  /** What has become of a replacement whose answer was lost. */
  async #outcomeOf(
    { uid }: NextRecord,
    ifRevision: number,
    write: number,
    call?: Call,
  ): Promise<SessionRecord | "unknown" | null> {
    const { pool, sql } = this.#shared;
    const [stored] = await pool.run(sql.writeOf, [toColumn(uid), this.#namespace], call);
    const found = stored && toRecord(stored.slice(1));
    if (stored?.[0] === write) return found as SessionRecord;
    return found?.revision === ifRevision + 1 ? null : "unknown";
  }

  #inTurn<T>(uid: string, call: Call | undefined, work: (limited: Call) => Promise<T>): Promise<T> {
    return this.#shared.turns.take(uid, call, work);
  }

  /**
   * Blocks the uid of a record whose first send has an unknown outcome. `created`: the record is there. `blocked`: the
   * first send has not been carried out and never will be. `unknown`: the record may have been there, and may have been
   * deleted and swept since. In that case the `forks` of its sources no longer count this session.
   */
  async #block(
    blocker: readonly Value[],
    blockedBy: number,
    sentAtMs: number,
    call?: Call,
  ): Promise<"created" | "blocked" | "unknown"> {
    const { pool, sql } = this.#shared;
    const [found] = await pool.run(sql.block, blocker, call);
    const [isBlocked, write] = found as Row;
    if (!isBlocked) return "created";
    // Rule: late-create-unknown.
    return write === blockedBy && performance.now() - sentAtMs <= LATE_MS ? "blocked" : "unknown";
  }

  /**
   * Puts the record in the place of the blocker. If that is not there, an earlier send of this statement has done so.
   * `exists`: another session has the id, so the blocker stays. `unknown`: an earlier send may still arrive, once the
   * other session is deleted.
   */
  #unblock(
    scope: readonly string[],
    blockedBy: number,
    record: NextRecord,
    call?: Call,
  ): Promise<"created" | "exists" | "unknown"> {
    const { pool, sql } = this.#shared;
    const given = [...recordValues(record, newWrite()), bytesOf(record), ...listingValues(record)];
    const values = [...scope, blockedBy, ...given];
    return pool.settle(call, async (isRepeat) => {
      try {
        const isReplaced = countOf(await pool.run(sql.unblock, values, call)) === 1;
        if (!isReplaced) await pool.run(sql.writeOf, scope, call);
        return "created";
      } catch (error) {
        if (takenKey(error) === null) throw error;
        return isRepeat ? "unknown" : "exists";
      }
    });
  }
}

/** The counted bytes of a new record. */
function bytesOf({ isCounted }: NextRecord): number | null {
  return isCounted ? 0 : null;
}

function unknown({ sessionId }: NextRecord, done: string): DomainError {
  return new DomainError("unavailable", `Whether session ${JSON.stringify(sessionId)} was ${done} is unknown`);
}

type EndColumns = readonly [number, null, null, number | null, string | null, number | null];

/** The place of the last message before a seal, which is written as a negative place, or the last place itself. */
function lastOf(seq: number | null): number {
  return seq !== null && seq < 0 ? -seq - 1 : (seq ?? 0);
}

function recordOf([row]: readonly Row[]): SessionRecord | null {
  return row === undefined ? null : toRecord(row);
}

function countOf([row]: readonly Row[]): number {
  return row?.[0] as number;
}

/** A blocker that is never swept. */
function blockerValues(record: NextRecord, write: number): Value[] {
  const values = recordValues(blockerOf(record), write);
  values[RECORD_FIELDS.indexOf("sweep_time")] = null;
  return values;
}
