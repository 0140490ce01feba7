import type { MessageCursor } from "../../src/domain/page.js";
import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { checkCounts, checkNothingLeft, checkRows, SWEEP_ROUNDS } from "./aftermath.js";
import { beginningOf } from "./beginning.js";
import { Fleet, type Instance } from "./fleet.js";
import { SimFollower } from "./follower.js";
import { isLinearizable, type Observed } from "./linearizable.js";
import { checkListing, type Listing, listAll } from "./lister.js";
import { apply, type Circumstances, EMPTY_STATE, type ModelState } from "./model.js";
import { type Operation, type Outcome, type Performed, perform } from "./operations.js";
import {
  type Intent,
  NOW_MICROS,
  type PageStart,
  PROFILE_NAMES,
  type ProfileName,
  Script,
  SESSION_IDS,
} from "./profiles.js";
import { type Random, seededRandom } from "./random.js";
import { runJobs } from "./run-jobs.js";
import { Scheduler, type SimProcess } from "./scheduler.js";
import { SimFailure, type SimOptions, type SimReport } from "./sim-run.js";
import { DEADLINE_MS, SWEEP_AGE_MS, weatherOf } from "./weather.js";

const CLIENTS = 3;
const OPERATIONS_PER_CLIENT = 5;
const SWEEPS = 20;
const LISTINGS = 3;

/** Operations that clients repeat when the answer was lost, because repeating them is safe. */
const RETRIED: ReadonlySet<string> = new Set(["append", "create", "fork", "share", "updateMessage", "deleteMessage"]);

/**
 * Runs one seed: several processes on one store, where every store call is a step. Throws a SimFailure when anything is
 * not as it must be.
 */
export async function simulate(seed: number, options: SimOptions): Promise<SimReport> {
  const simulation = new Simulation(seed, options);
  return simulation.run();
}

class Simulation {
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #fleet: Fleet;
  readonly #script: Script;
  readonly #profile: ProfileName;
  /** The share of calls whose caller leaves before the answer. */
  readonly #impatience: number;
  readonly #store: SimOptions["store"];
  readonly #history: Observed[] = [];
  readonly #listings: Listing[] = [];
  readonly #revisions = new Map<Observed, number | null>();
  readonly #cursors = new Map<number, MessageCursor>();
  #start: ModelState = EMPTY_STATE;
  #moment = 0;
  #number = 0;
  #followed = 0;
  #listed = 0;
  #undecided = 0;
  #clientsLeft = CLIENTS;
  #left = 0;

  constructor(seed: number, options: SimOptions) {
    const random = seededRandom(seed);
    this.#random = random;
    this.#profile = options.profile ?? random.pick(PROFILE_NAMES);
    this.#store = options.store;
    const weather = weatherOf(random, this.#profile);
    this.#scheduler = new Scheduler(random, weather, options.trace === true);
    this.#fleet = new Fleet(options, this.#profile, random, this.#scheduler, weather.clocks.fault > 0);
    this.#script = new Script(random, this.#profile);
    this.#impatience = random.pick([0, 0, 0, 0.2]);
  }

  async run(): Promise<SimReport> {
    try {
      await this.#prepare();
      await this.#live();
      await this.#settle();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const seen = { history: this.#history, trace: this.#scheduler.trace ?? [], start: this.#start };
      throw new SimFailure(text, seen, { cause: error });
    }
    const { steps, deaths, losses } = this.#scheduler;
    const [operations, followed, listed] = [this.#history.length, this.#followed, this.#listed];
    return { steps, operations, deaths, losses, followed, listed, undecided: this.#undecided };
  }

  /** Makes the first sessions, one after the other. */
  async #prepare(): Promise<void> {
    const random = this.#random;
    const { provider } = this.#fleet.quiet();
    for (const operation of beginningOf(random, this.#profile)) {
      const at = this.#circumstances(NOW_MICROS);
      const { outcome } = await perform(provider, operation);
      const [state, expected] = await apply(this.#start, operation, at);
      mustEqual(outcome, expected, JSON.stringify(operation));
      this.#start = state;
    }
    // Everything that has been deleted so far is now old enough to be swept.
    this.#scheduler.nowMs += SWEEP_AGE_MS + 1;
  }

  /** Runs clients, sweepers and followers at once until all are done. */
  async #live(): Promise<void> {
    const random = this.#random;
    for (let i = 0; i < CLIENTS; i++) this.#fleet.slots.push(this.#fleet.start());
    const isShared = random.chance(0.3);
    const jobs = [0, 1, isShared ? 1 : 2].map((slot, i) => this.#client(`client ${i}`, slot));
    jobs.push(this.#sweeper(2), this.#sweeper(1), this.#lister());
    const followers = [0, 1].map(() => new SimFollower(random.pick(SESSION_IDS)));
    for (const [i, follower] of followers.entries()) jobs.push(this.#follow(follower, i));
    await runJobs(this.#scheduler, this.#fleet, jobs);
    for (const { process } of this.#fleet.slots) process.kill();
    for (const follower of followers) await this.#endFollower(follower);
  }

  async #client(name: string, slot: number): Promise<void> {
    let pageStart: PageStart = null;
    let revision: number | null = null;
    for (let i = 0; i < OPERATIONS_PER_CLIENT; i++) {
      const intent = this.#script.next(pageStart, revision);
      if (intent.op === "page") this.#mustContinue(intent.after);
      const observed = await this.#observe(name, slot, intent);
      const last = observed[0] as Observed;
      pageStart = pageStartOf(last) ?? pageStart;
      revision = this.#revisions.get(last) ?? revisionOf(last.outcome) ?? revision;
      const isLost = RETRIED.has(intent.op) && last.answeredAt === Number.POSITIVE_INFINITY;
      if (isLost && this.#random.chance(0.5)) await this.#observe(name, slot, intent);
    }
    this.#clientsLeft--;
  }

  /** Asks one process, and notes what it answers and when. The appends of a turn are all sent at once. */
  async #observe(client: string, slot: number, intent: ReturnType<Script["next"]>): Promise<readonly Observed[]> {
    const instance = this.#fleet.slots[slot] as Instance;
    const operations = intent.op === "turn" ? intent.appends : [intent];
    return await Promise.all(operations.map((operation) => this.#observeOne(client, instance, operation)));
  }

  async #observeOne(
    client: string,
    { process, clients, now }: Instance,
    operation: Exclude<Intent, { op: "turn" }>,
  ): Promise<Observed> {
    const at = this.#circumstances(now.begin());
    const [calledAt, fromMs] = [this.#moment++, this.#scheduler.nowMs];
    const unanswered = Number.POSITIVE_INFINITY;
    const seen: Observed = { operation, at, client, calledAt, answeredAt: unanswered, fromMs, toMs: unanswered };
    this.#history.push(seen);
    const caller = new AbortController();
    const answered = this.#limit(caller, process);
    const answer = perform(clients, operation, (list) => this.#cursors.get(list), { signal: caller.signal });
    const performed = await Promise.race([answer, process.died]);
    answered();
    if (performed !== "died") {
      // The store may still be at work for a caller that has left.
      if (!isCanceled(performed.outcome)) now.end();
      this.#answered(seen, performed);
    }
    return seen;
  }

  #answered(seen: Observed, { outcome, record, next }: Performed): void {
    seen.outcome = outcome;
    seen.toMs = this.#scheduler.nowMs;
    if (next) this.#cursors.set(seen.at.number, next);
    if (!isUnknown(outcome)) seen.answeredAt = this.#moment++;
    if (record !== undefined) this.#observeRecord(seen, record);
  }

  /** Notes what an answer said about the session's record, as a separate operation. */
  #observeRecord(seen: Observed, outcome: Outcome): void {
    const at = this.#circumstances(seen.at.now);
    this.#history.push({ ...seen, operation: { op: "record", id: seen.operation.id }, at, outcome });
    this.#revisions.set(seen, revisionOf(outcome));
  }

  /**
   * Some callers leave before the answer, and all do at their deadline: a store may be so slow that every turn of a
   * call takes longer than it may. Returns what is to be called after the answer.
   */
  #limit(caller: AbortController, process: SimProcess): () => void {
    const leave = (): void => {
      this.#left++;
      caller.abort();
    };
    if (!this.#random.chance(this.#impatience)) return this.#scheduler.setDeadline(DEADLINE_MS, leave);
    void this.#scheduler.pause(process, this.#random.int(20)).then(leave);
    return () => {};
  }

  /** Sweeps now and then as long as clients are at work. */
  async #sweeper(slot: number): Promise<void> {
    for (let i = 0; i < SWEEPS && this.#clientsLeft > 0; i++) {
      const { process, provider } = this.#fleet.slots[slot] as Instance;
      await Promise.race([this.#scheduler.pause(process, this.#random.pick([0, 10, 300])), process.died]);
      if (this.#random.chance(0.3)) this.#scheduler.nowMs += SWEEP_AGE_MS + 1;
      await Promise.race([ignoringLoss(provider.sweep()), process.died]);
    }
  }

  async #follow(follower: SimFollower, slot: number): Promise<void> {
    for (let i = 0; i < 4; i++) {
      const { process, provider } = this.#fleet.slots[slot] as Instance;
      await follower.step(provider, this.#random.int(4), process.died);
    }
  }

  /** Checks that a follower ends up with exactly the history, wherever it was cut off. */
  async #endFollower(follower: SimFollower): Promise<void> {
    this.#followed += await follower.finish(this.#fleet.quiet().provider);
  }

  /** Lists all sessions, each page by some process. */
  async #lister(): Promise<void> {
    const { db, slots } = this.#fleet;
    for (let i = 0; i < LISTINGS; i++) {
      const limit = 1 + this.#random.int(2);
      const listing = await listAll(
        db,
        () => this.#scheduler.nowMs,
        (cursor) => {
          const { process, clients } = this.#random.pick(slots);
          return Promise.race([clients.listSessions({ parentId: "", limit, cursor }), process.died]);
        },
      );
      if (listing) this.#listings.push(listing);
    }
  }

  /** Checks the lists. On the weak store, update times follow appends with a delay that has no limit here. */
  #checkListings(): void {
    const lagMs = this.#store === "weak" ? Number.POSITIVE_INFINITY : 0;
    for (const listing of this.#listings) checkListing(listing, this.#history, lagMs);
    this.#listed = this.#listings.length;
  }

  /**
   * When all is quiet: sweeps, and has a process with empty caches read everything. Then there must be a legal order of
   * all answers.
   */
  async #settle(): Promise<void> {
    const instance = this.#fleet.quiet();
    const isRough = this.#scheduler.deaths + this.#scheduler.losses + this.#left > 0;
    this.#fleet.healStoreClock();
    await this.#sweepAll(instance.provider);
    for (const id of SESSION_IDS) {
      for (const ancestors of [false, true]) {
        const list = { op: "list", id, newestFirst: false, ancestors, offset: 0, limit: 1000 } as const;
        await this.#observeQuietly(instance.provider, list);
      }
      await this.#observeQuietly(instance.provider, { op: "session", id });
      await this.#observeQuietly(instance.provider, { op: "record", id });
    }
    // The time advances in leaps, so any reader may be so late that rows have been swept.
    const anomalies = this.#fleet.anomalies.filter((text) => !text.startsWith("Rows of session"));
    if (anomalies.length > 0 && !isRough) throw new Error(anomalies.join("\n"));
    const isLegal = await isLinearizable(this.#start, this.#history);
    if (isLegal === false) throw new Error("No order of the operations explains the answers");
    if (isLegal === null) this.#undecided++;
    this.#checkListings();
    checkRows(this.#fleet.db);
    checkCounts(this.#fleet.db, isRough);
    for (const id of SESSION_IDS) await perform(instance.provider, { op: "delete", id });
    await this.#sweepAll(instance.provider);
    checkNothingLeft(this.#fleet.db, isRough);
    if (isRough) {
      await instance.provider.sweep({ repair: true });
      await this.#sweepAll(instance.provider);
      checkNothingLeft(this.#fleet.db, false);
    }
  }

  async #sweepAll(provider: LogHistoryProvider): Promise<void> {
    for (let i = 0; i < SWEEP_ROUNDS; i++) {
      this.#scheduler.nowMs += SWEEP_AGE_MS + 1;
      await provider.sweep();
    }
  }

  async #observeQuietly(provider: LogHistoryProvider, operation: Operation): Promise<void> {
    const at = this.#circumstances(NOW_MICROS);
    const [calledAt, fromMs] = [this.#moment++, this.#scheduler.nowMs];
    const { outcome } = await perform(provider, operation);
    const [answeredAt, toMs] = [this.#moment++, this.#scheduler.nowMs];
    this.#history.push({ operation, at, client: "end", calledAt, answeredAt, fromMs, toMs, outcome });
  }

  #circumstances(now: number): Circumstances {
    return { number: this.#number++, now, continued: false };
  }

  #mustContinue(list: number): void {
    const seen = this.#history.find(({ at }) => at.number === list);
    if (seen) seen.at = { ...seen.at, continued: true };
  }
}

function mustEqual(outcome: Outcome, expected: Outcome, what: string): void {
  const [is, should] = [JSON.stringify(outcome), JSON.stringify(expected)];
  if (is !== should) throw new Error(`${what}: ${is} instead of ${should}`);
}

/** Whether an answer leaves open what happened. */
function isUnknown(outcome: Outcome): boolean {
  return JSON.stringify(outcome) === '{"error":"unavailable"}' || isCanceled(outcome);
}

function isCanceled(outcome: Outcome): boolean {
  return JSON.stringify(outcome) === '{"error":"canceled"}';
}

async function ignoringLoss(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "unavailable")) throw error;
  }
}

function pageStartOf({ operation, at, outcome }: Observed): PageStart {
  if (operation.op !== "list" || operation.ancestors || operation.since !== undefined) return null;
  const { messages = [], more = false } = (outcome ?? {}) as { messages?: readonly { id: string }[]; more?: boolean };
  const last = messages.at(-1);
  if (!last || !more) return null;
  return { id: operation.id, newestFirst: operation.newestFirst, after: at.number, mid: last.id };
}

function revisionOf(outcome: Outcome): number | null {
  if (typeof outcome !== "object" || outcome === null || !("revision" in outcome)) return null;
  return outcome.revision as number;
}
