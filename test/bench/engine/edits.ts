import { alternate, type Subject, timed } from "../slices.js";
import { type Engine, type EngineOptions, type EngineRow, fill, openEngine } from "./subjects.js";

const SMALL = 10;
const LARGE = 100_000;

/** One edit, each time of a new session, and how to prepare that session. The preparation is not measured. */
interface Edit {
  prepare(engine: Engine, source: Source, sessionId: string): Promise<void>;
  run(engine: Engine, source: Source, sessionId: string): Promise<unknown>;
}

interface Source {
  readonly sessionId: string;
  /** The id of a message in the middle of the session. */
  readonly middleId: string;
}

const fork: Edit = {
  prepare: async () => {},
  run: ({ pool }, source, newSessionId) => pool.sessions.forkSession(source.sessionId, { newSessionId }),
};

const truncate: Edit = {
  prepare: async (engine, source, sessionId) => void (await fork.run(engine, source, sessionId)),
  run: ({ pool }, { middleId }, sessionId) => pool.sessions.truncateMessages(sessionId, middleId),
};

const revert: Edit = {
  prepare: truncate.prepare,
  run: ({ pool }, { middleId }, sessionId) => pool.sessions.revertSession(sessionId, middleId),
};

const update: Edit = {
  prepare: truncate.prepare,
  run: ({ pool }, { middleId }, sessionId) => pool.sessions.updateMessage(sessionId, middleId, { role: "tool" }),
};

const remove: Edit = {
  prepare: truncate.prepare,
  run: ({ pool }, { middleId }, sessionId) => pool.sessions.deleteMessage(sessionId, middleId),
};

export const updateFlat: EngineRow = (options) => compareSizes(options, "update", update);
export const removeFlat: EngineRow = (options) => compareSizes(options, "remove", remove);
export const forkFlat: EngineRow = (options) => compareSizes(options, "fork", fork);
export const truncateFlat: EngineRow = (options) => compareSizes(options, "truncate", truncate);
export const revertFlat: EngineRow = (options) => compareSizes(options, "revert", revert);

async function compareSizes({ folder, slices, sliceMs, onProgress }: EngineOptions, name: string, edit: Edit) {
  const engine = await openEngine(`sqlite:${folder}/${name}.db`);
  try {
    const small = await makeSource(engine, "small", SMALL);
    const large = await makeSource(engine, "large", LARGE);
    const baseline = edits(engine, small, edit, sliceMs);
    const ours = edits(engine, large, edit, sliceMs);
    return await alternate(baseline, ours, { slices, by: "clock", onSlice: onProgress });
  } finally {
    await engine.close();
  }
}

async function makeSource(engine: Engine, sessionId: string, messages: number): Promise<Source> {
  await fill(engine, sessionId, messages);
  const { messages: page } = await engine.pool.sessions.listMessages(sessionId, { limit: 1, offset: messages / 2 });
  return { sessionId, middleId: page[0]?.id ?? "" };
}

function edits(engine: Engine, source: Source, edit: Edit, sliceMs: number): Subject {
  let made = 0;
  return async () => {
    const total = { operations: 0, elapsedMs: 0, processorMs: 0 };
    while (total.elapsedMs < sliceMs) {
      const sessionId = `${source.sessionId}-${made++}`;
      await edit.prepare(engine, source, sessionId);
      const { elapsedMs, processorMs = 0 } = await timed(async () => {
        await edit.run(engine, source, sessionId);
        return 1;
      });
      total.operations += 1;
      total.elapsedMs += elapsedMs;
      total.processorMs += processorMs;
    }
    return total;
  };
}
