import { DomainError } from "../../src/domain/errors.js";
import type { SessionCursor } from "../../src/domain/page.js";
import { type Observed, READS } from "./linearizable.js";
import type { SimDatabase } from "./sim-database.js";

/** A session as it stands in lists. */
interface Listed {
  readonly sessionId: string;
  readonly updateTimeMicros: number;
}

/** One list of all sessions, read page by page, and the sessions that were alive when it began and when it ended. */
export interface Listing {
  readonly fromMs: number;
  readonly toMs: number;
  readonly ids: readonly string[];
  /** By uid. */
  readonly before: ReadonlyMap<string, Listed>;
  readonly after: ReadonlyMap<string, Listed>;
}

interface Page {
  readonly sessions: readonly { readonly sessionId: string }[];
  readonly next?: SessionCursor | undefined;
}

/** Reads a whole list. Resolves to null when a page had no answer. */
export async function listAll(
  db: SimDatabase,
  nowMs: () => number,
  page: (cursor: SessionCursor | undefined) => Promise<Page | "died">,
): Promise<Listing | null> {
  const [fromMs, before, ids] = [nowMs(), living(db), [] as string[]];
  let cursor: SessionCursor | undefined;
  do {
    const answer = await orNull(page(cursor));
    if (answer === null || answer === "died") return null;
    ids.push(...answer.sessions.map(({ sessionId }) => sessionId));
    cursor = answer.next;
  } while (cursor);
  return { fromMs, toMs: nowMs(), ids, before, after: living(db) };
}

/**
 * Checks that every session is listed exactly once if it was alive all the time and did not move to the front
 * meanwhile. Only a change may move it, at most `lagMs` after it was answered.
 */
export function checkListing(
  { fromMs, toMs, ids, before, after }: Listing,
  history: readonly Observed[],
  lagMs: number,
) {
  for (const [uid, { sessionId, updateTimeMicros }] of before) {
    const then = after.get(uid);
    if (!then) continue;
    const isChanged = history.some((seen) => {
      const answeredMs = seen.answeredAt === Number.POSITIVE_INFINITY ? seen.answeredAt : seen.toMs;
      return changes(seen, sessionId) && seen.fromMs <= toMs && answeredMs >= fromMs - lagMs;
    });
    const times = ids.filter((id) => id === sessionId).length;
    const isMoved = isChanged && then.updateTimeMicros !== updateTimeMicros;
    if (!isMoved && times !== 1) throw new Error(`Session ${sessionId} was listed ${times} times: ${ids.join(" ")}`);
  }
}

function changes({ operation }: Observed, sessionId: string): boolean {
  return !READS.has(operation.op) && ("to" in operation ? operation.to : operation.id) === sessionId;
}

function living(db: SimDatabase): Map<string, Listed> {
  const records = db.records().filter(({ deleted }) => !deleted);
  return new Map(records.map((record) => [record.uid, record]));
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DomainError && error.code === "unavailable") return null;
    throw error;
  }
}
