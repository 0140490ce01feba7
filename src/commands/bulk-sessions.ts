import { readUndelete } from "../config/retention-flags.js";
import { checkOwner } from "../domain/access.js";
import { DomainError, type ErrorCode } from "../domain/errors.js";
import { checkLabels } from "../domain/labels.js";
import { DEFAULT_LIMITS } from "../domain/limits.js";
import type { Session } from "../domain/session.js";
import { parseTitleFilter } from "../domain/session-order.js";
import type { SessionPool } from "../pool/session-pool.js";
import type { ListSessionsOptions } from "../pool/session-pool-types.js";
import type { Pools } from "../pools.js";
import { confirm } from "./confirm.js";
import { wayBack } from "./matching-sessions.js";
import { print } from "./print.js";
import { printableInLine } from "./printable.js";
import type { SessionsTarget } from "./sessions.js";
import { writeBackup } from "./transfer/export-sessions.js";
import { writeOutput } from "./transfer/output.js";
import { progressBar } from "./transfer/progress-bar.js";
import { countSessions } from "./transfer/session-file.js";
import { withPools } from "./with-pools.js";

/** The flags that say which sessions a command works on. */
export interface Selection {
  readonly label?: readonly string[] | undefined;
  readonly parent?: string | undefined;
  /** Empty for sessions without an owner. */
  readonly owner?: string | undefined;
  readonly title?: string | undefined;
  readonly updatedSince?: number | undefined;
  readonly updatedUntil?: number | undefined;
  /** Whether not to ask. */
  readonly yes?: boolean | undefined;
}

type Filter = Omit<ListSessionsOptions, "limit" | "cursor" | "view">;

const PAGE = 1000;
/** How many sessions are worked on at the same time. */
const AT_ONCE = 16;
/** How often a session is tried that others change all the time. */
const MOST_TRIES = 5;

/** Deletes all sessions that match after it has said how many, and whether there is a way back. */
export function deleteMatching(target: SessionsTarget, selection: Selection): Promise<void> {
  const intent = `will be deleted; ${wayBack(target.undeleteDays)}`;
  return overMatching(target, selection, { done: "Deleted", intent }, (sessions) => {
    return async ({ sessionId }) => {
      await sessions.deleteSession(sessionId);
      return true;
    };
  });
}

/** Sets and removes labels of all sessions that match, and leaves their other labels alone. */
export function labelMatching(
  target: SessionsTarget,
  selection: Selection,
  { set, remove }: { readonly set: readonly string[]; readonly remove: readonly string[] },
): Promise<void> {
  if (set.length === 0 && remove.length === 0) throw new Error("Give at least one of --set and --remove");
  const added = new Map<string, string>();
  for (const [key, value] of set.map(labelOf)) {
    if (added.has(key)) throw new Error(`--set names ${JSON.stringify(key)} twice`);
    added.set(key, value);
  }
  checkLabels("--set", Object.fromEntries(added), target.limits ?? DEFAULT_LIMITS);
  for (const key of remove) {
    if (added.has(key)) throw new Error(`--set and --remove both name ${JSON.stringify(key)}`);
    if (key === "" || key.includes("=")) throw new Error(`--remove must be a key; it is ${JSON.stringify(key)}`);
  }
  const intent = "will get other labels";
  return overMatching(target, selection, { done: "Labeled", intent }, (sessions) => async (listed) => {
    for (let session = listed, tries = 1; ; tries++) {
      const labels = new Map(Object.entries(session.labels ?? {}));
      const isChanged =
        [...added].some(([key, value]) => labels.get(key) !== value) || remove.some((key) => labels.has(key));
      if (!isChanged) return false;
      for (const [key, value] of added) labels.set(key, value);
      for (const key of remove) labels.delete(key);
      try {
        const change = { labels: Object.fromEntries(labels) };
        await sessions.updateSession(session.sessionId, change, { expectedRevision: session.revision });
        return true;
      } catch (error) {
        if (codeOf(error) !== "aborted" || tries === MOST_TRIES) throw error;
        session = await sessions.getSession(session.sessionId);
      }
    }
  });
}

/** Writes a backup of all sessions that match, as `export` does. */
export async function exportMatching(
  target: SessionsTarget,
  selection: Selection,
  { file, attachments }: { readonly file: string; readonly attachments: boolean },
): Promise<void> {
  const filter = filterOf(selection);
  const run = async (pools: Pools) => {
    const pool = pools.for(target.namespace);
    const keys: { sessionId: string; createTimeMicros: number }[] = [];
    for await (const page of pagesOf(pool.sessions, filter)) {
      for (const { sessionId, createTimeMicros } of page) keys.push({ sessionId, createTimeMicros });
    }
    if (keys.length === 0) throw new Error("No session matches; nothing was written");
    process.stderr.write(`Exporting ${countSessions(keys.length)}\n`);
    const { exported, deleted } = await writeOutput(file, (write) => writeBackup(pool, write, { keys, attachments }));
    if (target.audit !== undefined) target.audit.summary = { sessions: exported };
    const note = deleted === 0 ? "" : `; ${countSessions(deleted)} deleted meanwhile`;
    process.stderr.write(`Exported ${countSessions(exported)}${note}\n`);
  };
  await withPools(target.storage, run, { limits: target.limits });
}

/**
 * Works on all sessions that match, each at most once: the list is read from the most recently updated session on, and
 * what is changed meanwhile moves to its beginning. So it may be stopped and repeated at any time. A session that fails
 * is reported and does not keep it from the others; then this rejects in the end.
 */
async function overMatching(
  target: SessionsTarget,
  selection: Selection,
  { done, intent }: { readonly done: string; readonly intent: string },
  stepOf: (sessions: SessionPool) => (session: Session) => Promise<boolean>,
): Promise<void> {
  const filter = filterOf(selection);
  const { storage, limits, undeleteDays = 0, json, audit } = target;
  const run = async (pools: Pools) => {
    const { sessions } = pools.for(target.namespace);
    const step = stepOf(sessions);
    let count = 0;
    for await (const page of pagesOf(sessions, filter)) count += page.length;
    if (count > 0) await confirm(`${countSessions(count)} ${intent}`, selection.yes ?? false);
    const bar = progressBar(done, "sessions");
    bar.start(count, 0);
    let [changed, left, failed] = [0, 0, 0];
    const one = async (session: Session) => {
      const { sessionId } = session;
      try {
        const working = step(session);
        if (await (audit?.step({ sessionId }, working) ?? working)) changed += 1;
      } catch (error) {
        const code = codeOf(error);
        if (code === "not_found") left += 1;
        // What concerns every session ends the command.
        else if (code === undefined || code === "unavailable" || code === "internal") throw error;
        else {
          failed += 1;
          process.stderr.write(`${printableInLine(`${JSON.stringify(sessionId)}: ${(error as Error).message}`)}\n`);
        }
      }
      bar.increment();
    };
    try {
      for await (const page of pagesOf(sessions, filter)) {
        for (let start = 0; start < page.length; start += AT_ONCE) {
          const outcomes = await Promise.allSettled(page.slice(start, start + AT_ONCE).map(one));
          const thrown = outcomes.find((outcome) => outcome.status === "rejected");
          if (thrown) throw thrown.reason;
        }
      }
    } finally {
      bar.stop();
      if (audit !== undefined) audit.summary = { sessions: changed, failed };
    }
    const gone = left === 0 ? "" : `; ${countSessions(left)} had been deleted meanwhile`;
    if (json) print(JSON.stringify({ [done.toLowerCase()]: changed, left, failed }));
    else print(`${done} ${countSessions(changed)}${gone}`);
    if (failed > 0)
      throw new DomainError("failed_precondition", `${countSessions(failed)} failed; the lines above say why`);
  };
  await withPools(storage, run, { limits, undeleteMs: readUndelete(undeleteDays) });
}

async function* pagesOf(sessions: SessionPool, filter: Filter): AsyncGenerator<readonly Session[]> {
  let cursor: ListSessionsOptions["cursor"];
  do {
    const page = await sessions.listSessions({ ...filter, limit: PAGE, cursor });
    yield page.sessions;
    cursor = page.next;
  } while (cursor !== undefined);
}

/** Throws an Error when nothing says which sessions are meant. */
function filterOf({ label = [], parent = "", owner, title, updatedSince, updatedUntil }: Selection): Filter {
  checkOwner("--owner", owner);
  const isGiven = [owner, title, updatedSince, updatedUntil].some((value) => value !== undefined);
  if (!isGiven && label.length === 0 && parent === "") {
    throw new Error(
      "Say which sessions are meant: --label, --owner, --no-owner, --parent, --title, --updated-since or --updated-until",
    );
  }
  const times = { updatedSinceMicros: updatedSince, updatedUntilMicros: updatedUntil };
  return { labels: label, parentId: parent, owner, titleWords: parseTitleFilter(title), ...times };
}

function labelOf(text: string): readonly [string, string] {
  const end = text.indexOf("=");
  if (end < 1) throw new Error(`--set must be key=value; it is ${JSON.stringify(text)}`);
  return [text.slice(0, end), text.slice(end + 1)];
}

function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof DomainError ? error.code : undefined;
}
