import type { Call } from "../../../domain/call.js";
import type { GroupValues, UsageQuery, UsageRow } from "../../../domain/usage-groups.js";
import type { HistoryContext } from "../heads.js";
import { openSegments } from "../read/pieces.js";
import { GroupTable } from "./group-table.js";
import { GroupFinder } from "./group-values.js";
import { isListed, SessionQueue } from "./session-queue.js";
import { type Adder, NOTHING_SPENT, type Spent, type Work } from "./session-work.js";
import { ToolCounter } from "./tool-counter.js";
import { UsageAdder } from "./usage-adder.js";

/**
 * A sum that is being made, in portions: each reads first and then adds what it has read, so one that fails can be
 * repeated. Sessions are added one after the other, each as it is when it is read.
 */
export class RunningSum {
  readonly #context: HistoryContext;
  readonly #query: UsageQuery;
  readonly #queue: SessionQueue;
  readonly #table: GroupTable;
  readonly #finder: GroupFinder;
  readonly #adder: Adder;
  #work: Work[] = [];
  /** When the records of the work were read: by the store's clock, and by the context's. */
  #asOf = { atMs: 0, micros: 0 };

  /** `after`: only groups after this one. */
  constructor(context: HistoryContext, query: UsageQuery, maxBytes: number, after: GroupValues | undefined) {
    const { owner, labels = [], sessionId, sinceMicros } = query;
    this.#context = context;
    this.#query = query;
    this.#queue = new SessionQueue(context, { owner, labels, sessionId, sinceMicros });
    this.#table = new GroupTable(maxBytes, after);
    this.#finder = new GroupFinder(query.groupBy, query.timeZone);
    const isOfTools = query.groupBy.some(({ by }) => by === "tool");
    const NewAdder = isOfTools ? ToolCounter : UsageAdder;
    this.#adder = new NewAdder(context, query, this.#finder, () => new GroupTable(maxBytes));
  }

  get isDone(): boolean {
    return this.#queue.isDone && this.#work.length === 0;
  }

  /** Whether there are groups after the last row. */
  get isCut(): boolean {
    return this.#table.isCut;
  }

  get bytes(): number {
    return this.#table.bytes + (this.#work[0]?.table?.bytes ?? 0) + this.#queue.bytes;
  }

  get progress(): number {
    if (this.isDone) return 1;
    const done = this.#queue.count === 0 ? 0 : 1 - this.#work.length / this.#queue.count;
    return Math.min(0.99, this.#queue.progress * done);
  }

  /** The rows of a sum that is done. */
  rows(): Promise<UsageRow[]> {
    return this.#table.rows();
  }

  /** Goes on for a while, and returns what that took. */
  async step(call: Call): Promise<Spent> {
    if (this.#work.length === 0) return this.#list(call);
    if (this.#isLate()) {
      await this.#readAgain(call);
      // Counting this could leave a call nothing to go on with, however often it is made.
      return NOTHING_SPENT;
    }
    return this.#adder.add(this.#work, this.#table, () => this.#isLate(), call);
  }

  async #list(call: Call): Promise<Spent> {
    const asOf = this.#now();
    const listed = await this.#queue.next(call);
    // What would be ignored is not read: sessions whose groups came before, or must wait for another round.
    const records = listed.filter((record) => this.#finder.mayFind(this.#table, record));
    // If this fails, the sessions are not lost: they are read again as late ones.
    this.#asOf = { atMs: Number.NEGATIVE_INFINITY, micros: Number.NEGATIVE_INFINITY };
    this.#work = records.map((record) => ({ record, ranges: openSegments(record), table: null }));
    this.#work = await this.#adder.workOf(records, call);
    this.#asOf = asOf;
    return { ...NOTHING_SPENT, sessions: listed.length };
  }

  #now(): { readonly atMs: number; readonly micros: number } {
    return { atMs: this.#context.knownMs(), micros: this.#context.storeMicros() };
  }

  /** Whether so much time has passed that a sweep may have cleared away what the records name. */
  #isLate(): boolean {
    const { store, options } = this.#context;
    if (store.knownTimeMs) return this.#context.isOld(this.#asOf.atMs);
    return this.#context.storeMicros() - this.#asOf.micros > options.staleMs * 1000;
  }

  /**
   * Reads the records of the work again. Sessions that have changed begin anew, and those that would not be listed any
   * more are left out.
   */
  async #readAgain(call: Call): Promise<void> {
    const asOf = this.#now();
    const isRead = Number.isFinite(this.#asOf.micros);
    const work: Work[] = [];
    for (const item of this.#work) {
      const record = await this.#context.store.readRecordByUid(item.record.uid, call);
      if (record === null || !isListed(this.#context, this.#query, record, call)) continue;
      if (isRead && record.revision === item.record.revision) work.push(item);
      else work.push(...(await this.#adder.workOf([record], call)));
    }
    this.#asOf = asOf;
    this.#work = work;
  }
}
