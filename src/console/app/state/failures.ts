import { signal } from "@preact/signals";
import { type Failure, failureIn } from "../../../parts/failure.js";
import { listMessages } from "../api/calls.js";
import type { Session } from "../api/types.js";

/** How many of the newest messages of a session are looked at. */
const LOOKED_AT = 10;
/** The pause between two requests, so that a long list does not ask for everything at once. */
const PAUSE_MS = 200;
const MAX_REMEMBERED = 1000;

interface Looked {
  /** Changes when the session gets newer messages. */
  readonly version: string;
  readonly failure: Failure | undefined;
}

const looked = signal<ReadonlyMap<string, Looked>>(new Map());
const waiting = new Map<string, Session>();
let isRunning = false;

/** The newest failure among the last messages of a session, as far as they have been looked at. */
export function lastFailureOf(sessionId: string): Failure | undefined {
  return looked.value.get(sessionId)?.failure;
}

/** Looks at the last messages of a session unless that has been done since it got its newest one. */
export function lookForFailure(session: Session): void {
  if (session.lastMessage === undefined || looked.peek().get(session.sessionId)?.version === versionOf(session)) return;
  waiting.set(session.sessionId, session);
  if (!isRunning) void run();
}

async function run(): Promise<void> {
  isRunning = true;
  for (let next = takeNext(); next !== undefined; next = takeNext()) {
    const { sessionId } = next;
    // What cannot be read is looked at again when the session changes.
    const page = await listMessages(sessionId, { limit: LOOKED_AT, newestFirst: true }).catch(() => undefined);
    const failure = page && failureIn(page.messages);
    const others = [...looked.peek()].filter(([id]) => id !== sessionId).slice(1 - MAX_REMEMBERED);
    looked.value = new Map([...others, [sessionId, { version: versionOf(next), failure }]]);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  isRunning = false;
}

/** The session that has waited longest. */
function takeNext(): Session | undefined {
  const [next] = waiting.values();
  if (next) waiting.delete(next.sessionId);
  return next;
}

function versionOf({ lastMessage, messageCount }: Session): string {
  return `${messageCount} ${lastMessage?.messageId}`;
}
