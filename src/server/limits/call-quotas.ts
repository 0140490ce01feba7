import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import { boundOwner } from "../../domain/access.js";
import { QUOTA_HOLDERS, type QuotaHolder, type Quotas, quotaName } from "../../domain/quotas.js";
import { countedAs, isOfTicket, type Principal } from "../auth/principal.js";

const MINUTE_S = 60;

/** How many calls began in each of the last 60 seconds. */
class LastMinute {
  readonly #counts = new Uint32Array(MINUTE_S);
  #total = 0;
  /** The latest second that the counts include. */
  #second: number;

  constructor(second: number) {
    this.#second = second;
  }

  /** After how many seconds another call may begin; 0 when it may begin now. */
  waitS(limit: number, nowS: number): number {
    this.#advance(Math.floor(nowS));
    if (this.#total < limit) return 0;
    let oldest = this.#second - MINUTE_S + 1;
    while (this.#counts[at(oldest)] === 0) oldest++;
    return Math.ceil(oldest + MINUTE_S - nowS);
  }

  count(): void {
    this.#counts[at(this.#second)]! += 1;
    this.#total += 1;
  }

  isOver(nowS: number): boolean {
    return this.#second + MINUTE_S <= nowS;
  }

  #advance(second: number): void {
    for (let next = Math.max(this.#second + 1, second - MINUTE_S + 1); next <= second; next++) {
      this.#total -= this.#counts[at(next)]!;
      this.#counts[at(next)] = 0;
    }
    this.#second = Math.max(this.#second, second);
  }
}

function at(second: number): number {
  return second % MINUTE_S;
}

export interface CallQuotasOptions {
  /** Whether callers have keys. Otherwise all are the same principal, and only the quota of the namespace applies. */
  readonly hasKeys: boolean;
  /** A steady clock in milliseconds. */
  readonly clockMs?: (() => number) | undefined;
}

/**
 * Counts the calls of each owner, key and namespace to this process, by whole seconds. A refused call is not counted,
 * so that waiting helps a client that goes on trying.
 */
export class CallQuotas {
  readonly #limits: readonly { readonly holder: QuotaHolder; readonly limit: number }[];
  readonly #clockMs: () => number;
  readonly #counts = new Map<string, LastMinute>();
  #clearedAtS: number;

  constructor(quotas: Quotas, { hasKeys, clockMs = () => performance.now() }: CallQuotasOptions) {
    this.#limits = QUOTA_HOLDERS.flatMap((holder) => {
      const limit = hasKeys || holder === "namespace" ? quotas[holder]?.callsPerMinute : undefined;
      return limit === undefined ? [] : [{ holder, limit }];
    });
    this.#clockMs = clockMs;
    this.#clearedAtS = clockMs() / 1000;
  }

  /** Counts a call that begins. Throws `resource_exhausted`, and counts nothing, when a quota is used up. */
  take(principal: Principal): void {
    if (this.#limits.length === 0) return;
    const nowS = this.#clockMs() / 1000;
    this.#clear(nowS);
    const counts: LastMinute[] = [];
    for (const { holder, limit } of this.#limits) {
      const id = idOf(holder, principal);
      if (id === undefined) continue;
      const count = this.#countOf(`${holder}\n${principal.namespace}\n${id}`, nowS);
      const retryAfterS = count.waitS(limit, nowS);
      if (retryAfterS > 0) throw refusal(holder, id, principal, limit, retryAfterS);
      counts.push(count);
    }
    for (const count of counts) count.count();
  }

  #countOf(id: string, nowS: number): LastMinute {
    let count = this.#counts.get(id);
    if (count === undefined) {
      count = new LastMinute(Math.floor(nowS));
      this.#counts.set(id, count);
    }
    return count;
  }

  /** Once a minute, forgets those who have not called for a minute. */
  #clear(nowS: number): void {
    if (nowS - this.#clearedAtS < MINUTE_S) return;
    this.#clearedAtS = nowS;
    for (const [id, count] of this.#counts) if (count.isOver(nowS)) this.#counts.delete(id);
  }
}

/**
 * Who uses up a quota, within the namespace; undefined when nobody does. A ticket counts as a key of its own, and for
 * no owner, because it does not say whose session it opens.
 */
function idOf(holder: QuotaHolder, principal: Principal): string | undefined {
  if (holder === "namespace") return "";
  if (holder === "key") return countedAs(principal);
  return boundOwner(principal);
}

function refusal(holder: QuotaHolder, id: string, principal: Principal, limit: number, retryAfterS: number): ApiError {
  const quota = quotaName(holder, "callsPerMinute");
  const named = holder === "namespace" ? principal.namespace : id;
  const subject = isOfTicket(principal) && holder === "key" ? "The ticket" : `The ${holder} ${JSON.stringify(named)}`;
  const text = `${subject} has made ${limit} calls within a minute; --quota-${quota} allows ${limit}`;
  return new ApiError(Code.ResourceExhausted, `${text}; try again in ${retryAfterS} s`, { retryAfterS, quota });
}
