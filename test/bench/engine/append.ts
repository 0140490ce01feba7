import { alternate, during, duringBy } from "../slices.js";
import { RawSqlite } from "./raw-sqlite.js";
import { type EngineOptions, type EngineRow, fill, MESSAGE, openEngine } from "./subjects.js";

const CALLERS = 20;

/** Appends by one caller, against a commit for each row by hand. */
export const appendByOne: EngineRow = (options) =>
  compareAppends(options, 1, ["raw"], (raw, [log = ""]) => {
    raw.insert(log);
    return 1;
  });

/** Appends by 20 callers on one session, against 20 rows in each commit by hand. */
export const appendByManyToOne: EngineRow = (options) =>
  compareAppends(options, 1, Array(CALLERS).fill("raw"), insertAll, CALLERS);

/** Appends by 20 callers, each on a session of its own, against a row of each session in one commit by hand. */
export const appendByManyToMany: EngineRow = (options) => {
  const logs = Array.from({ length: CALLERS }, (_, i) => `raw-${i}`);
  return compareAppends(options, CALLERS, logs, insertAll, CALLERS);
};

function insertAll(raw: RawSqlite, logs: readonly string[]): number {
  raw.insertAll(logs);
  return logs.length;
}

async function compareAppends(
  { folder, slices, sliceMs, onProgress }: EngineOptions,
  sessions: number,
  logs: readonly string[],
  insert: (raw: RawSqlite, logs: readonly string[]) => number,
  callers = 1,
) {
  const raw = new RawSqlite(`${folder}/raw-append.db`);
  const engine = await openEngine(`sqlite:${folder}/append.db`);
  for (let i = 0; i < sessions; i++) await fill(engine, `s${i}`, 0);
  const baseline = during(sliceMs, () => insert(raw, logs));
  const ours = duringBy(callers, sliceMs, async (caller) => {
    await engine.pool.sessions.appendMessages(`s${caller % sessions}`, [MESSAGE]);
    return 1;
  });
  try {
    return await alternate(baseline, ours, { slices, by: "clock", onSlice: onProgress });
  } finally {
    raw.close();
    await engine.close();
  }
}
