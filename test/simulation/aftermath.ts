import type { Segment, SessionRecord } from "../../src/storage/history/log-store.js";
import type { SimDatabase } from "./sim-database.js";

/** The number of sweeps after which nothing is left that can be swept, even of a chain of sources. */
export const SWEEP_ROUNDS = 8;

/** Checks that every message exists that is named by a living record, or by a deleted one that has forks. */
export function checkRows(db: SimDatabase): void {
  for (const record of db.records()) {
    if (record.deleted && record.forks === 0) continue;
    for (const { log, first, last } of namedBy(record)) {
      for (let seq = first; seq <= last; seq++) {
        const entry = db.row(log, seq)?.entry;
        if (!entry) throw new Error(`Entry ${seq} of ${log}, named by ${record.uid}, is gone`);
        for (const named of entry.body.attachments) checkAttachment(db, named.log, `entry ${seq} of ${log}`);
      }
    }
  }
}

/** Checks that an attachment is whole. */
function checkAttachment({ attachments }: SimDatabase, log: string, where: string): void {
  const row = attachments.row(log);
  if (row === undefined || row.state === "arriving") throw new Error(`Attachment ${log}, named by ${where}, is gone`);
  const bytes = attachments.pieceBytes({ log, first: 1, last: Number.POSITIVE_INFINITY });
  if (bytes !== row.size) throw new Error(`Attachment ${log}, named by ${where}, has ${bytes} of ${row.size} bytes`);
}

/**
 * Checks that `forks` is never lower than the number of records that name a session. It may be higher only after deaths
 * and lost answers.
 */
export function checkCounts(db: SimDatabase, mayBeHigh: boolean): void {
  for (const { uid, forks } of db.records()) {
    const named = namesOf(db, uid);
    if (forks < named || (forks > named && !mayBeHigh)) {
      throw new Error(`forks of ${uid} is ${forks}, but ${named} records name it`);
    }
  }
}

/**
 * Checks that nothing is left once all sessions are deleted and swept. After deaths and lost answers, two things may
 * stay: tombstones whose `forks` is too high, with everything they hold and name, and entries whose writer died before
 * it finished.
 */
export function checkNothingLeft(db: SimDatabase, mayStay: boolean): void {
  const records = db.records();
  if (!mayStay && records.length + db.logNames().length > 0) {
    throw new Error(`Left over: records ${records.map((r) => r.uid).join(" ")}, logs ${db.logNames().join(" ")}`);
  }
  const attached = [...db.attachments.uids()].filter((uid) => !records.some((record) => record.uid === uid));
  if (attached.length > 0) throw new Error(`Left over: attachments of ${attached.join(" ")}`);
  for (const { uid, forks } of records) {
    if (forks === 0) throw new Error(`Tombstone ${uid} is left over though nobody counts on it`);
  }
}

function namedBy(record: SessionRecord): readonly Segment[] {
  return [...record.segments, ...record.ancestry, ...(record.undo?.segments ?? [])];
}

function namesOf(db: SimDatabase, uid: string): number {
  return db.records().filter(({ sources }) => sources.includes(uid)).length;
}
