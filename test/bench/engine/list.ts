import { PAGE } from "../samples.js";
import { alternate, during } from "../slices.js";
import { RawSqlite } from "./raw-sqlite.js";
import { type EngineRow, fill, openEngine } from "./subjects.js";

const MESSAGES = 100_000;
/** How far from an end of the session a page "at the end" may be. */
const NEAR = 1000;

/** Reads a page at a random place, against the statement that reads the same rows. */
export const listAnywhere: EngineRow = async ({ folder, slices, sliceMs, onProgress }) => {
  const path = `${folder}/list.db`;
  const engine = await openEngine(`sqlite:${path}`);
  await fill(engine, "s", MESSAGES);
  const raw = new RawSqlite(path);
  const log = raw.onlyLog();
  const baseline = during(sliceMs, () => {
    const first = below(MESSAGES - PAGE) + 1;
    return raw.read(log, first, first + PAGE - 1) / PAGE;
  });
  const ours = during(sliceMs, () => list(engine, below(MESSAGES - PAGE)));
  try {
    return await alternate(baseline, ours, { slices, by: "processor", onSlice: onProgress });
  } finally {
    raw.close();
    await engine.close();
  }
};

export const listAtEnd: EngineRow = async ({ folder, slices, sliceMs, onProgress }) => {
  const engine = await openEngine(`sqlite:${folder}/list-end.db`);
  await fill(engine, "s", MESSAGES);
  const start = during(sliceMs, () => list(engine, below(NEAR)));
  const end = during(sliceMs, () => list(engine, MESSAGES - PAGE - below(NEAR)));
  try {
    return await alternate(start, end, { slices, by: "processor", onSlice: onProgress });
  } finally {
    await engine.close();
  }
};

async function list({ pool }: Awaited<ReturnType<typeof openEngine>>, offset: number): Promise<number> {
  const { messages } = await pool.sessions.listMessages("s", { limit: PAGE, offset });
  if (messages.length !== PAGE) throw new Error(`A page holds ${messages.length} messages`);
  return 1;
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}
