import type { Segment, SessionRecord } from "../../src/storage/history/log-store.js";
import type { SimDatabase } from "./sim-database.js";

/** Sweeps after which nothing that can be swept is left: a chain of sources goes one link at a time. */
export const SWEEP_ROUNDS = 8;

/** Every message that a living record names, or one that others may still count on, is there. */
export function checkRows(db: SimDatabase): void {
  for (const record of db.records()) {
    if (record.deleted && record.forks === 0) continue;
    for (const { log, first, last } of namedBy(record)) {
      for (let seq = first; seq <= last; seq++) {
        if (!db.row(log, seq)?.entry) throw new Error(`Entry ${seq} of ${log}, named by ${record.uid}, is gone`);
      }
    }
  }
}

/** `forks` is never less than the records that name a session; more only after deaths and lost answers. */
export function checkCounts(db: SimDatabase, mayBeHigh: boolean): void {
  for (const { uid, forks } of db.records()) {
    const named = namesOf(db, uid);
    if (forks < named || (forks > named && !mayBeHigh)) {
      throw new Error(`forks of ${uid} is ${forks}, but ${named} records name it`);
    }
  }
}

/**
 * When all sessions are deleted and swept. After deaths and lost answers tombstones may stay whose `forks` is too high, with what they hold and
 * name, and entries that a process wrote and then died over.
 */
export function checkNothingLeft(db: SimDatabase, mayStay: boolean): void {
  const records = db.records();
  if (!mayStay && records.length + db.logNames().length > 0) {
    throw new Error(`Left over: records ${records.map((r) => r.uid).join(" ")}, logs ${db.logNames().join(" ")}`);
  }
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
