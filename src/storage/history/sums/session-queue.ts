import { permits } from "../../../domain/access.js";
import { type Call, checkCall } from "../../../domain/call.js";
import type { UsageQuery } from "../../../domain/usage-groups.js";
import type { HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";
import { meets } from "../record-queries.js";
import { UidSet } from "./uid-set.js";

/** How many records are listed at once, at first and at most: a pass may end with the first page. */
const FIRST_PAGE = 50;
const MOST_LISTED = 500;
const DAY_MICROS = 86_400_000_000;
/**
 * By how much the update time that a session has in lists may lie before the moment at which it gets it: updates of
 * appends wait for up to a minute, and clocks differ.
 */
const LAG_MICROS = 5 * 60_000_000;
/** How often sessions are listed again that were changed meanwhile. */
const MOST_PASSES = 10;

/** Which sessions to list. */
export interface ListedSessions {
  readonly owner: string | undefined;
  readonly labels: readonly string[];
  /** Only this one. */
  readonly sessionId: string | undefined;
  /** Sessions that were last changed more than a day before are left out. */
  readonly sinceMicros: number | undefined;
}

/**
 * Lists each session once that lives from the beginning to the end, although lists are ordered by the time of the last
 * change, and sessions change meanwhile: those that may have moved to the front are listed again, until there is none
 * that was not listed before.
 */
export class SessionQueue {
  readonly #context: HistoryContext;
  readonly #listed: ListedSessions;
  readonly #seen = new UidSet();
  readonly #floorMicros: number;
  #begunMicros: number | undefined;
  #after: SessionRecord | undefined;
  #afterUid = "";
  #limit = FIRST_PAGE;
  #pass = 0;
  /** How many sessions this pass has found that were not listed before. */
  #foundInPass = 0;
  #count = 0;
  #isDone = false;
  #total: number | undefined;

  constructor(context: HistoryContext, listed: ListedSessions) {
    this.#context = context;
    this.#listed = listed;
    const { sinceMicros } = listed;
    this.#floorMicros = sinceMicros === undefined ? Number.NEGATIVE_INFINITY : sinceMicros - DAY_MICROS;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** How many sessions have been listed. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#seen.bytes;
  }

  /** An estimate from 0 to 1. */
  get progress(): number {
    if (this.#isDone || this.#pass > 0) return 1;
    const byCount = this.#total ? this.#count / this.#total : 0;
    const begun = this.#begunMicros;
    const last = this.#after?.updateTimeMicros;
    const hasFloor = begun !== undefined && last !== undefined && Number.isFinite(this.#floorMicros);
    const byTime = hasFloor ? (begun - last) / (begun - this.#floorMicros) : 0;
    return Math.min(1, Math.max(0, byCount, byTime));
  }

  /** The next sessions, which may be none although others follow. `not_found`: there is no session with this id. */
  async next(call: Call): Promise<readonly SessionRecord[]> {
    checkCall(call);
    const { owner, labels, sessionId, sinceMicros } = this.#listed;
    if (sessionId !== undefined) return this.#only(sessionId, call);
    const isOfAll = owner === undefined && labels.length === 0 && sinceMicros === undefined;
    return isOfAll ? this.#nextByUid(call) : this.#nextPage(call);
  }

  /**
   * All sessions by uid, which none of them changes. Logs are named by the uids, so a store reads records and usage
   * from one end to the other.
   */
  async #nextByUid(call: Call): Promise<readonly SessionRecord[]> {
    const { store } = this.#context;
    this.#total ??= (await store.usage({}, call)).sessions;
    const records = await store.scanRecords(this.#afterUid, MOST_LISTED, call);
    const found = records.filter((record) => !record.deleted && !this.#context.isExpired(record));
    this.#count += found.length;
    this.#afterUid = records.at(-1)?.uid ?? "";
    this.#isDone = records.length < MOST_LISTED;
    return found;
  }

  async #only(sessionId: string, call: Call): Promise<readonly SessionRecord[]> {
    const record = await this.#context.needRecord(sessionId, call);
    this.#isDone = true;
    return isListed(this.#context, this.#listed, record, call) ? [record] : [];
  }

  async #nextPage(call: Call): Promise<readonly SessionRecord[]> {
    const { store, options } = this.#context;
    const { owner, labels } = this.#listed;
    this.#total ??= (await store.usage(owner === undefined ? {} : { owner }, call)).sessions;
    const filter = { parentId: "", labels, owner };
    const limit = this.#limit;
    const page = await store.listRecords(filter, { limit, after: this.#after }, call);
    this.#limit = Math.min(2 * limit, MOST_LISTED);
    // A store with a clock of its own knows it once it has answered.
    this.#begunMicros ??= Math.min(this.#context.storeMicros(), options.nowMicros());
    const floor = this.#pass === 0 ? this.#floorMicros : Math.max(this.#floorMicros, this.#begunMicros - LAG_MICROS);
    const found: SessionRecord[] = [];
    for (const record of page) {
      if (record.updateTimeMicros < floor || this.#seen.has(record.uid)) continue;
      this.#seen.add(record.uid);
      if (!this.#context.isExpired(record)) found.push(record);
    }
    this.#count += found.length;
    this.#foundInPass += found.length;
    this.#after = page.at(-1);
    if (page.length < limit || this.#after === undefined || this.#after.updateTimeMicros < floor) this.#endPass();
    return found;
  }

  #endPass(): void {
    this.#isDone = this.#pass > 0 && (this.#foundInPass === 0 || this.#pass >= MOST_PASSES);
    this.#pass++;
    this.#foundInPass = 0;
    this.#after = undefined;
    this.#limit = FIRST_PAGE;
  }
}

/** Whether a session, as it is in this record, is one of those to list for the caller. */
export function isListed(
  context: HistoryContext,
  { owner, labels }: Pick<UsageQuery, "owner" | "labels">,
  record: SessionRecord,
  call: Call,
): boolean {
  if (record.deleted || context.isExpired(record)) return false;
  return permits(call, record) && meets(record, { parentId: "", owner, labels });
}
