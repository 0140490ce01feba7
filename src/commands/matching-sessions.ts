import { DomainError } from "../domain/errors.js";
import type { SessionCursor, SessionPage } from "../domain/page.js";
import type { Session } from "../domain/session.js";
import type { SessionPool } from "../pool/session-pool.js";
import { progressBar } from "./transfer/progress-bar.js";

/** Which sessions a command works on. */
export interface SessionFilter {
  /** Empty for sessions without an owner. */
  readonly owner: string;
  readonly labels?: readonly string[] | undefined;
  readonly parentId?: string | undefined;
}

const PAGE = 1000;
/** How many sessions are changed at the same time. */
const AT_ONCE = 16;
/** How often nothing can be changed before the command gives up. */
const MOST_VAIN_ROUNDS = 20;

/** Whether, and how, what a command deletes can be brought back. */
export function wayBack(undeleteDays = 0): string {
  if (undeleteDays === 0) return "there is no way back, because --undelete-days is not given";
  const time = undeleteDays === 1 ? "1 day" : `${undeleteDays} days`;
  return `each can be brought back for ${time} with: session-pool sessions undelete ID`;
}

export async function countMatching(sessions: SessionPool, filter: SessionFilter): Promise<number> {
  let count = 0;
  let cursor: SessionCursor | undefined;
  do {
    const page = await sessions.listSessions({ ...filter, limit: PAGE, cursor });
    count += page.sessions.length;
    cursor = page.next;
  } while (cursor !== undefined);
  return count;
}

export interface ChangedSessions {
  readonly changed: number;
  /** Sessions that were deleted or changed by others before this command came to them. */
  readonly left: number;
}

/**
 * Changes sessions until none matches any more, and none at all if `count` is 0. A changed session must no longer
 * match. Each round begins at the start of the list, because changes move sessions in it. A change that rejects with
 * `aborted` or `not_found` found another session than the list had; it is tried again if the session still matches.
 */
export async function changeMatching(
  sessions: SessionPool,
  filter: SessionFilter,
  change: (session: Session) => Promise<void>,
  { what, count }: { readonly what: string; readonly count: number },
): Promise<ChangedSessions> {
  if (count === 0) return { changed: 0, left: 0 };
  const bar = progressBar(what, "sessions");
  bar.start(count, 0);
  const left = new Set<string>();
  let changed = 0;
  let vain = 0;
  const changeOne = async (session: Session) => {
    if (!(await isChangedBy(change(session)))) return void left.add(session.sessionId);
    left.delete(session.sessionId);
    changed += 1;
    vain = 0;
    bar.setTotal(Math.max(count, changed));
    bar.update(changed);
  };
  try {
    for (;;) {
      const page = await firstPage(sessions, filter);
      if (page.sessions.length === 0) return { changed, left: left.size };
      vain += 1;
      if (vain > MOST_VAIN_ROUNDS) throw new Error(`${left.size} sessions change all the time; run the command again`);
      for (let start = 0; start < page.sessions.length; start += AT_ONCE) {
        const outcomes = await Promise.allSettled(page.sessions.slice(start, start + AT_ONCE).map(changeOne));
        const failed = outcomes.find((outcome) => outcome.status === "rejected");
        if (failed) throw failed.reason;
      }
    }
  } finally {
    bar.stop();
  }
}

/** The first page that has sessions; a page may have none although more follow. */
async function firstPage(sessions: SessionPool, filter: SessionFilter): Promise<SessionPage> {
  for (let cursor: SessionCursor | undefined; ; ) {
    const page = await sessions.listSessions({ ...filter, limit: PAGE, cursor });
    if (page.sessions.length > 0 || page.next === undefined) return page;
    cursor = page.next;
  }
}

/** Resolves to false when somebody else has changed or deleted the session before. */
async function isChangedBy(change: Promise<void>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (error instanceof DomainError && (error.code === "aborted" || error.code === "not_found")) return false;
    throw error;
  }
}
