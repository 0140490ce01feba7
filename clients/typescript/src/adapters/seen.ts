import type { UIMessage } from "ai";
import { Code, ConnectError, type NewMessage, type SessionPoolClient, type StoredMessage } from "../index.js";

/** What a caller who has a message has seen of the session from which it was loaded, or in which it was saved. */
interface Seen {
  /** The ids of all messages that were loaded or saved together. */
  readonly ids: ReadonlySet<string>;
  /** The message as the caller got it, or saved it. */
  readonly given: NewMessage;
  /** The message as it was stored then. */
  readonly stored: NewMessage | StoredMessage;
}

const MOST_SESSIONS = 1000;

/** For each message that a caller has: what that caller has seen, by session. */
const seen = new WeakMap<UIMessage, Map<string, Seen>>();
/**
 * The sessions that this process has loaded or saved last, for each client, with the ids of the messages that were
 * loaded or saved.
 */
const met = new WeakMap<SessionPoolClient, Map<string, ReadonlySet<string>>>();

/** Notes that a caller has seen these messages of the session, and no others. `given` is their content. */
export function note(
  sessionId: string,
  messages: readonly UIMessage[],
  given: readonly NewMessage[],
  stored: readonly (NewMessage | StoredMessage)[] = given,
): void {
  const ids = new Set(messages.map(({ id }) => id));
  for (const [i, message] of messages.entries()) {
    const sessions = seen.get(message) ?? new Map<string, Seen>();
    const one = { ids, given: given[i] as NewMessage, stored: stored[i] as NewMessage };
    seen.set(message, sessions.set(sessionId, one));
  }
}

/** The ids of all messages that a caller who has these has seen. */
export function seenWith(sessionId: string, messages: readonly UIMessage[]): Set<string> {
  return new Set(messages.flatMap((message) => [...(seen.get(message)?.get(sessionId)?.ids ?? [])]));
}

/** What a caller who has a message has last seen of it; undefined when that is not known. */
export function lastSeen(sessionId: string, message: UIMessage): Pick<Seen, "given" | "stored"> | undefined {
  return seen.get(message)?.get(sessionId);
}

/** Notes that the session exists, and which messages were loaded or saved. */
export function meet(client: SessionPoolClient, sessionId: string, messages: readonly Pick<UIMessage, "id">[]): void {
  const sessions = met.get(client) ?? new Map<string, ReadonlySet<string>>();
  met.set(client, sessions);
  sessions.delete(sessionId);
  sessions.set(sessionId, new Set(messages.map(({ id }) => id)));
  const [oldest = ""] = sessions.keys();
  if (sessions.size > MOST_SESSIONS) sessions.delete(oldest);
}

/** Notes that a caller knows that the session is missing, so it may be made again. */
export function forget(client: SessionPoolClient, sessionId: string): void {
  met.get(client)?.delete(sessionId);
}

/** The ids of the messages that this process has loaded or saved last. */
export function lastMet(client: SessionPoolClient, sessionId: string): ReadonlySet<string> {
  return met.get(client)?.get(sessionId) ?? new Set();
}

export function hasMet(client: SessionPoolClient, sessionId: string): boolean {
  return met.get(client)?.has(sessionId) === true;
}

export function deletedSince(sessionId: string): ConnectError {
  return new ConnectError(`Session ${JSON.stringify(sessionId)} has been deleted`, Code.NotFound);
}
