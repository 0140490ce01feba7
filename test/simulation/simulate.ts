import type { Call } from "../../src/domain/call.js";
import type { MessageCursor } from "../../src/domain/page.js";
import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { checkCounts, checkNothingLeft, checkRows, SWEEP_ROUNDS } from "./aftermath.js";
import { Fleet, type Instance, NOW_MICROS } from "./fleet.js";
import { SimFollower } from "./follower.js";
import { isLinearizable, type Observed } from "./linearizable.js";
import { apply, type Circumstances, EMPTY_STATE, type ModelState } from "./model.js";
import { type Operation, type Outcome, perform, performTurn } from "./operations.js";
import { type PageStart, PROFILE_NAMES, type ProfileName, Script, SESSION_IDS } from "./profiles.js";
import { type Random, seededRandom } from "./random.js";
import { Scheduler, type SimProcess } from "./scheduler.js";
import { SimFailure, type SimOptions, type SimReport } from "./sim-run.js";
import { SWEEP_AGE_MS, weatherOf } from "./weather.js";

const CLIENTS = 3;
const OPERATIONS_PER_CLIENT = 5;
const SWEEPS = 5;

/** What clients ask again when the answer was lost: it is safe. */
const RETRIED: ReadonlySet<string> = new Set(["append", "create", "fork", "share"]);

/** Runs one seed: several processes on one store, every store call a step. Throws a SimFailure when anything is not as it must be. */
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
  /** Share of calls whose caller goes before the answer. */
  readonly #impatience: number;
  readonly #history: Observed[] = [];
  readonly #revisions = new Map<Observed, number | null>();
  readonly #cursors = new Map<number, MessageCursor>();
  #start: ModelState = EMPTY_STATE;
  #moment = 0;
  #number = 0;
  #followed = 0;
  #undecided = 0;
  #left = 0;

  constructor(seed: number, options: SimOptions) {
    const random = seededRandom(seed);
    this.#random = random;
    this.#profile = options.profile ?? random.pick(PROFILE_NAMES);
    this.#scheduler = new Scheduler(random, weatherOf(random, this.#profile), options.trace === true);
    this.#fleet = new Fleet(options, random, this.#scheduler);
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
    const [operations, followed, undecided] = [this.#history.length, this.#followed, this.#undecided];
    return { steps, operations, deaths, losses, followed, undecided };
  }

  /** A few sessions to begin with, made one after the other. */
  async #prepare(): Promise<void> {
    const random = this.#random;
    const { provider } = this.#fleet.quiet();
    const messages = Array.from({ length: 1 + random.int(4) }, (_, i) => ({ id: `m${i}`, ts: i + 1, body: "x" }));
    const first: Operation[] = [
      { op: "create", id: "a", parent: null, title: null },
      { op: "append", id: "a", messages, expected: null },
    ];
    if (random.chance(0.7)) first.push({ op: "fork", id: "a", to: "b", mid: null });
    if (random.chance(0.3)) {
      first.push({ op: "append", id: "b", messages: [{ id: "m5", ts: 2, body: "x" }], expected: null });
    }
    if (random.chance(0.3)) first.push({ op: "revert", id: "a", mid: "m0" });
    if (random.chance(0.7)) {
      first.push({ op: "create", id: "c", parent: random.chance(0.5) ? "a" : null, title: null });
    }
    for (const operation of first) {
      const at = this.#circumstances(NOW_MICROS);
      const { outcome } = await perform(provider, operation);
      const [state, expected] = apply(this.#start, operation, at);
      mustEqual(outcome, expected, JSON.stringify(operation));
      this.#start = state;
    }
  }

  /** Clients, sweepers and followers at once, until all are done. */
  async #live(): Promise<void> {
    const random = this.#random;
    for (let i = 0; i < CLIENTS; i++) this.#fleet.slots.push(this.#fleet.start());
    const isShared = random.chance(0.3);
    const jobs = [0, 1, isShared ? 1 : 2].map((slot, i) => this.#client(`client ${i}`, slot));
    jobs.push(this.#sweeper(2), this.#sweeper(1));
    const followers = [0, 1].map(() => new SimFollower(random.pick(SESSION_IDS)));
    for (const [i, follower] of followers.entries()) jobs.push(this.#follow(follower, i));
    let left = jobs.length;
    let failure: { readonly error: unknown } | null = null;
    for (const job of jobs) {
      job.then(
        () => left--,
        (error: unknown) => {
          failure ??= { error };
        },
      );
    }
    await this.#scheduler.run(
      () => left === 0 || failure !== null,
      (dead) => this.#fleet.replace(dead),
    );
    if (failure) throw (failure as { error: unknown }).error;
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
  }

  /** Asks one process, and notes what it answers and when. */
  async #observe(client: string, slot: number, intent: ReturnType<Script["next"]>): Promise<readonly Observed[]> {
    const { process, provider, nowMicros } = this.#fleet.slots[slot] as Instance;
    const operations = intent.op === "turn" ? intent.appends : [intent];
    const observed = operations.map((operation): Observed => {
      const at = this.#circumstances(nowMicros);
      return { operation, at, client, calledAt: this.#moment++, answeredAt: Number.POSITIVE_INFINITY };
    });
    this.#history.push(...observed);
    const answers =
      intent.op === "turn"
        ? performTurn(provider, intent.id, intent.appends)
        : perform(provider, intent, (list) => this.#cursors.get(list), this.#call(process)).then((done) => [done]);
    const performed = await Promise.race([answers, process.died]);
    if (performed === "died") return observed;
    for (const [i, { outcome, record, next }] of performed.entries()) {
      const seen = observed[i] as Observed;
      seen.outcome = outcome;
      if (next) this.#cursors.set(seen.at.number, next);
      if (!isUnknown(outcome)) seen.answeredAt = this.#moment++;
      if (record !== undefined) this.#observeRecord(seen, record);
    }
    return observed;
  }

  /** What an answer told of the session's record, as an operation of its own. */
  #observeRecord(seen: Observed, outcome: Outcome): void {
    const at = this.#circumstances(seen.at.now);
    this.#history.push({ ...seen, operation: { op: "record", id: seen.operation.id }, at, outcome });
    this.#revisions.set(seen, revisionOf(outcome));
  }

  /** Some callers do not wait for the answer to the end. */
  #call(process: SimProcess): Call {
    if (!this.#random.chance(this.#impatience)) return {};
    const caller = new AbortController();
    this.#left++;
    void this.#scheduler.pause(process, this.#random.int(20)).then(() => caller.abort());
    return { signal: caller.signal };
  }

  async #sweeper(slot: number): Promise<void> {
    for (let i = 0; i < SWEEPS; i++) {
      const { process, provider } = this.#fleet.slots[slot] as Instance;
      if (this.#random.chance(0.6)) this.#scheduler.nowMs += SWEEP_AGE_MS + 1;
      await Promise.race([ignoringLoss(provider.sweep()), process.died]);
    }
  }

  async #follow(follower: SimFollower, slot: number): Promise<void> {
    for (let i = 0; i < 4; i++) {
      const { process, parts } = this.#fleet.slots[slot] as Instance;
      await Promise.race([follower.step(parts, this.#random.int(4)), process.died]);
    }
  }

  /** From wherever it was cut off it must come to exactly the history. */
  async #endFollower(follower: SimFollower): Promise<void> {
    this.#followed += await follower.finish(this.#fleet.quiet().parts);
  }

  /** When all is quiet: sweeps, then everything is read by a process that knows nothing, and there must be a legal order. */
  async #settle(): Promise<void> {
    const instance = this.#fleet.quiet();
    const isRough = this.#scheduler.deaths + this.#scheduler.losses + this.#left > 0;
    await this.#sweepAll(instance.provider);
    for (const id of SESSION_IDS) {
      for (const ancestors of [false, true]) {
        const list = { op: "list", id, newestFirst: false, ancestors, offset: 0, limit: 1000 } as const;
        await this.#observeQuietly(instance, list);
      }
      await this.#observeQuietly(instance, { op: "session", id });
      await this.#observeQuietly(instance, { op: "record", id });
    }
    if (this.#fleet.anomalies.length > 0 && !isRough) throw new Error(this.#fleet.anomalies.join("\n"));
    const isLegal = isLinearizable(this.#start, this.#history);
    if (isLegal === false) throw new Error("There is no legal order of the answers");
    if (isLegal === null) this.#undecided++;
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

  async #observeQuietly(
    { provider, nowMicros }: { provider: LogHistoryProvider; nowMicros: number },
    operation: Operation,
  ) {
    const at = this.#circumstances(nowMicros);
    const calledAt = this.#moment++;
    const { outcome } = await perform(provider, operation);
    this.#history.push({ operation, at, client: "end", calledAt, answeredAt: this.#moment++, outcome });
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
  return ['{"error":"unavailable"}', '{"error":"canceled"}'].includes(JSON.stringify(outcome));
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
