import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { ownersSeen } from "../../../domain/access.js";
import { type Call, checkCall } from "../../../domain/call.js";
import { untilCallEnd } from "../../../domain/call-end.js";
import { DomainError } from "../../../domain/errors.js";
import { cutAtBytes } from "../../../domain/page.js";
import {
  compareValues,
  type GroupValues,
  groupByText,
  type UsageCursor,
  type UsagePage,
  type UsageQuery,
  type UsageRow,
} from "../../../domain/usage-groups.js";
import type { StorageProvider, SumOptions } from "../../storage-provider.js";
import type { HistoryContext } from "../heads.js";
import { type FinishedSum, finishedSum, type KeptSum, KeptSums } from "./kept-sums.js";
import { RunningSum } from "./running-sum.js";
import { NOTHING_SPENT, plusSpent } from "./session-work.js";
import { SUM_LIMITS, type SumLimits } from "./sum-limits.js";

/** How long a sum is worked at before other work may run. */
const SLICE_MS = 8;
/** About what a row takes in an answer, without its texts. */
const ROW_BYTES = 200;

/** The end of the sums of all namespaces of the process: one at a time, so that others are not slowed down. */
let turns: Promise<unknown> = Promise.resolve();

/** Adds up usage in portions, and keeps what it has so far, and finished rows, for the calls that follow. */
export class UsageSummer {
  readonly #context: HistoryContext;
  readonly #limits: SumLimits;
  readonly #kept: KeptSums;

  constructor(context: HistoryContext) {
    this.#context = context;
    this.#limits = { ...SUM_LIMITS, ...context.options.usageSums };
    this.#kept = new KeptSums(this.#limits, context.options.clockMs);
  }

  /** Forgets what was added up so far, so that no call that follows returns what is not stored any more. */
  forgetAll(): void {
    this.#kept.forgetAll();
  }

  close(): void {
    this.#kept.close();
  }

  /** Implements {@link StorageProvider.sumUsage}. */
  async sum({ limit, cursor, deadlineMs, signal, key, access, ...query }: SumOptions): Promise<UsagePage> {
    const call: Call = { deadlineMs, signal, key, access };
    const seen = query.sessionId === undefined ? ownersSeen(call, query.owner) : { owner: query.owner };
    if (seen === null) return { rows: [], progress: 1 };
    if (query.sessionId !== undefined) await this.#context.needRecord(query.sessionId, call);
    const asked = { ...query, ...seen };
    return inTurn(call, () => this.#page(asked, limit, cursor, call));
  }

  async #page(query: UsageQuery, limit: number, cursor: UsageCursor | undefined, call: Call): Promise<UsagePage> {
    const id = cursor?.sumId ?? randomUUID();
    const after = cursor?.after;
    const question = questionOf(query, call);
    const sum = this.#keptFor(id, question, after) ?? this.#begin(query, question, after);
    if (sum.state instanceof RunningSum) {
      await this.#goOn(sum.state, call);
      if (!sum.state.isDone) return this.#unfinished(id, sum, sum.state.progress, after);
      sum.state = finishedSum(await sum.state.rows(), sum.state.isCut);
    }
    return this.#rows(id, sum, sum.state, limit, after);
  }

  #begin(query: UsageQuery, question: string, after: GroupValues | undefined): KeptSum {
    const state = new RunningSum(this.#context, query, this.#limits.tableBytes, after);
    return this.#kept.begin({ question, after, state });
  }

  /** The kept sum that has, or will have, the rows after `after`. */
  #keptFor(id: string, question: string, after: GroupValues | undefined): KeptSum | undefined {
    const sum = this.#kept.get(id, question);
    if (sum === undefined) return undefined;
    const begins = sum.after === undefined || (after !== undefined && compareValues(sum.after, after) <= 0);
    if (!begins) return undefined;
    if (sum.state instanceof RunningSum) return sum;
    // Rows that did not fit into memory are added up anew from where the others end.
    return sum.state.isCut && rowsAfter(sum.state, after).length === 0 ? undefined : sum;
  }

  async #goOn(sum: RunningSum, call: Call): Promise<void> {
    const { rows, sessions, bytes, ms } = this.#limits;
    const endMs = performance.now() + ms;
    let sliceEndMs = performance.now() + SLICE_MS;
    let spent = NOTHING_SPENT;
    while (!sum.isDone) {
      checkCall(call);
      spent = plusSpent(spent, await sum.step(call));
      const nowMs = performance.now();
      if (spent.rows >= rows || spent.sessions >= sessions || spent.bytes >= bytes || nowMs >= endMs) return;
      if (nowMs < sliceEndMs) continue;
      await setImmediate();
      sliceEndMs = performance.now() + SLICE_MS;
    }
  }

  #unfinished(id: string, sum: KeptSum, progress: number, after: GroupValues | undefined): UsagePage {
    if (!this.#kept.keep(id, sum)) {
      throw new DomainError(
        "resource_exhausted",
        "The process is adding up too much usage at once; try again in a minute, or add up less at a time",
      );
    }
    return { rows: [], progress, next: { sumId: id, after } };
  }

  #rows(id: string, sum: KeptSum, state: FinishedSum, limit: number, after: GroupValues | undefined): UsagePage {
    const left = rowsAfter(state, after);
    const rows = cutAtBytes(left.slice(0, limit), this.#context.options.limits.pageBytes, sizeOf);
    const last = rows.at(-1);
    if (last === undefined || (rows.length === left.length && !state.isCut)) {
      this.#kept.forget(id);
      return { rows, progress: 1 };
    }
    // Without room, the next page is added up anew.
    this.#kept.keep(id, sum);
    return { rows, progress: 1, next: { sumId: id, after: last.values } };
  }
}

/** Everything that makes one sum differ from another. */
function questionOf(query: UsageQuery, { access }: Call): string {
  const { sinceMicros, untilMicros, groupBy, timeZone, labels = [], owner, sessionId, model } = query;
  const times = [sinceMicros ?? null, untilMicros ?? null, timeZone ?? ""];
  return JSON.stringify([
    ...times,
    groupByText(groupBy),
    [...new Set(labels)].sort(),
    owner ?? null,
    sessionId ?? null,
    model ?? null,
    access ?? null,
  ]);
}

function rowsAfter({ rows }: FinishedSum, after: GroupValues | undefined): readonly UsageRow[] {
  if (after === undefined) return rows;
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareValues((rows[middle] as UsageRow).values, after) <= 0) low = middle + 1;
    else high = middle;
  }
  return rows.slice(low);
}

function sizeOf({ values, costs }: UsageRow): number {
  return ROW_BYTES + 3 * JSON.stringify(values).length + 60 * costs.size;
}

/** Runs work when all that began before has ended. A call that ends while it waits does not begin. */
async function inTurn<T>(call: Call, work: () => Promise<T>): Promise<T> {
  const before = turns;
  let end: () => void = () => {};
  const own = new Promise<void>((resolve) => {
    end = resolve;
  });
  turns = before.then(() => own);
  try {
    await untilCallEnd(before, call);
    checkCall(call);
    return await work();
  } finally {
    end();
  }
}
