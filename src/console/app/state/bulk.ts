import { signal } from "@preact/signals";
import { deleteSession, getSession, listSessions, type SessionQuery, updateSession } from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import type { Session } from "../api/types.js";
import { count, plural } from "../text/format.js";
import { binDays, bringOneBack, whenBack } from "./bin.js";
import { exportAll } from "./export.js";
import { changeOf, type Labels } from "./label-lines.js";
import { forgetSession } from "./session-list.js";
import { insistently, isConflict, reasonOf, toast } from "./toasts.js";
import { dialog } from "./ui.js";

/** How many sessions one action concerns at most. For more there is the command line. */
export const MAX_BULK = 10_000;
/** The console puts what it exports together in memory. */
const MAX_EXPORTED = 500;
const AT_ONCE = 4;

/** Reads all sessions that match a filter, to count them before anything is done. */
export async function collect(
  query: SessionQuery,
  signal: AbortSignal,
  onRead: (count: number) => void,
): Promise<readonly Session[]> {
  const found: Session[] = [];
  let pageToken = "";
  do {
    const page = await listSessions({ ...query, limit: 1000, pageToken }, signal);
    found.push(...page.sessions);
    onRead(found.length);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && found.length < MAX_BULK);
  return found.slice(0, MAX_BULK);
}

/** What became of an action on many sessions. */
interface Outcome {
  readonly done: readonly Session[];
  readonly failed: number;
  /** Why the first one failed. */
  readonly problem: unknown;
}

/** Does the same with many sessions, a few at a time. Stops at once when the key does not permit it. */
async function each(
  sessions: readonly Session[],
  action: (session: Session) => Promise<unknown>,
  onDone: (count: number) => void,
): Promise<Outcome> {
  const waiting = [...sessions];
  const done: Session[] = [];
  const problems: unknown[] = [];
  const work = async () => {
    for (let session = waiting.shift(); session !== undefined; session = waiting.shift()) {
      const one = session;
      try {
        await insistently(() => action(one));
        done.push(one);
      } catch (error) {
        problems.push(error);
        if (isRefusal(error)) waiting.length = 0;
      }
      onDone(done.length + problems.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (done.length === 0 && problems.length > 0) throw problems[0];
  return { done, failed: sessions.length - done.length, problem: problems[0] };
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  return error.code === CODE.permissionDenied || error.code === CODE.unauthenticated;
}

function progressOf(doing: string, total: number) {
  const progress = signal("");
  const tell = (done: number) => {
    progress.value = `${doing} ${count(done)} of ${count(total)}…`;
  };
  return { progress, tell };
}

/** Says how many are done and why the others are not, and offers to undo it where that is possible. */
function report(what: string, { done, failed, problem }: Outcome, undo?: () => void, isOver?: () => boolean): void {
  const text = `${plural(done.length, "session")} ${what}`;
  toast(failed === 0 ? text : `${text}, ${count(failed)} not: ${reasonOf(problem)}`, {
    isError: failed > 0,
    ...(undo && { action: { label: "Undo", run: undo } }),
    ...(isOver && { isOver }),
  });
}

export function deleteAll(sessions: readonly Session[], onDone: () => void): void {
  const { progress, tell } = progressOf("Deleted", sessions.length);
  const number = plural(sessions.length, "session");
  dialog.value = {
    kind: "confirm",
    title: `Delete ${number}?`,
    text:
      binDays > 0
        ? `They can be brought back for ${plural(binDays, "day")}, by Undo or from the bin. Drafts and links to them end.`
        : "This server keeps no deleted sessions: they and their messages are deleted for good. Forks of them keep theirs. This cannot be undone.",
    label: "Delete",
    isDanger: true,
    progress,
    ...(binDays === 0 && { typed: "delete" }),
    run: async () => {
      const outcome = await each(
        sessions,
        async ({ sessionId }) => {
          await deleteSession(sessionId).catch((error) => {
            // Somebody else has deleted it meanwhile.
            if (!(error instanceof ApiError && error.code === CODE.notFound)) throw error;
          });
          forgetSession(sessionId);
        },
        tell,
      );
      if (binDays > 0) {
        const isOver = whenBack(outcome.done.map(({ sessionId }) => sessionId));
        report("deleted", outcome, () => void bringBack(outcome.done, onDone), isOver);
      } else report("deleted", outcome);
      onDone();
    },
  };
}

/** Brings deleted sessions back, and says how that went. */
export async function bringBack(sessions: readonly Session[], onDone: () => void): Promise<void> {
  try {
    report(
      "brought back",
      await each(
        sessions,
        ({ sessionId }) => bringOneBack(sessionId),
        () => undefined,
      ),
    );
  } catch (error) {
    toast(`Nothing was brought back. ${reasonOf(error)}`, { isError: true });
  }
  onDone();
}

/** Adds, changes and removes labels of many sessions; their other labels stay. */
export function labelAll(sessions: readonly Session[], onDone: () => void): void {
  const { progress, tell } = progressOf("Labelled", sessions.length);
  dialog.value = {
    kind: "prompt",
    title: `Label ${plural(sessions.length, "session")}`,
    text: "One label per line, as key=value. A key with a minus before it, such as -team, takes the label away. Other labels stay.",
    field: "Labels",
    value: "",
    isMultiline: true,
    label: "Label them",
    progress,
    run: async (text) => {
      const change = changeOf(text);
      const outcome = await each(sessions, (session) => relabel(session, change), tell);
      const undo = async () => {
        const back = await each(
          outcome.done,
          ({ sessionId, labels = {} }) => updateSession(sessionId, { labels, updateMask: "labels" }),
          () => undefined,
        );
        report("labelled as before", back);
        onDone();
      };
      report("labelled", outcome, () => void undo().catch((error) => toast(reasonOf(error), { isError: true })));
      onDone();
    },
  };
}

/** Changes the labels as they are now, so that a change which somebody else has made meanwhile stays. */
async function relabel(session: Session, change: (labels: Labels) => Labels): Promise<void> {
  const { sessionId } = session;
  const update = ({ labels = {}, revision }: Session) =>
    updateSession(sessionId, { labels: change(labels), updateMask: "labels", expectedRevision: revision });
  try {
    await update(session);
  } catch (error) {
    if (!isConflict(error)) throw error;
    await update(await getSession(sessionId));
  }
}

/** Opens the choice of messages for a data set of many sessions. */
export function dataSetOf(sessions: readonly Session[]): void {
  if (isTooMany(sessions)) return;
  dialog.value = { kind: "dataSet", sessionIds: sessions.map(({ sessionId }) => sessionId) };
}

export function exportMany(sessions: readonly Session[]): void {
  if (isTooMany(sessions)) return;
  const { progress, tell } = progressOf("Read", sessions.length);
  dialog.value = {
    kind: "confirm",
    title: `Export ${plural(sessions.length, "session")}?`,
    text: "All messages and files of them are saved in one file, which session-pool import reads.",
    label: "Save the file",
    isDanger: false,
    progress,
    run: async () => {
      const saved = await exportAll(sessions, tell);
      toast(`${plural(sessions.length, "session")} with ${plural(saved, "message")} saved`);
    },
  };
}

/** Says so when there are more sessions than the page exports. */
function isTooMany({ length }: readonly Session[]): boolean {
  if (length <= MAX_EXPORTED) return false;
  dialog.value = {
    kind: "confirm",
    title: `${plural(length, "session")} are too many`,
    text: `The page exports ${count(MAX_EXPORTED)} sessions at most. For more, use session-pool sessions export, or a narrower filter.`,
    label: "Close",
    isDanger: false,
    run: async () => undefined,
  };
  return true;
}
