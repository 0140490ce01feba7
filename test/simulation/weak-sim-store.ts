import type { Call } from "../../src/domain/call.js";
import type { Entry, NextRecord, Range, RangeOptions, Segment, Tail } from "../../src/storage/history/log-store.js";
import type { Row, SimDatabase } from "./sim-database.js";
import {
  endOf,
  entriesById,
  orUnknown,
  placesOf,
  rangeOf,
  SimStore,
  sealRow,
  toRows,
  UNKNOWN,
  unavailable,
} from "./sim-store.js";
import type { Steps } from "./steps.js";

export interface SealSizes {
  /** The number of seals in one block after the last message. */
  readonly block: number;
  /** How far ahead of the last message the wall of seals stands, at least. */
  readonly wall: number;
}

/**
 * A store that offers only what MongoDB offers without transactions: unique `(log, seq)` and `(log, id)`,
 * compare-and-set of one document, and inserts that may stop half way. Each document that is written is a step, and so
 * is each query.
 */
export class WeakSimStore extends SimStore {
  readonly #sizes: SealSizes;
  readonly #lateMs: number;

  constructor(db: SimDatabase, steps: Steps, sizes: SealSizes = { block: 4, wall: 16 }, lateMs = 60_000) {
    super(db, steps, false);
    this.#sizes = sizes;
    this.#lateMs = lateMs;
  }

  /** Learns the time of the database, as a process does that connects to it. */
  connect(): this {
    this.latestMs = this.db.timeMs();
    return this;
  }

  override async createRecord(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    const sentAtMs = this.latestMs;
    const first = await orUnknown(super.createRecord(record, call));
    if (first !== UNKNOWN) return first;
    const write = {};
    const block = () => this.request(call, "blockRecord", [record], () => this.db.blockRecord(record.uid, write));
    const unblock = () => this.request(call, "unblockRecord", [record], () => this.db.unblockRecord(record, write));
    // Rule: repeated-create-unknown.
    const blocked = await untilKnown(block);
    if (blocked.answer === "created") return "created";
    // Rule: late-create-unknown.
    if (this.latestMs - sentAtMs > this.#lateMs) throw unavailable();
    const { answer, isRepeat } = await untilKnown(unblock);
    // An earlier request may still be carried out once the other session is gone.
    if (answer === "exists" && isRepeat) throw unavailable();
    return answer;
  }

  touchRecords(times: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    return this.request(call, "touchRecords", [[...times]], () => this.db.touchRecords(times));
  }

  knownTimeMs(): number {
    return this.latestMs;
  }

  async append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken"> {
    const rows = toRows(entries);
    let stored = 0;
    for (;;) {
      const tell = (n: number) => {
        stored = n;
      };
      const outcome = await orUnknown(this.#insertInOrder(log, rows, tell, stored, call));
      if (outcome === "idTaken") return stored === 0 ? "idTaken" : stored;
      if (outcome !== UNKNOWN) return stored;
      this.steps.leave(rows.slice(stored).map((row) => () => this.#insert(log, row) === "stored"));
      const found = await this.#readBack(log, seq, rows, call);
      stored = found.ours;
      if (stored === rows.length || found.taken) return stored;
    }
  }

  async seal(log: string, lastSeq?: number, call?: Call): Promise<number> {
    let end = lastSeq ?? (await this.#lastMessage(log, call));
    let runners = 0;
    for (let round = 0; ; round++) {
      const wall = round === 0 ? [] : [end + Math.max(this.#sizes.wall, 8 * runners)];
      const block = Array.from({ length: round === 0 ? 1 : this.#sizes.block }, (_, i) => end + 1 + i);
      for (const seq of wall) await this.#placeSeal(log, seq, call);
      const won = await Promise.all(block.map((seq) => this.#placeSeal(log, seq, call)));
      if (won[0] && round === 0 && lastSeq !== undefined) return lastSeq;
      const { tail, message } = await this.#readEnd(log, call);
      if (tail.state === "sealed") return tail.last?.seq ?? 0;
      runners = message - end;
      end = message;
    }
  }

  readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range> {
    return this.request(call, "readRange", [log, first, last, options], () =>
      rangeOf(this.db, log, first, last, options),
    );
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    const [before, top] = await this.request(call, "readTop", [log], () => lastTwo(this.db.rows(log)));
    if (!top) return { last: null, state: "open", isNamed: true };
    const isUsual = top.entry?.remaining === 0 && (top.seq === 1 || (before?.entry && before.seq === top.seq - 1));
    if (isUsual && top.entry) {
      const { seq, id, timestampMicros } = top.entry;
      return { last: { seq, id, timestampMicros }, state: "open", isNamed: true };
    }
    return { ...(await this.#readEnd(log, call)).tail, isNamed: true };
  }

  async findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    const found = [...new Set(logs)].map((log) =>
      this.request(call, "findById", [log, ids], () => entriesById(this.db, log, ids)),
    );
    return (await Promise.all(found)).flat();
  }

  /** Reads the keys first, then the documents, a few at a time. */
  async deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    const places = await this.request(call, "findKeys", [target, limit], () =>
      placesOf(this.db, target).slice(0, limit),
    );
    for (let i = 0; i < places.length; i += 2) {
      const some = places.slice(i, i + 2);
      await this.request(call, "deleteMany", some, () => {
        for (const { log, seq } of some) this.db.remove(log, seq);
      });
    }
    await this.request(call, "deleteAttached", [target], () => this.db.removeAttached(target));
    return places.length === limit;
  }

  /** Reports after each document how many are stored, so that a death or a lost answer can stop it anywhere. */
  async #insertInOrder(
    log: string,
    rows: readonly Row[],
    tell: (stored: number) => void,
    from: number,
    call?: Call,
  ): Promise<"stored" | "seqTaken" | "idTaken"> {
    for (const [i, row] of rows.entries()) {
      if (i < from) continue;
      const outcome = await this.request(call, "insert", [log, row.seq, row.id], () => this.#insert(log, row));
      if (outcome !== "stored") return outcome;
      tell(i + 1);
    }
    return "stored";
  }

  #insert(log: string, row: Row): "stored" | "seqTaken" | "idTaken" {
    return this.db.row(log, row.seq) === row ? "stored" : this.db.insert(log, row);
  }

  async #readBack(
    log: string,
    seq: number,
    rows: readonly Row[],
    call?: Call,
  ): Promise<{ ours: number; taken: boolean }> {
    for (;;) {
      const found = await orUnknown(
        this.request(call, "readBack", [log, seq], () => {
          const at = rows.findIndex((row) => this.db.row(log, row.seq) !== row);
          const ours = at < 0 ? rows.length : at;
          return { ours, taken: this.db.row(log, seq + ours) !== undefined };
        }),
      );
      if (found !== UNKNOWN) return found;
    }
  }

  #placeSeal(log: string, seq: number, call?: Call): Promise<boolean> {
    const row = sealRow(log, seq);
    return this.request(call, "placeSeal", [log, seq], () => this.db.insert(log, row) === "stored");
  }

  async #lastMessage(log: string, call?: Call): Promise<number> {
    return (await this.#readEnd(log, call)).message;
  }

  /** The end of the log, and the place of the last stored message, whether or not its batch is whole. */
  #readEnd(log: string, call?: Call): Promise<{ tail: Omit<Tail, "isNamed">; message: number }> {
    return this.request(call, "readEnd", [log], () => {
      const rows = this.db.rows(log);
      return { tail: endOf(rows, this.isAtomic), message: lastMessage(rows) };
    });
  }
}

/** Repeats a request until its answer arrives. */
async function untilKnown<T>(send: () => Promise<T>): Promise<{ readonly answer: T; readonly isRepeat: boolean }> {
  for (let isRepeat = false; ; isRepeat = true) {
    const answer = await orUnknown(send());
    if (answer !== UNKNOWN) return { answer, isRepeat };
  }
}

function lastTwo(rows: readonly Row[]): readonly [Row | null, Row | null] {
  return [rows.at(-2) ?? null, rows.at(-1) ?? null];
}

/** The place of the last message that has no gap before it. */
function lastMessage(rows: readonly Row[]): number {
  let last = 0;
  for (const [i, row] of rows.entries()) {
    if (row.entry === null || row.seq !== (rows[0] as Row).seq + i) break;
    last = row.seq;
  }
  return last;
}
