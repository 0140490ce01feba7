import { type Call, checkCall } from "../../domain/call.js";
import { DomainError, notFound } from "../../domain/errors.js";
import type { LogResult, TurnOutcome } from "../storage-provider.js";
import {
  type AppendPlanner,
  answerPlaced,
  endAfter,
  type Job,
  type OlderPlan,
  type Plan,
  Refusal,
  wholePlans,
} from "./append-plan.js";
import { Again, type Head, type HistoryContext } from "./heads.js";
import type { Entry } from "./log-store.js";
import type { Attempt, Placement, Placer, Unplaced } from "./placer.js";
import type { RecordWriter } from "./record-writer.js";
import { positionOf } from "./segments.js";

/** What every turn works with. */
export interface AppendTurnParts {
  readonly context: HistoryContext;
  readonly writer: RecordWriter;
  readonly placer: Placer;
  readonly planner: AppendPlanner;
  /** Told of the head behind every successful append. */
  readonly onAppended: (head: Head) => void;
}

/** One run through the appends of a turn. */
export class AppendTurn {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;
  readonly #placer: Placer;
  readonly #planner: AppendPlanner;
  readonly #onAppended: (head: Head) => void;
  readonly #sessionId: string;
  readonly #outcomes: TurnOutcome[];
  #jobs: Job[];
  #head: Head | null = null;
  /** Whether the head was read since the turn began, and nothing was tried on it yet. */
  #isFresh = false;
  /** Whether ids are looked up in the open log too: after a write was refused. */
  #looksUp = false;
  #attempt: Attempt | null = null;
  /** The log in which a write of this turn stopped half way. */
  #cutLog: string | null = null;

  constructor(parts: AppendTurnParts, sessionId: string, jobs: Job[], outcomes: TurnOutcome[]) {
    this.#context = parts.context;
    this.#writer = parts.writer;
    this.#placer = parts.placer;
    this.#planner = parts.planner;
    this.#onAppended = parts.onAppended;
    this.#sessionId = sessionId;
    this.#jobs = jobs;
    this.#outcomes = outcomes;
  }

  async run(): Promise<void> {
    this.#head = this.#context.cached(this.#sessionId);
    while (this.#dropEnded()) {
      try {
        await this.#step();
      } catch (error) {
        this.#context.forget(this.#sessionId);
        if (error instanceof Again) {
          await this.#context.jitter();
          this.#head = null;
        } else {
          this.#failAll(error);
        }
      }
    }
  }

  async #step(): Promise<void> {
    const head = this.#head ?? (await this.#reload());
    if (!head) return this.#failAll(notFound("Session", this.#sessionId));
    const call = this.#call();
    const isOurs = this.#writer.sealedHere(head) || (head.state === "owed" && head.record.log === this.#cutLog);
    if (head.state !== "open" && !isOurs) {
      await this.#writer.waitForEditor(head, call);
      this.#head = null;
      return;
    }
    if (head.record.segments.length > this.#context.options.maxSegments) {
      await this.#placer.merge(head, call);
      this.#head = null;
      return;
    }
    const needsFreshLog = isOurs || head.seq >= this.#context.options.maxLogEntries;
    const { plans, isStale, older } = await this.#planAll(head, call);
    if (isStale && plans.length === 0) {
      await this.#reload();
    } else if (older && plans.length === 0) {
      await this.#placeFirst(head, older, call);
    } else if (needsFreshLog) {
      await this.#writer.rollOver(head, call);
      this.#head = null;
    } else {
      await this.#write(head, plans, call);
    }
  }

  /** Plans as many appends as fit together, each on what the ones before it leave. */
  async #planAll(head: Head, call: Call | undefined): Promise<{ plans: Plan[]; isStale?: boolean; older?: OlderPlan }> {
    const plans: Plan[] = [];
    const ids = new Set<string>();
    let end = head;
    for (const job of this.#jobs) {
      if (job.given.some(({ id }) => ids.has(id))) return { plans };
      let plan: Plan;
      try {
        plan = await this.#planner.plan(end, head, job, this.#looksUp, call);
      } catch (error) {
        if (error instanceof Again) return { plans, isStale: true };
        throw error;
      }
      if (plan.kind === "older") return { plans, older: plan };
      const isCertain = this.#isFresh && !this.#context.isOld(head.atMs);
      if (plan.kind !== "write" && !isCertain && this.#context.keeps("refusals-re-read"))
        return { plans, isStale: true };
      plans.push(plan);
      if (plan.kind !== "write") continue;
      for (const { id } of plan.entries) ids.add(id);
      end = endAfter(end, plan.entries);
    }
    return { plans };
  }

  async #write(head: Head, plans: readonly Plan[], call: Call | undefined): Promise<void> {
    const entries: Entry[] = [];
    for (const plan of plans) if (plan.kind === "write") entries.push(...plan.entries);
    const atMs = this.#context.options.clockMs();
    const answer =
      entries.length === 0 ? 0 : await this.#context.store.append(head.record.log, head.seq + 1, entries, call);
    const stored = answer === "idTaken" ? 0 : answer;
    const done = this.#context.keeps("cut-batch-goes-on")
      ? wholePlans(plans, stored)
      : stored < entries.length
        ? 0
        : plans.length;
    if (stored > 0 && this.#isLate(head) && !(await this.#isReachable(head, entries.slice(0, stored), call))) {
      const error = new DomainError("unavailable", "The append took too long; whether it was stored is unknown");
      this.#settle(plans.length, () => ({ ok: false, error }));
      this.#head = null;
      return;
    }
    this.#settle(done, (i) => outcomeOf(plans[i] as Plan));
    if (stored < entries.length) {
      this.#cutLog = stored > 0 ? head.record.log : this.#cutLog;
      this.#looksUp = true;
      throw new Again();
    }
    if (entries.length === 0) return;
    this.#head = endAfter(head, entries, atMs);
    this.#isFresh = false;
    this.#context.remember(this.#head);
    this.#onAppended(this.#head);
  }

  #isLate(head: Head): boolean {
    return this.#context.isOld(head.atMs) && this.#context.keeps("late-append-reached");
  }

  /** After a slow write: whether it is where everybody sees it. */
  async #isReachable(head: Head, entries: readonly Entry[], call: Call | undefined): Promise<boolean> {
    const now = await this.#context.load(this.#sessionId, call);
    const { log } = head.record;
    const isThere =
      now?.record.log === log || (now && entries.every(({ seq }) => positionOf(now.record.segments, log, seq) >= 0));
    if (!isThere) await this.#writer.clearIfOrphaned(head.atMs, head.record.uid, call);
    return !!isThere;
  }

  /** Puts the first append, whose messages are not all the newest, where it belongs. */
  async #placeFirst(head: Head, plan: OlderPlan, call: Call | undefined): Promise<void> {
    const job = this.#jobs[0] as Job;
    const messages: Unplaced[] = this.#planner
      .entriesOf(head, plan.fresh)
      .sort((a, b) => a.timestampMicros - b.timestampMicros);
    const answer = (positions: readonly number[]) => answerPlaced(job, plan, messages, positions);
    const attempt = this.#attempt;
    this.#attempt = null;
    this.#head = null;
    let placed: Placement<LogResult>;
    try {
      placed = await this.#placer.place(head, messages, attempt, true, answer, call);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (this.#context.isOld(head.atMs) || !this.#isFresh) {
        this.#isFresh = false;
        await this.#reload();
        return;
      }
      this.#settle(1, () => ({ ok: false, error: error.cause }));
      if (this.#writer.sealedHere(head)) await this.#writer.rollOver(head, call);
      return;
    }
    if ("lost" in placed) {
      this.#attempt = placed.lost;
      throw new Again();
    }
    this.#settle(1, () => ({ ok: true, result: placed.answer }));
    this.#head = this.#context.cached(this.#sessionId);
    this.#isFresh = false;
    if (this.#head) this.#onAppended(this.#head);
  }

  async #reload(): Promise<Head | null> {
    this.#head = await this.#context.load(this.#sessionId, this.#call());
    this.#isFresh = true;
    return this.#head;
  }

  /** Takes out the appends whose callers have gone; whether any are left. */
  #dropEnded(): boolean {
    this.#jobs = this.#jobs.filter(({ call, index }) => {
      try {
        checkCall(call);
        return true;
      } catch (error) {
        this.#outcomes[index] = { ok: false, error };
        return false;
      }
    });
    return this.#jobs.length > 0;
  }

  #settle(count: number, outcome: (i: number) => TurnOutcome): void {
    for (const [i, job] of this.#jobs.splice(0, count).entries()) this.#outcomes[job.index] = outcome(i);
  }

  #failAll(error: unknown): void {
    this.#settle(this.#jobs.length, () => ({ ok: false, error }));
  }

  /** What the whole write may take: as long as the most patient of its callers. */
  #call(): Call | undefined {
    if (this.#jobs.length === 1) return this.#jobs[0]?.call;
    const deadlines = this.#jobs.map(({ call }) => call?.deadlineMs ?? Number.POSITIVE_INFINITY);
    const deadlineMs = Math.max(...deadlines);
    return Number.isFinite(deadlineMs) ? { deadlineMs } : undefined;
  }
}

function outcomeOf(plan: Plan): TurnOutcome {
  if (plan.kind === "refuse") return { ok: false, error: plan.error };
  if (plan.kind === "older") throw new Error("An older message was not placed");
  return { ok: true, result: plan.result };
}
