import { sameContent } from "../../../domain/chat-message.js";
import { isErased } from "../../../domain/erasure.js";
import { DomainError, notAsExpected } from "../../../domain/errors.js";
import { contentOf, MessageBody } from "../../../domain/message-body.js";
import type { LogResult } from "../../storage-provider.js";
import { endMicros, type Head } from "../heads.js";
import type { Entry } from "../log-store.js";
import type { Located } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import type { Unplaced } from "../write/side-logs.js";
import type { Job, MessageWithId } from "./append-job.js";

/** What one append means for a head. */
export type Plan =
  | { readonly kind: "write"; readonly entries: readonly Entry[]; readonly result: LogResult }
  | { readonly kind: "known"; readonly result: LogResult }
  | { readonly kind: "refuse"; readonly error: DomainError }
  | {
      readonly kind: "older";
      readonly messageIds: readonly string[];
      readonly fresh: readonly MessageWithId[];
      /** The positions of those messages of the call that the session already has, by id. */
      readonly positions: ReadonlyMap<string, number>;
    };

export type OlderPlan = Extract<Plan, { kind: "older" }>;

/** The visible messages with the ids that were looked up. */
export type Known = ReadonlyMap<string, Located>;

/** The ids of an append that must be looked up before it can be planned on `end`. */
export function idsToLookUp(end: Head, job: Job): string[] {
  const { given, expectedPosition } = job;
  // Rule: look-up-in-segments. The unique key only covers the open log; ids in older segments must be looked up first.
  const hasSegments = end.record.segments.length > 0;
  const isPlain = !hasSegments && given.length === 1;
  const isMisplaced = expectedPosition !== undefined && expectedPosition !== end.count;
  // The unique key does not help when an append is refused because of its position, or goes to another log. Either may
  // repeat an earlier append, so its ids must be looked up.
  if (isPlain && !isMisplaced && !isOlderThanEnd(end, given[0] as MessageWithId)) return [];
  return idsOf(job).filter((id) => !given.some((one) => one.id === id && one.isMade));
}

/**
 * All ids under which an append may store messages. They are looked up when even the open log may hold some of them.
 */
export function idsOf({ given, draft }: Job): string[] {
  const ids = given.map(({ id }) => id);
  return draft ? [...ids, draft.renamed.id] : ids;
}

/** Decides what an append means for `end`, which is a head together with the appends planned before this one. */
export function planAppend(end: Head, known: Known, job: Job, nowMicros: number): Plan {
  const { expectedPosition } = job;
  const given = givenOn(known, job);
  for (const { id, message } of given) {
    const found = known.get(id);
    if (found && job.draft === undefined && !isSame(found.entry, message)) {
      return { kind: "refuse", error: takenWithOtherContent(id, end.record.sessionId) };
    }
  }
  const messageIds = given.map(({ id }) => id);
  const fresh = given.filter(({ id }) => !known.has(id));
  const refusal = refusalByDrafts(end, fresh, job);
  if (refusal) return { kind: "refuse", error: refusal };
  const first = known.get(messageIds[0] as string);
  // Rule: repeated-id-ignores-position.
  if (fresh.length === 0) return { kind: "known", result: { messageIds, position: (first as Located).position } };
  const entries = entriesAt(end, fresh, nowMicros);
  const isOlder = entries.some(
    ({ timestampMicros }, i) => timestampMicros < (entries[i - 1]?.timestampMicros ?? endMicros(end)),
  );
  if (isOlder) return { kind: "older", messageIds, fresh, positions: positionsOf(known) };
  if (expectedPosition !== undefined) {
    const positions = positionsOf(known);
    for (const [i, { id }] of fresh.entries()) positions.set(id, end.count + i);
    const error = misplacement(messageIds, expectedPosition, positions);
    if (error) return { kind: "refuse", error };
  }
  return { kind: "write", entries, result: { messageIds, position: first ? first.position : end.count } };
}

/**
 * Makes entries for messages at the end of a head. A message without a timestamp gets the current time or that of the
 * message before it, whichever is later.
 */
export function entriesAt(end: Head, fresh: readonly MessageWithId[], nowMicros: number): Entry[] {
  let last = endMicros(end);
  return fresh.map(({ id, message, atMicros = nowMicros, attachments }, i) => {
    const timestampMicros = message.timestampMicros ?? Math.max(atMicros, last);
    last = Math.max(last, timestampMicros);
    return {
      log: end.record.log,
      seq: end.seq + i + 1,
      id,
      timestampMicros,
      role: message.role,
      body: MessageBody.of(message, attachments),
      sessionId: end.record.sessionId,
      originSessionId: end.record.sessionId,
      remaining: fresh.length - i - 1,
    };
  });
}

/**
 * The head after entries were written at its end. Every append makes one, and an object spread would make appends a
 * tenth slower.
 */
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
    usageSums: lastSums(entries) ?? head.usageSums,
    atMs,
  };
}

/** The sums that the last of the entries with usage has; undefined when none has any. */
function lastSums(entries: readonly Entry[]): Entry["usageSums"] {
  for (let i = entries.length - 1; i >= 0; i--) if (entries[i]?.usageSums !== undefined) return entries[i]?.usageSums;
  return undefined;
}

/** Counts the plans at the front that are complete when only the first `stored` of all planned entries were stored. */
export function wholePlans(plans: readonly Plan[], stored: number): number {
  let left = stored;
  for (const [i, plan] of plans.entries()) {
    if (plan.kind !== "write") continue;
    left -= plan.entries.length;
    if (left < 0) return i;
  }
  return plans.length;
}

/**
 * Thrown when the draft whose message was to be appended is no longer open, because another process has appended the
 * message, or discarded the draft.
 */
export class DraftEnded extends DomainError {
  constructor() {
    super("failed_precondition", "The draft has ended");
  }
}

/** Refuses messages whose ids are reserved by drafts of the session; null when there is no conflict. */
function refusalByDrafts({ record }: Head, fresh: readonly MessageWithId[], { draft }: Job): DomainError | null {
  const draftLog = draft?.log;
  if (draftLog === undefined && record.drafts.length === 0) return null;
  const open = openDrafts(record);
  // Rule: draft-appended-once.
  if (draftLog !== undefined && !open.some(({ log }) => log === draftLog)) return new DraftEnded();
  const reserved = open.find(({ log, messageId }) => log !== draftLog && fresh.some(({ id }) => id === messageId));
  if (!reserved) return null;
  const session = `session ${JSON.stringify(record.sessionId)}`;
  return new DomainError("already_exists", `Message ${JSON.stringify(reserved.messageId)} of ${session} is a draft`);
}

/**
 * The messages that an append would store. The message of a draft is stored under another id if that was done before,
 * or if another message has taken the draft's id.
 */
function givenOn(known: Known, { given, draft }: Job): readonly MessageWithId[] {
  const [own] = given;
  if (draft === undefined || own === undefined) return given;
  const { entry } = known.get(own.id) ?? {};
  // Rule: taken-draft-renamed.
  const isTaken = entry !== undefined && !isErased(entry.body) && !isSame(entry, own.message);
  return isTaken || known.has(draft.renamed.id) ? [draft.renamed] : given;
}

/**
 * Thrown while messages are being inserted, to refuse the append before anything is changed. `cause` is the error for
 * the caller.
 */
export class Refusal extends Error {
  constructor(cause: DomainError) {
    super(cause.message, { cause });
  }
}

/**
 * The answer to a job whose messages will have these positions. Throws a Refusal when the caller expected another
 * position.
 */
export function answerInserted(
  { expectedPosition }: Job,
  { messageIds, positions: before }: OlderPlan,
  messages: readonly Unplaced[],
  inserted: readonly number[],
): LogResult {
  const positions = new Map(messages.map(({ id }, i) => [id, inserted[i] as number]));
  for (const [id, earlier] of before)
    positions.set(id, earlier + inserted.filter((position, i) => position - i <= earlier).length);
  const error = expectedPosition === undefined ? null : misplacement(messageIds, expectedPosition, positions);
  if (error) throw new Refusal(error);
  return { messageIds, position: positions.get(messageIds[0] as string) as number };
}

function isOlderThanEnd(end: Head, { message }: MessageWithId): boolean {
  return message.timestampMicros !== undefined && message.timestampMicros < endMicros(end);
}

function isSame(entry: Entry, message: MessageWithId["message"]): boolean {
  const sameTime = message.timestampMicros === undefined || message.timestampMicros === entry.timestampMicros;
  return sameTime && sameContent(contentOf(entry), message);
}

export function takenWithOtherContent(messageId: string, sessionId: string): DomainError {
  const text = `Message ${JSON.stringify(messageId)} of session ${JSON.stringify(sessionId)} exists with other content`;
  return new DomainError("already_exists", text);
}

function positionsOf(known: Known): Map<string, number> {
  return new Map([...known].map(([id, { position }]) => [id, position]));
}

/** The error for the first message whose position is not the one that the caller expected; null when there is none. */
function misplacement(
  ids: readonly string[],
  expected: number,
  positions: ReadonlyMap<string, number>,
): DomainError | null {
  for (const [i, id] of ids.entries()) {
    const position = positions.get(id) as number;
    if (position === expected + i) continue;
    if (i === 0) return misplaced(expected, position);
    const text = `expected_position is ${expected}, but message ${i + 1} of the batch would get position ${position}, not ${expected + i}`;
    return notAsExpected(text, "position", position - i);
  }
  return null;
}

export function misplaced(expected: number, position: number): DomainError {
  const text = `expected_position is ${expected}, but the message would get position ${position}`;
  return notAsExpected(text, "position", position);
}
