import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import { type HistoryOptions, LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import { openDatabase } from "../../../src/storage/open-storage.js";
import { TEXT } from "../samples.js";
import type { Comparison } from "../slices.js";

/** The options of a measurement of the engine. */
export interface EngineOptions {
  readonly slices: number;
  readonly sliceMs: number;
  readonly folder: string;
  readonly mongoUrl: string | undefined;
  readonly postgresUrl: string | undefined;
  readonly onProgress: (done: number) => void;
}

export type EngineRow = (options: EngineOptions) => Promise<Comparison>;

export const MESSAGE: NewChatMessage = {
  id: undefined,
  role: "user",
  parts: [{ id: "", type: "text", text: TEXT }],
};

/** The body of the same message, as it is stored. */
export const BODY = JSON.stringify({ parts: MESSAGE.parts });

export interface Engine {
  readonly pool: RootPool;
  close(): Promise<void>;
}

/** Opens the library as programs embed it. */
export async function openEngine(
  url: string,
  { search = false, quotas }: Pick<HistoryOptions, "quotas"> & { readonly search?: boolean } = {},
): Promise<Engine> {
  const database = await openDatabase(url, { search });
  const pool = new RootPool({ storage: new LogHistoryProvider(database.namespace("default"), { search, quotas }) });
  return {
    pool,
    close: async () => {
      await pool.close();
      await database.close();
    },
  };
}

/** Makes a session with this many messages. */
export async function fill({ pool }: Engine, sessionId: string, messages: number): Promise<void> {
  const BATCH = 1000;
  await pool.sessions.createSession({ sessionId });
  for (let left = messages; left > 0; left -= BATCH) {
    await pool.sessions.appendMessages(sessionId, Array(Math.min(left, BATCH)).fill(MESSAGE));
  }
}
