import { NotImplementedError } from "../domain/errors.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { LogResult, TurnAppend, TurnOutcome } from "../storage/storage-provider.js";

/** Stores the appends of a turn in one call, or as well as the provider can: batch by batch, message by message. */
export async function storeTurn(
  storage: StorageManager,
  sessionId: string,
  appends: readonly TurnAppend[],
): Promise<readonly TurnOutcome[]> {
  try {
    return await storage.logTurn(sessionId, appends);
  } catch (error) {
    if (!(error instanceof NotImplementedError)) throw error;
  }
  const outcomes: TurnOutcome[] = [];
  for (const append of appends) outcomes.push(await outcomeOf(storeAppend(storage, sessionId, append)));
  return outcomes;
}

async function storeAppend(
  storage: StorageManager,
  sessionId: string,
  { messages, options }: TurnAppend,
): Promise<LogResult> {
  try {
    return await storage.logMessages(sessionId, messages, options);
  } catch (error) {
    const [message] = messages;
    // Several messages one by one would not be all or nothing.
    if (!(error instanceof NotImplementedError) || message === undefined || messages.length > 1) throw error;
    return await storage.logMessage({ ...message, sessionId }, options);
  }
}

async function outcomeOf(stored: Promise<LogResult>): Promise<TurnOutcome> {
  try {
    return { ok: true, result: await stored };
  } catch (error) {
    return { ok: false, error };
  }
}
