import type { DraftRef, NextRecord, SessionRecord } from "./log-store.js";

/** How old a stored update time must be before an append moves it. Lists are ordered to this precision. */
export const UPDATE_TIME_SLACK_MICROS = 1_000_000;

/**
 * The store's time from which a sweep has work with a record: the earliest mark of what it may clear away, or 0 while
 * something has no mark yet. Null when there is nothing to sweep. Stores keep this beside the record, for
 * `listSweepable`.
 */
export function sweepTimeOf(record: Omit<SessionRecord, "forks">): number | null {
  // Rule: binned-not-swept.
  if (record.bin !== undefined) return null;
  if (record.deleted) return record.markedAtMs ?? 0;
  const marks = record.dropped.map(({ markedAtMs }) => markedAtMs ?? 0);
  for (const { purpose, markedAtMs } of record.namedLogs) if (purpose === "copy") marks.push(markedAtMs ?? 0);
  return marks.length === 0 ? null : marks.reduce((a, b) => Math.min(a, b));
}

/**
 * The tombstone of a session that is gone for good. It keeps no content, but the owner: an erasure of all of an owner
 * looks for that.
 */
export function tombstoneOf(record: NextRecord): NextRecord {
  return {
    ...record,
    title: "",
    metadata: undefined,
    labels: undefined,
    expireTimeMicros: undefined,
    drafts: [],
    deleted: true,
    bin: undefined,
    markedAtMs: null,
  };
}

/** Whether entries may be appended to the logs of a record, because it lives or is being restored. */
export function isWritable({ deleted, restoring }: Pick<SessionRecord, "deleted" | "restoring">): boolean {
  return !deleted || restoring === true;
}

/** Whether a record lets entries into a log. */
export function namesLog(record: Omit<SessionRecord, "forks">, wanted: string): boolean {
  const { log } = record;
  return isWritable(record) && (log === wanted || sideLogs(record).includes(wanted));
}

/** The logs other than the open one that a record lets entries into. */
export function sideLogs({ namedLogs, drafts }: Pick<SessionRecord, "namedLogs" | "drafts">): readonly string[] {
  return [...namedLogs.map(({ log }) => log), ...drafts.filter(isOpenDraft).map(({ log }) => log)];
}

export function isOpenDraft({ end }: DraftRef): boolean {
  return end === undefined;
}

export function openDrafts({ drafts }: Pick<SessionRecord, "drafts">): readonly DraftRef[] {
  return drafts.length === 0 ? drafts : drafts.filter(isOpenDraft);
}

/** The uid of the session that owns a log. Logs are named `uid.n`. */
export function ownerOf(log: string): string {
  const dot = log.indexOf(".");
  return dot < 0 ? log : log.slice(0, dot);
}
