import { type Call, checkCall } from "../../domain/call.js";
import { sameContent } from "../../domain/chat-message.js";
import { DomainError, invalidArgument, notFound } from "../../domain/errors.js";
import type { LogResult, TurnAppend, TurnOutcome } from "../storage-provider.js";
import { Again, type Head, type HistoryContext } from "./heads.js";
import type { Entry } from "./log-store.js";
import { type Located, locateOnHead } from "./lookup.js";
import type { Attempt, Placement, Placer, Unplaced } from "./placer.js";
import type { RecordWriter } from "./record-writer.js";
import { positionOf } from "./segments.js";

/** A message that has its id. */
interface Given {
  readonly id: string;
  /** Whether the id was made here, just now: nobody has it. */
  readonly isMade: boolean;
  readonly message: TurnAppend["messages"][number];
}

interface Job {
  readonly index: number;
  readonly given: readonly Given[];
  readonly expectedPosition: number | undefined;
  readonly call: Call | undefined;
}

/** What one append means on a head. */
type Plan =
  | { readonly kind: "write"; readonly entries: readonly Entry[]; readonly result: LogResult }
  | { readonly kind: "known"; readonly result: LogResult }
  | { readonly kind: "refuse"; readonly error: DomainError }
  | { readonly kind: "older"; readonly fresh: readonly Given[]; readonly first: number | undefined };

type OlderPlan = Extract<Plan, { kind: "older" }>;

/** Appends of one turn: all that wait for the session go into one write at the end of its open log. */
export class Appender {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;
  readonly #placer: Placer;
  readonly #onAppended: (head: Head) => void;

  constructor(context: HistoryContext, writer: RecordWriter, placer: Placer, onAppended: (head: Head) => void) {
    this.#context = context;
    this.#writer = writer;
    this.#placer = placer;
    this.#onAppended = onAppended;
  }

  /** An outcome for each append; see StorageProvider.logTurn. */
  async run(sessionId: string, appends: readonly TurnAppend[]): Promise<readonly TurnOutcome[]> {
    const outcomes: TurnOutcome[] = [];
    const jobs: Job[] = [];
    for (const [index, append] of appends.entries()) {
      try {
        jobs.push(this.#jobOf(append, index));
      } catch (error) {
        outcomes[index] = { ok: false, error };
      }
    }
    const turn = new Turn(this.#context, this.#writer, this.#placer, sessionId, jobs, outcomes, this.#onAppended);
    await turn.run();
    return outcomes;
  }

  #jobOf({ messages, options }: TurnAppend, index: number): Job {
    const { futureMs } = this.#context.options.limits;
    const latest = this.#context.options.nowMicros() + futureMs * 1000;
    if (messages.length === 0) throw invalidArgument("messages is empty; at least 1 message is required");
    for (const { timestampMicros } of messages) {
      if (timestampMicros !== undefined && timestampMicros > latest) {
        throw invalidArgument(`timestamp is more than ${futureMs / 1000} s ahead of the service's clock`);
      }
    }
    const given = messages.map((message) => ({
      id: message.id || this.#context.options.newMessageId(),
      isMade: !message.id,
      message,
    }));
    const twice = given.find(({ id }, i) => given.length > 1 && given.findIndex((other) => other.id === id) !== i);
    if (twice) throw invalidArgument(`messages holds the id ${JSON.stringify(twice.id)} twice`);
    return { index, given, expectedPosition: options?.expectedPosition, call: options };
  }
}

/** One run through the appends of a turn. */
class Turn {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;
  readonly #placer: Placer;
  readonly #sessionId: string;
  readonly #outcomes: TurnOutcome[];
  readonly #onAppended: (head: Head) => void;
  #jobs: Job[];
  #head: Head | null = null;
  /** Whether the head was read since the turn began, and nothing was tried on it yet. */
  #isFresh = false;
  /** Whether ids are looked up in the open log too: after a write was refused. */
  #looksUp = false;
  #attempt: Attempt | null = null;
  /** The log in which a write of this turn stopped half way. */
  #cutLog: string | null = null;

  constructor(
    context: HistoryContext,
    writer: RecordWriter,
    placer: Placer,
    sessionId: string,
    jobs: Job[],
    outcomes: TurnOutcome[],
    onAppended: (head: Head) => void,
  ) {
    this.#context = context;
    this.#writer = writer;
    this.#placer = placer;
    this.#sessionId = sessionId;
    this.#jobs = jobs;
    this.#outcomes = outcomes;
    this.#onAppended = onAppended;
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
        plan = await this.#plan(end, head, job, call);
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

  /** `end`: the head with the appends planned before this one; `stored`: the head as it is in the store. */
  async #plan(end: Head, stored: Head, job: Job, call: Call | undefined): Promise<Plan> {
    const { given, expectedPosition } = job;
    const hasSegments = stored.record.segments.length > 0 && this.#context.keeps("look-up-in-segments");
    const chosen = given.filter(({ isMade }) => this.#looksUp || !isMade);
    const mustLookUp = this.#looksUp || hasSegments || given.length > 1;
    const isLookedUp = chosen.length === 0 || mustLookUp;
    const ids = chosen.map(({ id }) => id);
    const known =
      mustLookUp && chosen.length > 0
        ? await locateOnHead(this.#context, stored, ids, call)
        : new Map<string, Located>();

    for (const { id, message } of given) {
      const found = known.get(id);
      if (found && !isSame(found.entry, message))
        return { kind: "refuse", error: takenWithOtherContent(id, this.#sessionId) };
    }
    const fresh = given.filter(({ id }) => !known.has(id));
    const first = known.get((given[0] as Given).id);
    const messageIds = given.map(({ id }) => id);
    if (fresh.length === 0) return { kind: "known", result: { messageIds, position: (first as Located).position } };
    const entries = this.#entriesOf(end, fresh);
    const isOlder = entries.some(
      ({ timestampMicros }, i) => timestampMicros < (entries[i - 1]?.timestampMicros ?? end.lastTimestampMicros),
    );
    const expected = first && this.#context.keeps("repeated-id-ignores-position") ? undefined : expectedPosition;
    const isMisplaced = !isOlder && expected !== undefined && expected !== end.count;
    // The unique key does not tell what this log alone cannot know.
    if ((isOlder || isMisplaced) && !isLookedUp) return this.#withLookUp(() => this.#plan(end, stored, job, call));
    if (isOlder) return { kind: "older", fresh, first: first?.position };
    if (isMisplaced) return { kind: "refuse", error: misplaced(expected, end.count) };
    return { kind: "write", entries, result: { messageIds, position: first ? first.position : end.count } };
  }

  async #withLookUp<T>(run: () => Promise<T>): Promise<T> {
    const before = this.#looksUp;
    this.#looksUp = true;
    try {
      return await run();
    } finally {
      this.#looksUp = before;
    }
  }

  #entriesOf(end: Head, fresh: readonly Given[]): Entry[] {
    const now = this.#context.options.nowMicros();
    let last = end.lastTimestampMicros;
    return fresh.map(({ id, message }, i) => {
      const timestampMicros = message.timestampMicros ?? Math.max(now, last);
      last = Math.max(last, timestampMicros);
      return {
        log: end.record.log,
        seq: end.seq + i + 1,
        id,
        timestampMicros,
        role: message.role,
        parts: message.parts,
        metadata: message.metadata,
        sessionId: this.#sessionId,
        originSessionId: this.#sessionId,
        owed: fresh.length - i - 1,
      };
    });
  }

  async #write(head: Head, plans: readonly Plan[], call: Call | undefined): Promise<void> {
    const entries = plans.flatMap((plan) => (plan.kind === "write" ? plan.entries : []));
    const atMs = this.#context.options.clockMs();
    const answer =
      entries.length === 0 ? 0 : await this.#context.store.append(head.record.log, head.seq + 1, entries, call);
    const stored = answer === "idTaken" ? 0 : answer;
    const done = this.#context.keeps("cut-batch-goes-on")
      ? wholePlans(plans, stored)
      : stored < entries.length
        ? 0
        : plans.length;
    if (stored > 0 && !(await this.#isReachable(head, entries.slice(0, stored), call))) {
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
    this.#head = {
      ...plans.reduce((end, plan) => (plan.kind === "write" ? endAfter(end, plan.entries) : end), head),
      atMs,
    };
    this.#isFresh = false;
    this.#context.remember(this.#head);
    this.#onAppended(this.#head);
  }

  /** After a slow write: whether it is where everybody sees it. */
  async #isReachable(head: Head, entries: readonly Entry[], call: Call | undefined): Promise<boolean> {
    if (!this.#context.isOld(head.atMs) || !this.#context.keeps("late-append-reached")) return true;
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
    const messages: Unplaced[] = this.#entriesOf(head, plan.fresh).sort(
      (a, b) => a.timestampMicros - b.timestampMicros,
    );
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

/** Carries a refusal out of a placement, before anything was changed. */
class Refusal extends Error {
  constructor(cause: DomainError) {
    super(cause.message, { cause });
  }
}

function endAfter(head: Head, entries: readonly Entry[]): Head {
  const last = entries.at(-1);
  if (!last) return head;
  return {
    ...head,
    seq: head.seq + entries.length,
    count: head.count + entries.length,
    lastTimestampMicros: last.timestampMicros,
    lastId: last.id,
  };
}

/** How many plans, from the first, are in when only so many entries were stored. */
function wholePlans(plans: readonly Plan[], stored: number): number {
  let left = stored;
  for (const [i, plan] of plans.entries()) {
    if (plan.kind !== "write") continue;
    left -= plan.entries.length;
    if (left < 0) return i;
  }
  return plans.length;
}

function outcomeOf(plan: Plan): TurnOutcome {
  if (plan.kind === "refuse") return { ok: false, error: plan.error };
  if (plan.kind === "older") throw new Error("An older message was not placed");
  return { ok: true, result: plan.result };
}

function isSame(entry: Entry, message: Given["message"]): boolean {
  const sameTime = message.timestampMicros === undefined || message.timestampMicros === entry.timestampMicros;
  return sameTime && sameContent(entry, message);
}

/** The answer when a job's messages will have these positions. Throws a Refusal when the caller expected another one. */
function answerPlaced(
  { given, expectedPosition }: Job,
  plan: OlderPlan,
  messages: readonly Unplaced[],
  positions: readonly number[],
): LogResult {
  const messageIds = given.map(({ id }) => id);
  if (plan.first !== undefined) {
    const first = plan.first;
    return { messageIds, position: first + positions.filter((position, i) => position - i <= first).length };
  }
  const position = positions[messages.findIndex(({ id }) => id === messageIds[0])] as number;
  if (expectedPosition !== undefined && expectedPosition !== position) {
    throw new Refusal(misplaced(expectedPosition, position));
  }
  return { messageIds, position };
}

function takenWithOtherContent(messageId: string, sessionId: string): DomainError {
  const text = `Message ${JSON.stringify(messageId)} of session ${JSON.stringify(sessionId)} exists with other content`;
  return new DomainError("already_exists", text);
}

function misplaced(expected: number, position: number): DomainError {
  return new DomainError("aborted", `expected_position is ${expected}, but the message would get position ${position}`);
}
