import type { Call } from "../../domain/call.js";
import { sameContent } from "../../domain/chat-message.js";
import { DomainError, invalidArgument } from "../../domain/errors.js";
import type { LogResult, TurnAppend } from "../storage-provider.js";
import type { Head, HistoryContext } from "./heads.js";
import type { Entry } from "./log-store.js";
import { type Located, locateOnHead } from "./lookup.js";
import type { Unplaced } from "./placer.js";

/** A message that has its id. */
export interface Given {
  readonly id: string;
  /** Whether the id was made here, just now: nobody has it. */
  readonly isMade: boolean;
  readonly message: TurnAppend["messages"][number];
}

export interface Job {
  readonly index: number;
  readonly given: readonly Given[];
  readonly expectedPosition: number | undefined;
  readonly call: Call | undefined;
}

/** What one append means on a head. */
export type Plan =
  | { readonly kind: "write"; readonly entries: readonly Entry[]; readonly result: LogResult }
  | { readonly kind: "known"; readonly result: LogResult }
  | { readonly kind: "refuse"; readonly error: DomainError }
  | { readonly kind: "older"; readonly fresh: readonly Given[]; readonly first: number | undefined };

export type OlderPlan = Extract<Plan, { kind: "older" }>;

const NOTHING_KNOWN: ReadonlyMap<string, Located> = new Map();

/** Says what appends mean, and writes nothing. */
export class AppendPlanner {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** Gives every message its id. invalid_argument: no message, one id twice, or a timestamp too far ahead. */
  jobOf({ messages, options }: TurnAppend, index: number): Job {
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
    checkIdsDiffer(given);
    return { index, given, expectedPosition: options?.expectedPosition, call: options };
  }

  /**
   * What an append means on `end`, the head with the appends planned before it; `stored` is the head as it is in the store. `looksUp`: also look for ids
   * in the open log, and for those made here. `Again` when the head is out of date.
   */
  async plan(end: Head, stored: Head, job: Job, looksUp: boolean, call: Call | undefined): Promise<Plan> {
    const { given, expectedPosition } = job;
    const hasSegments = stored.record.segments.length > 0 && this.#context.keeps("look-up-in-segments");
    const chosen = given.filter(({ isMade }) => looksUp || !isMade);
    const mustLookUp = looksUp || hasSegments || given.length > 1;
    const isLookedUp = chosen.length === 0 || mustLookUp;
    const ids = chosen.map(({ id }) => id);
    const known =
      mustLookUp && chosen.length > 0 ? await locateOnHead(this.#context, stored, ids, call) : NOTHING_KNOWN;

    for (const { id, message } of given) {
      const found = known.get(id);
      if (found && !isSame(found.entry, message))
        return { kind: "refuse", error: takenWithOtherContent(id, stored.record.sessionId) };
    }
    const fresh = given.filter(({ id }) => !known.has(id));
    const first = known.get((given[0] as Given).id);
    const messageIds = given.map(({ id }) => id);
    if (fresh.length === 0) return { kind: "known", result: { messageIds, position: (first as Located).position } };
    const entries = this.entriesOf(end, fresh);
    const isOlder = entries.some(
      ({ timestampMicros }, i) => timestampMicros < (entries[i - 1]?.timestampMicros ?? end.lastTimestampMicros),
    );
    const expected = first && this.#context.keeps("repeated-id-ignores-position") ? undefined : expectedPosition;
    const isMisplaced = !isOlder && expected !== undefined && expected !== end.count;
    // The unique key does not tell what this log alone cannot know.
    if ((isOlder || isMisplaced) && !isLookedUp) return this.plan(end, stored, job, true, call);
    if (isOlder) return { kind: "older", fresh, first: first?.position };
    if (isMisplaced) return { kind: "refuse", error: misplaced(expected, end.count) };
    return { kind: "write", entries, result: { messageIds, position: first ? first.position : end.count } };
  }

  /** Entries for messages at the end of a head; those without a timestamp get now, but never before the one in front. */
  entriesOf(end: Head, fresh: readonly Given[]): Entry[] {
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
        sessionId: end.record.sessionId,
        originSessionId: end.record.sessionId,
        owed: fresh.length - i - 1,
      };
    });
  }
}

function checkIdsDiffer(given: readonly Given[]): void {
  if (given.length === 1) return;
  const seen = new Set<string>();
  for (const { id } of given) {
    if (seen.has(id)) throw invalidArgument(`messages holds the id ${JSON.stringify(id)} twice`);
    seen.add(id);
  }
}

/** Carries a refusal out of a placement, before anything was changed. */
export class Refusal extends Error {
  constructor(cause: DomainError) {
    super(cause.message, { cause });
  }
}

/** The head behind entries that were written at its end. Every append makes one: a spread would cost it a tenth of its time. */
export function endAfter(head: Head, entries: readonly Entry[], atMs: number = head.atMs): Head {
  const last = entries.at(-1);
  if (!last) return head;
  return {
    record: head.record,
    seq: head.seq + entries.length,
    state: head.state,
    count: head.count + entries.length,
    lastTimestampMicros: last.timestampMicros,
    lastId: last.id,
    atMs,
  };
}

/** How many plans, from the first, are in when only so many entries were stored. */
export function wholePlans(plans: readonly Plan[], stored: number): number {
  let left = stored;
  for (const [i, plan] of plans.entries()) {
    if (plan.kind !== "write") continue;
    left -= plan.entries.length;
    if (left < 0) return i;
  }
  return plans.length;
}

function isSame(entry: Entry, message: Given["message"]): boolean {
  const sameTime = message.timestampMicros === undefined || message.timestampMicros === entry.timestampMicros;
  return sameTime && sameContent(entry, message);
}

/** The answer when a job's messages will have these positions. Throws a Refusal when the caller expected another one. */
export function answerPlaced(
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
