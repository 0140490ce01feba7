import type { Call } from "../../../domain/call.js";
import { DomainError, notFound } from "../../../domain/errors.js";
import { messageSize } from "../../../domain/message-size.js";
import { checkBytes } from "../../../domain/validate.js";
import type { LogResult, TurnOutcome } from "../../storage-provider.js";
import type { AttachmentNames } from "../attachments/attachment-names.js";
import { bytesOf } from "../byte-counts.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Entry } from "../log-store.js";
import { locateOnHead } from "../read/lookup.js";
import { Again, Retries } from "../retries.js";
import { positionOf } from "../segments.js";
import { isUsed, withSums } from "../usage-counter.js";
import type { EditorWait } from "../write/editor-wait.js";
import type { Inserter } from "../write/inserter.js";
import { clearIfOrphaned } from "../write/orphans.js";
import type { RecordWriter } from "../write/record-writer.js";
import { type Job, type MessageWithId, namesAttachments, type PendingJobs } from "./append-job.js";
import {
  answerInserted,
  endAfter,
  entriesAt,
  idsOf,
  idsToLookUp,
  type Known,
  type OlderPlan,
  type Plan,
  planAppend,
  Refusal,
  wholePlans,
} from "./append-plan.js";

/** Reacts to the appends to a session. */
export interface AppendListener {
  /** Called while an append is written. The append waits for the returned promise, which must not reject. */
  readonly onAppend: (head: Head, call: Call | undefined) => Promise<void> | undefined;
  /** Called with the head after every successful append. */
  readonly onAppended: (head: Head) => void;
}

/** What appending needs of the other parts of the engine. */
export interface AppendTurnParts extends AppendListener {
  readonly context: HistoryContext;
  readonly writer: RecordWriter;
  readonly editorWait: EditorWait;
  readonly inserter: Inserter;
  readonly names: AttachmentNames;
}

/** The state that one step leaves for the next. */
interface TurnState {
  /** The head to work on; null when it has to be read. */
  readonly head: Head | null;
  /** Whether the head was read by these appends, and nothing has been written since. */
  readonly isFresh: boolean;
  /** Whether a write was cut short or refused, so that all ids must be looked up, in the open log too. */
  readonly looksUpAll: boolean;
  /** The log in which a write of these appends stopped half way. */
  readonly cutLog: string | null;
}

/** The first of the appends, which can be stored in one write, and why the next one cannot. */
interface PlannedWrite {
  readonly plans: readonly Plan[];
  /** Whether the next one must be planned on a fresh head. */
  readonly isStale?: boolean;
  /** Set when the next one has messages that are older than the history's last. */
  readonly older?: OlderPlan;
}

/** Thrown when somebody else was first. The next attempt starts with what the failed step has learned. */
class Lost extends Again {
  readonly learned: Partial<TurnState>;

  constructor(learned: Partial<TurnState>) {
    super();
    this.learned = learned;
  }
}

const NOTHING_KNOWN: Known = new Map();

/**
 * The appends of one turn of TurnLock: those that waited while others changed the session. They are stored step by
 * step, each step as many as fit into one write, until each has its outcome. The file is long because planning and
 * writing share the state of the turn.
 */
export class AppendTurn {
  readonly #parts: AppendTurnParts;
  readonly #context: HistoryContext;
  readonly #sessionId: string;
  readonly #jobs: PendingJobs;
  readonly #retries: Retries;
  readonly #names: AttachmentNames;

  constructor(parts: AppendTurnParts, sessionId: string, jobs: PendingJobs) {
    this.#parts = parts;
    this.#context = parts.context;
    this.#sessionId = sessionId;
    this.#jobs = jobs;
    this.#names = parts.names;
    this.#retries = new Retries(parts.context.options, sessionId);
  }

  async run(): Promise<void> {
    const head = this.#context.cached(this.#sessionId);
    let state: TurnState = { head, isFresh: false, looksUpAll: false, cutLog: null };
    let reason: string | null = null;
    while (this.#jobs.dropEnded()) {
      try {
        state = await this.#step(state, reason);
        reason ??= "an append found no place";
      } catch (error) {
        this.#context.forget(this.#sessionId);
        if (!(error instanceof Again)) return this.#failAll(error);
        reason = error.message;
        await this.#retries.pause();
        state = { ...state, ...(error instanceof Lost && error.learned), head: null };
      }
    }
  }

  /** `reason` says why an earlier step was not the last one; null at the first step. */
  async #step(before: TurnState, reason: string | null): Promise<TurnState> {
    const { context, writer, editorWait, inserter } = this.#parts;
    const isUsable = before.head && (before.isFresh || this.#jobs.areAllPermittedBy(before.head.record));
    const state = isUsable ? before : await this.#reload(before);
    const { head } = state;
    if (!head) {
      this.#failAll(notFound("Session", this.#sessionId));
      return state;
    }
    // Rule: appends-admitted-singly.
    if (state.isFresh && !this.#jobs.dropForeign(head.record)) return state;
    if (reason !== null) this.#retries.count([head], reason);
    const { call } = this.#jobs;
    const isOurs = writer.sealedHere(head) || (head.state === "unfinished" && head.record.log === state.cutLog);
    if (head.state !== "open" && !isOurs) {
      await editorWait.settle(head, call);
      return { ...state, head: null };
    }
    if (head.record.segments.length > context.options.maxSegments) {
      await inserter.merge(head, call);
      return { ...state, head: null };
    }
    const { plans, isStale, older } = await this.#planAll(head, state, call);
    if (isStale && plans.length === 0) {
      if (state.isFresh) throw new Again();
      return this.#reload(state);
    }
    if (older && plans.length === 0) return this.#insertFirst(head, state, older, call);
    if (isOurs || head.seq >= context.options.maxLogEntries) {
      await writer.rollOver(head, call);
      return { ...state, head: null };
    }
    return this.#write(head, state, plans, call);
  }

  /** Plans as many appends as one write can store, each on the state that the ones before it leave. */
  async #planAll(head: Head, { isFresh, looksUpAll }: TurnState, call: Call | undefined): Promise<PlannedWrite> {
    const plans: Plan[] = [];
    const ids = new Set<string>();
    let end = head;
    let bytes = 0;
    for (const job of this.#jobs.all) {
      if (job.given.some(({ id }) => ids.has(id))) return { plans };
      const wanted = looksUpAll ? idsOf(job) : idsToLookUp(end, job);
      const known = wanted.length === 0 ? NOTHING_KNOWN : await this.#lookUp(head, wanted, call);
      if (known === null) return { plans, isStale: true };
      let plan = await this.#planFilled(end, known, job, call);
      const refusal = this.#refusalOf(plan, end, job, bytes);
      if (refusal !== null && (await refusal) !== null) {
        // What is stored already needs no room and no attachments, so all ids are looked up before an append is
        // refused.
        const all = await this.#lookUp(head, idsOf(job), call);
        if (all === null) return { plans, isStale: true };
        plan = await this.#planFilled(end, all, job, call);
        const error = await this.#refusalOf(plan, end, job, bytes);
        if (error !== null) plan = { kind: "refuse", error };
      }
      if (plan.kind === "older") return { plans, older: plan };
      const isCertain = isFresh && !this.#context.isOld(head.atMs);
      // Rule: refusals-re-read.
      if (plan.kind !== "write" && !isCertain) return { plans, isStale: true };
      plans.push(plan);
      if (plan.kind !== "write") continue;
      for (const { id } of plan.entries) ids.add(id);
      end = endAfter(end, plan.entries);
      if (this.#context.counts.isOn) bytes += bytesOf(plan.entries);
    }
    return { plans };
  }

  /** Plans an append, and fills in what its messages say of attachments if they are to be stored. */
  #planFilled(end: Head, known: Known, job: Job, call: Call | undefined): Plan | Promise<Plan> {
    const plan = planAppend(end, known, job, this.#context.options.nowMicros());
    const isStored = plan.kind === "write" || plan.kind === "older";
    return isStored && namesAttachments(job) ? this.#fill(end, known, job, call) : plan;
  }

  async #fill(end: Head, known: Known, job: Job, call: Call | undefined): Promise<Plan> {
    try {
      const filled = await this.#filled(end, known, job, call);
      return planAppend(end, known, filled, this.#context.options.nowMicros());
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "invalid_argument") throw error;
      return { kind: "refuse", error };
    }
  }

  async #filled(head: Head, known: Known, job: Job, call: Call | undefined): Promise<Job> {
    const all = job.draft === undefined ? job.given : [...job.given, job.draft.renamed];
    const fresh = all.filter(({ id }) => !known.has(id));
    const named = await this.#names.fillAll(
      head,
      fresh.map(({ message }) => message.parts),
      call,
      job.draft?.log,
    );
    const filled = new Map(fresh.map((one, i) => [one, named[i]]));
    const fill = (one: MessageWithId): MessageWithId => {
      const { parts, attachments = [] } = filled.get(one) ?? {};
      if (parts === undefined) return one;
      const message = { ...one.message, parts };
      // What was filled in counts. The message of a draft was checked when the draft was extended.
      if (attachments.length > 0 && job.draft === undefined) {
        checkBytes("message", messageSize(message), this.#context.options.limits.messageBytes);
      }
      return { ...one, message, attachments };
    };
    const given = job.given.map(fill);
    return { ...job, given, draft: job.draft && { ...job.draft, renamed: fill(job.draft.renamed) } };
  }

  /**
   * The error for an append that names an attachment which is not there, or for which a quota has no room after appends
   * of so many bytes that were planned before. The message of a draft was checked when the draft was finished.
   */
  #refusalOf(plan: Plan, end: Head, job: Job, plannedBytes: number) {
    const { counts, quotas, options } = this.#context;
    if (plan.kind === "refuse" && namesAttachments(job)) return plan.error;
    if (!counts.isOn || job.draft !== undefined || (plan.kind !== "write" && plan.kind !== "older")) return null;
    const entries = plan.kind === "write" ? plan.entries : entriesAt(end, plan.fresh, options.nowMicros());
    return quotas.refusalOfBytes(end.record, bytesOf(entries), job.call, plannedBytes);
  }

  /** The visible messages with these ids; null when the head turns out to be out of date. */
  async #lookUp(head: Head, ids: readonly string[], call: Call | undefined): Promise<Known | null> {
    try {
      return await locateOnHead(this.#context, head, ids, call);
    } catch (error) {
      if (error instanceof Again) return null;
      throw error;
    }
  }

  async #write(head: Head, state: TurnState, plans: readonly Plan[], call: Call | undefined): Promise<TurnState> {
    const planned: Entry[] = [];
    for (const plan of plans) if (plan.kind === "write") planned.push(...plan.entries);
    const entries = planned.some(isUsed) ? await withSums(this.#context, head, planned, call) : planned;
    const atMs = this.#context.knownMs();
    const answer = entries.length === 0 ? 0 : await this.#append(head, entries, call);
    if (answer === "unnamed") throw new Again();
    const stored = answer === "idTaken" ? 0 : answer;
    // Rule: cut-batch-goes-on.
    const done = wholePlans(plans, stored);
    if (stored > 0 && this.#isLate(head) && !(await this.#isReachable(head, entries.slice(0, stored), call))) {
      const error = new DomainError("unavailable", "The append took too long; whether it was stored is unknown");
      this.#settle(plans.length, () => ({ ok: false, error }));
      return { ...state, head: null };
    }
    this.#settle(done, (i) => outcomeOf(plans[i] as Plan));
    if (stored < entries.length) {
      throw new Lost({ looksUpAll: true, cutLog: stored > 0 ? head.record.log : state.cutLog });
    }
    if (entries.length === 0) return state;
    // Rule: head-dated-before.
    const after = endAfter(head, entries, atMs);
    this.#context.remember(after);
    this.#parts.onAppended(after);
    return { ...state, head: after, isFresh: false };
  }

  async #append(head: Head, entries: readonly Entry[], call: Call | undefined) {
    const appended = this.#context.append(head.record, head.record.log, head.seq + 1, entries, call);
    const touched = this.#parts.onAppend(head, call);
    if (!touched) return appended;
    const [answer] = await Promise.all([appended, touched]);
    return answer;
  }

  #isLate(head: Head): boolean {
    // Rule: late-append-reached.
    return this.#context.isOld(head.atMs);
  }

  /** Whether the record still leads to entries whose write took long. Otherwise nobody can see them. */
  async #isReachable(head: Head, entries: readonly Entry[], call: Call | undefined): Promise<boolean> {
    const now = await this.#context.load(this.#sessionId, call);
    const { log } = head.record;
    const isThere =
      now?.record.log === log || (now && entries.every(({ seq }) => positionOf(now.record.segments, log, seq) >= 0));
    if (!isThere) await clearIfOrphaned(this.#context, head.atMs, head.record.uid, call);
    return !!isThere;
  }

  /** Puts the messages of the first append, some of which are older than the end of the history, where they belong. */
  async #insertFirst(head: Head, state: TurnState, plan: OlderPlan, call: Call | undefined): Promise<TurnState> {
    const { writer, inserter, onAppended } = this.#parts;
    const job = this.#jobs.all[0] as Job;
    const nowMicros = this.#context.options.nowMicros();
    const fresh = entriesAt(head, plan.fresh, nowMicros);
    const messages = fresh.toSorted((a, b) => a.timestampMicros - b.timestampMicros);
    const answerTo = (plan: OlderPlan) => (positions: readonly number[]) =>
      answerInserted(job, plan, messages, positions);
    const answerOn = async (now: Head) => {
      // Rule: appends-admitted-singly. The owner may have changed meanwhile.
      this.#jobs.dropForeign(now.record);
      if (this.#jobs.all[0] !== job) return null;
      // Rule: look-up-in-segments. Others may have appended the same messages meanwhile.
      const known = await this.#lookUp(now, idsOf(job), call);
      const again = known && planAppend(now, known, job, nowMicros);
      const isSame = again?.kind === "older" && isSamePlace(entriesAt(now, again.fresh, nowMicros), fresh);
      if (!isSame) return null;
      const named = plan.fresh.flatMap(({ attachments = [] }) => attachments);
      return (await this.#names.areThere(now, named, call, job.draft?.log)) ? answerTo(again) : null;
    };
    let placed: { readonly answer: LogResult } | null;
    try {
      placed = await inserter.insert(head, { messages, isAppend: true, answer: answerTo(plan), answerOn }, call);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (this.#context.isOld(head.atMs) || !state.isFresh) return this.#reload(state);
      this.#settle(1, () => ({ ok: false, error: error.cause }));
      if (writer.sealedHere(head)) await writer.rollOver(head, call);
      return { ...state, head: null };
    }
    if (!placed) throw new Again();
    const { answer } = placed;
    this.#settle(1, () => ({ ok: true, result: answer }));
    const after = this.#context.cached(this.#sessionId);
    if (after) onAppended(after);
    return { ...state, head: after, isFresh: false };
  }

  async #reload(state: TurnState): Promise<TurnState> {
    return { ...state, head: await this.#context.load(this.#sessionId, this.#jobs.call), isFresh: true };
  }

  #settle(count: number, outcomeAt: (i: number) => TurnOutcome): void {
    if (count > 0) this.#retries.reset();
    this.#jobs.settle(count, outcomeAt);
  }

  #failAll(error: unknown): void {
    this.#settle(this.#jobs.all.length, () => ({ ok: false, error }));
  }
}

/** Whether the same messages have the same timestamps. */
function isSamePlace(a: readonly Entry[], b: readonly Entry[]): boolean {
  const isSame = (one: Entry, other: Entry | undefined) =>
    one.id === other?.id && one.timestampMicros === other.timestampMicros;
  return a.length === b.length && a.every((entry, i) => isSame(entry, b[i]));
}

function outcomeOf(plan: Plan): TurnOutcome {
  if (plan.kind === "refuse") return { ok: false, error: plan.error };
  if (plan.kind === "older") throw new Error("An older message was not placed");
  return { ok: true, result: plan.result };
}
