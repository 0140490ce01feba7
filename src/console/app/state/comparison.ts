import { signal } from "@preact/signals";
import { getSession, listMessages } from "../api/calls.js";
import type { Message, Session, UsageSums } from "../api/types.js";
import { type Summary, summaryOf } from "../parts/summary.js";
import { added, hasCalls, without } from "./usage-sums.js";

/** How many sessions are compared at once. */
export const MAX_COMPARED = 6;

/** A session beside others. */
export interface Compared {
  readonly session: Session;
  readonly count: number;
  /** Of all messages that it shows. */
  readonly total: UsageSums;
  /** Of the messages after the last one that all have in common; undefined when it is not known. */
  readonly since: UsageSums | undefined;
  /** The first message that it does not have in common with the others. */
  readonly next: Summary | undefined;
}

export interface Comparison {
  readonly columns: readonly Compared[];
  /** How many messages all of them begin with. */
  readonly common: number;
}

/** Sessions side by side, with what they have in common. */
export class Comparer {
  readonly comparison = signal<Comparison | undefined>(undefined);
  readonly error = signal<unknown>(undefined);

  async read(sessionIds: readonly string[], signal: AbortSignal): Promise<void> {
    try {
      const ids = [...new Set(sessionIds)].slice(0, MAX_COMPARED);
      const sessions = await Promise.all(ids.map((sessionId) => getSession(sessionId, signal)));
      const common = await commonCount(sessions, signal);
      const columns = await Promise.all(sessions.map((session) => columnOf(session, sessions, common, signal)));
      if (signal.aborted) return;
      // Those that went on come first, and forks before the session that they left.
      const rank = (column: Compared) => 2 * Number(!hasCalls(column.since)) + Number(!isForkIn(columns, column));
      columns.sort((one, other) => rank(one) - rank(other));
      this.comparison.value = { columns, common };
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }
}

/** Whether a session is a fork of another one beside it. */
export function isForkIn(columns: readonly Compared[], { session }: Compared): boolean {
  return columns.some((other) => other.session !== session && other.session.sessionId === session.parentId);
}

/** What each of the sessions took, in their order, and those that are compared in it. */
export interface Taken {
  /** Whether it is what they took since they part, and not in all. */
  readonly isSince: boolean;
  readonly sums: readonly UsageSums[];
  /** What the rivals are: a fork is compared with other forks and not with the session that they left. */
  readonly rivals: "forks" | "sessions";
  readonly isRival: readonly boolean[];
}

export function takenBy({ columns, common }: Comparison): Taken {
  const isSince = common > 0 && columns.every(({ since }) => since !== undefined);
  const sums = columns.map(({ since, total }) => (isSince ? (since as UsageSums) : total));
  // A session that called no model is not cheaper than those that did.
  const haveCalled = sums.map((one) => hasCalls(one));
  const forks = columns.map((column, i) => haveCalled[i] === true && isForkIn(columns, column));
  const areForks = forks.filter(Boolean).length > 1;
  return { isSince, sums, rivals: areForks ? "forks" : "sessions", isRival: areForks ? forks : haveCalled };
}

/** Which rivals have the least of something; none when they have the same, or fewer than two say how much. */
export function leastOf(numbers: readonly number[], isRival: readonly boolean[]): readonly boolean[] {
  const compared = numbers.filter((number, i) => isRival[i] && number > 0);
  const least = Math.min(...compared);
  return numbers.map((number, i) => isRival[i] === true && number === least && new Set(compared).size > 1);
}

async function columnOf(
  session: Session,
  all: readonly Session[],
  common: number,
  signal: AbortSignal,
): Promise<Compared> {
  const count = Number(session.messageCount ?? 0);
  const total = added(session.usage, session.inheritedUsage);
  const shared = sharedUsage(all, common);
  const since = shared && without(total, shared);
  const found = common < count ? await messageAt(session.sessionId, common, signal) : undefined;
  return { session, count, total, since, next: found && summaryOf(found) };
}

/** The usage of the messages in common: what one of the sessions inherited, if it began with just these. */
function sharedUsage(all: readonly Session[], common: number): UsageSums | undefined {
  if (common === 0) return {};
  return all.find(({ inheritedCount }) => Number(inheritedCount) === common)?.inheritedUsage;
}

/** How many messages all sessions begin with. Halves the distance in each step, because what follows never rejoins. */
async function commonCount(sessions: readonly Session[], signal: AbortSignal): Promise<number> {
  if (sessions.length < 2) return 0;
  let low = 0;
  let high = Math.min(...sessions.map(({ messageCount }) => Number(messageCount ?? 0)));
  // Most forks have left where they began, so this is tried first.
  const likely = sessions.map(({ inheritedCount }) => Number(inheritedCount)).filter((count) => count > 0);
  let middle = likely.length > 0 ? Math.min(high, ...likely) : Math.ceil(high / 2);
  while (low < high) {
    if (middle === 0 || (await isCommon(sessions, middle - 1, signal))) low = middle;
    else high = middle - 1;
    // One more than a likely place decides it at once.
    middle = low === middle && likely.includes(low) ? Math.min(high, low + 1) : Math.ceil((low + high) / 2);
  }
  return low;
}

async function isCommon(sessions: readonly Session[], position: number, signal: AbortSignal): Promise<boolean> {
  const found = await Promise.all(sessions.map(({ sessionId }) => messageAt(sessionId, position, signal)));
  return new Set(found.map((message) => message?.info.id)).size === 1;
}

async function messageAt(sessionId: string, position: number, signal: AbortSignal): Promise<Message | undefined> {
  return (await listMessages(sessionId, { offset: position, limit: 1 }, signal)).messages[0];
}
