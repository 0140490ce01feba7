import { alternate, type Subject, timed } from "../slices.js";
import { type Engine, type EngineRow, fill, MESSAGE, openEngine } from "./subjects.js";

const MESSAGES = 10_000;
const SKEW_MICROS = 50_000;

/**
 * Appends by two writers on one session, each with a pool of its own, like two processes. All slices together append
 * 10,000 messages.
 */
export const skewedWriters: EngineRow = async ({ folder, slices, onProgress }) => {
  const url = `sqlite:${folder}/skew.db`;
  const writers = [await openEngine(url), await openEngine(url)] as const;
  const perSlice = Math.ceil(MESSAGES / slices);
  try {
    await fill(writers[0], "unstamped", 0);
    await fill(writers[0], "stamped", 0);
    const baseline = write(writers, "unstamped", perSlice, () => undefined);
    const ours = write(writers, "stamped", perSlice, (writer) => Date.now() * 1000 - writer * SKEW_MICROS);
    return await alternate(baseline, ours, { slices, by: "clock", onSlice: onProgress });
  } finally {
    for (const writer of writers) await writer.close();
  }
};

function write(
  writers: readonly Engine[],
  sessionId: string,
  messages: number,
  stamp: (writer: number) => number | undefined,
): Subject {
  return () =>
    timed(async () => {
      await Promise.all(
        writers.map(async ({ pool }, writer) => {
          for (let i = 0; i < messages / writers.length; i++) {
            await pool.sessions.appendMessages(sessionId, [{ ...MESSAGE, timestampMicros: stamp(writer) }]);
          }
        }),
      );
      return messages;
    });
}
