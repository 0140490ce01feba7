import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import { conversationText } from "../samples.js";
import { alternate, duringBy } from "../slices.js";
import { type EngineOptions, type EngineRow, fill, openEngine } from "./subjects.js";

const CALLERS = 20;
/** How many texts the writers take in turn. They are made beforehand, so that making them is not measured. */
const TEXTS = 2000;

/** Appends by one caller with an index of words, against the same without it. */
export const appendSearched: EngineRow = (options) => compareSearched(options, 1);

/** The same with 20 callers, each on a session of its own. */
export const appendSearchedByMany: EngineRow = (options) => compareSearched(options, CALLERS);

async function compareSearched({ folder, slices, sliceMs, onProgress }: EngineOptions, callers: number) {
  const messages = Array.from({ length: TEXTS }, (_, i) => messageOf(conversationText(1024, i)));
  const without = await openEngine(`sqlite:${folder}/unsearched-${callers}.db`);
  const searched = await openEngine(`sqlite:${folder}/searched-${callers}.db`, { search: true });
  let next = 0;
  const appends = async ({ pool }: typeof without) => {
    for (let i = 0; i < callers; i++) await fill({ pool, close: async () => {} }, `s${i}`, 0);
    return duringBy(callers, sliceMs, async (caller) => {
      next = (next + 1) % TEXTS;
      await pool.sessions.appendMessages(`s${caller}`, [messages[next] as NewChatMessage]);
      return 1;
    });
  };
  try {
    return await alternate(await appends(without), await appends(searched), {
      slices,
      by: "clock",
      onSlice: onProgress,
    });
  } finally {
    await without.close();
    await searched.close();
  }
}

function messageOf(text: string): NewChatMessage {
  return { id: undefined, role: "user", parts: [{ id: "", type: "text", text }] };
}
