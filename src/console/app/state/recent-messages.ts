import { signal } from "@preact/signals";
import { type Failure, failureIn } from "../../../parts/failure.js";
import { firstLine } from "../../../parts/lines.js";
import { viewsOf } from "../../../parts/recognise.js";
import { listMessages } from "../api/calls.js";
import type { Message, Session } from "../api/types.js";
import { type Summary, summaryOf, toolNames } from "../parts/summary.js";

/** How many of the newest messages of a session are looked at. */
const LOOKED_AT = 10;
/** The pause between two requests, so that a long list does not ask for everything at once. */
const PAUSE_MS = 100;
const MAX_REMEMBERED = 1000;

/** What the last messages of a session say, each from the newest that says it. */
interface Recent {
  readonly failure?: Failure | undefined;
  readonly model?: string | undefined;
  /** The beginning of what the user said. */
  readonly asked?: string | undefined;
  /** What the newest message says or holds; undefined until the messages have been looked at. */
  readonly last?: Summary | undefined;
}

interface Looked extends Recent {
  /** Changes when the session gets newer messages. */
  readonly version: string;
}

const looked = signal<ReadonlyMap<string, Looked>>(new Map());
const waiting = new Map<string, Session>();
let isRunning = false;

/** What the last messages of a session say: at first what the newest says, and more once they have been looked at. */
export function recentOf(session: Session): Recent {
  const known = looked.value.get(session.sessionId);
  return known?.version === versionOf(session) ? known : { ...known, ...newestOf(session), last: undefined };
}

function newestOf({ lastMessage }: Session): Recent {
  const reason = firstLine(lastMessage?.error ?? "", 300);
  const model = lastMessage?.usage?.model;
  return { ...(reason && { failure: { name: "", reason } }), ...(model && { model }) };
}

/** Looks at the last messages of a session unless that has been done since it got its newest one. */
export function lookAtRecent(session: Session): void {
  if (session.lastMessage === undefined || looked.peek().get(session.sessionId)?.version === versionOf(session)) return;
  waiting.set(session.sessionId, session);
  if (!isRunning) void run();
}

async function run(): Promise<void> {
  isRunning = true;
  for (let next = takeNext(); next !== undefined; next = takeNext()) {
    const { sessionId } = next;
    const page = await listMessages(sessionId, { limit: LOOKED_AT, newestFirst: true }).catch(() => undefined);
    // What cannot be read is looked at again when the session changes.
    const recent = page ? recentIn(page.messages) : { ...newestOf(next), last: summaryByPreview(next) };
    const others = [...looked.peek()].filter(([id]) => id !== sessionId).slice(1 - MAX_REMEMBERED);
    looked.value = new Map([...others, [sessionId, { version: versionOf(next), ...recent }]]);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  isRunning = false;
}

function recentIn(newestFirst: readonly Message[]): Recent {
  const model = newestFirst.find(({ info }) => info.usage?.model)?.info.usage?.model;
  const asked = newestFirst
    .filter(({ info }) => info.role === "user")
    .flatMap((message) => viewsOf(message).find((view) => view.kind === "text") ?? [])[0];
  const [newest] = newestFirst;
  const tools = toolNames(newestFirst);
  return {
    failure: failureIn(newestFirst),
    model,
    asked: asked?.kind === "text" ? firstLine(asked.text) : undefined,
    last: newest && summaryOf(newest, (callId) => tools.get(callId)),
  };
}

function summaryByPreview({ lastMessage }: Session): Summary {
  return { speaker: lastMessage?.role ?? "", text: lastMessage?.text ?? "" };
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
