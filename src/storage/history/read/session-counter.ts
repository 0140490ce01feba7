import type { Call } from "../../../domain/call.js";
import { NotImplementedError } from "../../../domain/errors.js";
import type { SessionFilter, SessionTotal } from "../../../domain/page.js";
import type { HistoryContext } from "../heads.js";
import { meets } from "../record-queries.js";

/** As many sessions are counted; a list of more gets an estimate. */
const MOST_COUNTED = 10_000;
/** How many sessions an estimate looks at. */
const SAMPLED = 2000;
/** How many expired sessions that no sweep has deleted yet are taken off a count. */
const MOST_EXPIRED = 1000;

/** Counts the sessions of lists. */
export class SessionCounter {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** How many sessions there are on all pages of a list. */
  async total(filter: SessionFilter, call?: Call): Promise<SessionTotal> {
    const { queries } = this.#context.store;
    if (queries === undefined) throw new NotImplementedError("StorageProvider", "counting the sessions of a list");
    const counted = await queries.count(filter, MOST_COUNTED, call);
    if (counted === null) return this.#estimate(filter, call);
    const bounds = this.#context.expiryBounds();
    const expired = await this.#context.store.listExpired(bounds, MOST_EXPIRED + 1, call);
    const hidden = expired.filter((record) => meets(record, filter)).length;
    return { size: Math.max(0, counted - hidden), isEstimate: expired.length > MOST_EXPIRED };
  }

  /**
   * Uids are random numbers. So those that are smallest are a random sample, and how far they reach says what part of
   * all sessions they are.
   */
  async #estimate(filter: SessionFilter, call?: Call): Promise<SessionTotal> {
    const sample = (await this.#context.store.queries?.sample(SAMPLED, call)) ?? [];
    const found = sample.filter((record) => !this.#context.isExpired(record) && meets(record, filter)).length;
    const part = sample.length < SAMPLED ? 1 : fractionOf(sample.at(-1)?.uid ?? "");
    return { size: Math.round(found / part), isEstimate: true };
  }
}

/** Where a uid is among all uids, from 0 to 1; 1 for a uid that is not a random number. */
function fractionOf(uid: string): number {
  const digits = /^[0-9a-f]{12}/.exec(uid)?.[0];
  return digits === undefined ? 1 : (Number.parseInt(digits, 16) + 1) / 16 ** 12;
}
