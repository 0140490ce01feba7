import { SessionTable } from "../../../src/storage/sqlite/session-table.js";
import { alternate, during, type Subject } from "../slices.js";
import { type EngineRow, fill, MESSAGE, openEngine } from "./subjects.js";

const APPENDS_AT_ONCE = 20;

/** One caller, with and without the look-up in the transaction of an append that asks whether a record names the log. */
export const appendChecked: EngineRow = (options) => compareChecks(options, 1);

/** The same for 20 appends that are stored in one write. */
export const appendManyChecked: EngineRow = (options) => compareChecks(options, APPENDS_AT_ONCE);

async function compareChecks(
  { folder, slices, sliceMs, onProgress }: Parameters<EngineRow>[0],
  appends: number,
): ReturnType<EngineRow> {
  const engine = await openEngine(`sqlite:${folder}/check-${appends}.db`);
  await fill(engine, "unchecked", 0);
  await fill(engine, "checked", 0);
  const appendTo = (sessionId: string) =>
    during(sliceMs, async () => {
      const all = Array.from({ length: appends }, () => engine.pool.sessions.appendMessages(sessionId, [MESSAGE]));
      return (await Promise.all(all)).length;
    });
  try {
    const by = { slices, by: "processor", onSlice: onProgress } as const;
    return await alternate(withoutCheck(appendTo("unchecked")), appendTo("checked"), by);
  } finally {
    await engine.close();
  }
}

/** While it runs, every log counts as named: then the store only asks where the log ends. */
function withoutCheck(subject: Subject): Subject {
  const { openEnd, updateTimeOf } = SessionTable.prototype;
  return async () => {
    SessionTable.prototype.openEnd = () => null;
    SessionTable.prototype.updateTimeOf = () => Number.POSITIVE_INFINITY;
    try {
      return await subject();
    } finally {
      Object.assign(SessionTable.prototype, { openEnd, updateTimeOf });
    }
  };
}
