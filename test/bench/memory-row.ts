import { fillSessions } from "./fill.js";
import { startServer } from "./processes.js";
import type { Measured, Row, RowContext } from "./row.js";

const SESSIONS = 10_000;
const MESSAGES = 100;

export const MEMORY_ROW: Row = {
  id: "memory",
  what: "server holding 10,000 sessions of 100 messages on SQLite",
  against: "resident memory",
  target: { underMib: 200 },
  run: measureMemory,
};

/** Measures the peak of resident memory while the server stores messages of 1 KB and returns a page of each session. */
async function measureMemory({ folder, onProgress }: RowContext): Promise<Measured> {
  const server = await startServer(`sqlite:${folder}/memory.db`, undefined);
  try {
    await fillSessions(server, SESSIONS, MESSAGES, (done) => {
      if (done % 100 === 0) onProgress(done, SESSIONS);
    });
    const { residentMib, peakMib } = server.memory();
    return { kind: "size", mib: peakMib, note: `${Math.round(residentMib)} MiB at the end` };
  } finally {
    await server.stop();
  }
}
