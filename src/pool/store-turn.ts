import { refusalInNewSession } from "../domain/attachment.js";
import type { Call } from "../domain/call.js";
import { DomainError, NotImplementedError } from "../domain/errors.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { LogResult, TurnAppend, TurnOutcome } from "../storage/storage-provider.js";
import type { QueuedAppend } from "./session-pool-types.js";

/**
 * Stores the appends of a turn. If the session is missing, those that ask for it make it and are then stored in order.
 */
export async function storeTurn(
  storage: StorageManager,
  sessionId: string,
  appends: readonly QueuedAppend[],
): Promise<readonly TurnOutcome[]> {
  const outcomes = await storeTogether(storage, sessionId, appends);
  const waiting = appends.filter((append, i) => append.options?.createSession && isMissing(outcomes[i]));
  if (waiting.length === 0) return outcomes;
  const later = new Map<QueuedAppend, TurnOutcome>();
  const makers: QueuedAppend[] = [];
  for (const append of waiting) {
    const error = refusalInNewSession(append.messages, sessionId);
    if (error === undefined) makers.push(append);
    else later.set(append, { ok: false, error });
  }
  for (const some of byCaller(makers)) {
    const made = await createAndStore(storage, sessionId, some);
    for (const [i, append] of some.entries()) later.set(append, made[i] as TurnOutcome);
  }
  return outcomes.map((outcome, i) => later.get(appends[i] as QueuedAppend) ?? outcome);
}

/** The appends of equal callers, together: each caller may make the session, for another owner and by another key. */
function byCaller(appends: readonly QueuedAppend[]): Iterable<readonly QueuedAppend[]> {
  const groups = new Map<string, QueuedAppend[]>();
  for (const append of appends) {
    const caller = JSON.stringify([append.options?.access ?? null, append.options?.key ?? null]);
    const group = groups.get(caller);
    if (group === undefined) groups.set(caller, [append]);
    else group.push(append);
  }
  return groups.values();
}

/** Called only once the session was found missing, so that appends to an existing session cost no extra call. */
async function createAndStore(
  storage: StorageManager,
  sessionId: string,
  appends: readonly QueuedAppend[],
): Promise<readonly TurnOutcome[]> {
  try {
    // A session that somebody else made meanwhile is as good as one made by this call, which sets nothing that could
    // differ.
    await storage.createSession({ sessionId }, longestCall(appends));
  } catch (error) {
    return appends.map(() => ({ ok: false, error }));
  }
  return await storeTogether(storage, sessionId, appends);
}

/** Waits as long as the most patient caller does. All have the same key and see the same. */
function longestCall(appends: readonly QueuedAppend[]): Call {
  const { deadlineMs, signal, key, access } = appends[0]?.options ?? {};
  if (appends.length === 1) return { deadlineMs, signal, key, access };
  const latestMs = Math.max(...appends.map(({ options }) => options?.deadlineMs ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(latestMs) ? { deadlineMs: latestMs, key, access } : { key, access };
}

function isMissing(outcome: TurnOutcome | undefined): boolean {
  return outcome?.ok === false && outcome.error instanceof DomainError && outcome.error.code === "not_found";
}

/** Stores appends in one call, or batch by batch or message by message if the provider cannot do that. */
async function storeTogether(
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
    // Several messages stored one by one would not be all or nothing.
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
