import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import type { Engine } from "../engine/subjects.js";
import type { Grown } from "./operations.js";

const BATCH = 1000;
/** How many sessions are made at once. On a slow server, more of them would wait for longer than a call may take. */
const SESSIONS_AT_ONCE = 20;
/**
 * How many messages at each end have their full size, which is more than a page. Those between are short, so that a
 * million messages are written quickly.
 */
const ENDS = 200;

/** Makes a session of this many messages: of 1 KB at its ends, of a few words between them. */
export async function growMessages(
  engine: Engine,
  messages: number,
  message: NewChatMessage,
  sessionId = "grown",
): Promise<Grown> {
  const { sessions } = engine.pool;
  await sessions.createSession({ sessionId });
  const short = { ...message, parts: [{ id: "", type: "text", text: "A few words" }] };
  for (let first = 0; first < messages; first += BATCH) {
    const isAtEnd = (i: number) => i < ENDS || i >= messages - ENDS;
    const length = Math.min(BATCH, messages - first);
    const batch = Array.from({ length }, (_, i) => (isAtEnd(first + i) ? message : short));
    await sessions.appendMessages(sessionId, batch);
  }
  const page = await sessions.listMessages(sessionId, { limit: 1, offset: messages / 2 });
  const middle = page.messages[0];
  if (middle === undefined) throw new Error(`There is no message ${messages / 2}`);
  return { engine, sessionId, messages, middleId: middle.id, middleMicros: middle.timestampMicros };
}

/** Makes this many sessions without messages. */
export async function growSessions(engine: Engine, count: number): Promise<Grown> {
  for (let first = 0; first < count; first += SESSIONS_AT_ONCE) {
    const length = Math.min(SESSIONS_AT_ONCE, count - first);
    const some = Array.from({ length }, (_, i) => ({ sessionId: `s${first + i}`, title: `Session ${first + i}` }));
    await Promise.all(some.map((session) => engine.pool.sessions.createSession(session)));
  }
  return { engine, sessionId: "s0", messages: 0, middleId: "", middleMicros: 0 };
}
