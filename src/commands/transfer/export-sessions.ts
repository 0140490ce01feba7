import { once } from "node:events";
import { createWriteStream } from "node:fs";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ChatMessage, NewChatMessage } from "../../domain/chat-message.js";
import type { MessageCursor, SessionCursor } from "../../domain/page.js";
import type { Session } from "../../domain/session.js";
import type { RootPool } from "../../pool/root-pool.js";
import { withPools } from "../with-pools.js";
import { progressBar } from "./progress-bar.js";
import { FILE_HEADER, type FileItem } from "./session-file.js";

export interface TransferTarget {
  readonly storage: string;
  readonly namespace: string;
}

const PAGE = 1000;

/** Writes all sessions, oldest first, with their messages, and the todos, as JSON Lines to a file, or to standard output (`-`). */
export async function exportSessions({ storage, namespace }: TransferTarget, path: string): Promise<void> {
  const out = path === "-" ? process.stdout : createWriteStream(path);
  if (out !== process.stdout) await once(out, "open");
  const count = await withPools(storage, (pools) => writeAll(pools.for(namespace), out));
  if (out !== process.stdout) {
    out.end();
    await finished(out);
  }
  process.stderr.write(`Exported ${count} sessions\n`);
}

async function writeAll(pool: RootPool, out: Writable): Promise<number> {
  const sessions = await readSessions(pool);
  const bar = progressBar("Exporting", "sessions");
  bar.start(sessions.length, 0);
  try {
    await writeLine(out, FILE_HEADER);
    for (const session of sessions) {
      await writeSession(pool, session, out);
      bar.increment();
    }
    await writeLine(out, { todos: await pool.todos.list() });
  } finally {
    bar.stop();
  }
  return sessions.length;
}

/** Parents come before their children, because they are older. */
async function readSessions(pool: RootPool): Promise<readonly Session[]> {
  const sessions: Session[] = [];
  let cursor: SessionCursor | undefined;
  do {
    const page = await pool.sessions.listSessions({ limit: PAGE, cursor });
    sessions.push(...page.sessions);
    cursor = page.next;
  } while (cursor !== undefined);
  return sessions.sort((a, b) => a.createTimeMicros - b.createTimeMicros);
}

async function writeSession(pool: RootPool, session: Session, out: Writable): Promise<void> {
  const { sessionId, parentId, forkPointId, inheritedCount, title, metadata } = session;
  await writeLine(out, { session: { sessionId, parentId, forkPointId, inheritedCount, title, metadata } });
  let cursor: MessageCursor | undefined;
  do {
    const page = await pool.sessions.listMessages(sessionId, { limit: PAGE, cursor });
    for (const message of page.messages) await writeLine(out, { message: withoutPlace(message) });
    cursor = page.next;
  } while (cursor !== undefined);
}

function withoutPlace({ id, role, timestampMicros, parts, metadata }: ChatMessage): NewChatMessage {
  return { id, role, timestampMicros, parts, metadata };
}

async function writeLine(out: Writable, line: FileItem | typeof FILE_HEADER): Promise<void> {
  if (!out.write(`${JSON.stringify(line)}\n`)) await once(out, "drain");
}
