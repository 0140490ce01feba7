import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PIECE_BYTES } from "../../src/domain/attachment.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { openPostgresDatabase } from "../support/postgres-database.js";
import { startPostgresServer } from "../support/postgres-server.js";
import { statementsDuring } from "../support/postgres-statements.js";

const server = await startPostgresServer({ fast: true });
let database: PostgresLogDatabase;
let provider: LogHistoryProvider;
/** The same sessions as another process knows them. */
let other: LogHistoryProvider;
let sessions = 0;
let session = "";

beforeAll(async () => {
  if (server) database = await openPostgresDatabase(server);
});
afterAll(async () => {
  await database?.close();
  await server?.stop();
});
beforeEach(async () => {
  if (!server) return;
  provider = new LogHistoryProvider(database.namespace("default"));
  other = new LogHistoryProvider(database.namespace("default"));
  session = `s${++sessions}`;
  await provider.createSession({ sessionId: session });
  await provider.logMessages(session, ["a", "b", "c", "d"].map(message));
});
afterEach(async () => {
  await provider?.close();
  await other?.close();
});

const message = (id?: string) => ({ id, role: "user", parts: [{ id: "", type: "text", text: "hello" }] });
const naming = (attachmentId: string) => {
  const attachment = { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
  return { role: "user", parts: [{ id: "", type: "file", text: "", attachment }] };
};
const messages = (count: number) => Array.from({ length: count }, () => message());

function upload(attachmentId: string, count: number): Promise<unknown> {
  const pieces = Array.from({ length: count }, () => Buffer.alloc(PIECE_BYTES));
  return provider.uploadAttachment(session, { attachmentId }, Readable.from(pieces));
}

async function download(attachmentId: string): Promise<void> {
  const { pieces } = await provider.getAttachment(session, attachmentId, {});
  for await (const piece of pieces) expect(piece).toHaveLength(PIECE_BYTES);
}

interface Case {
  readonly trips: number;
  readonly prepare?: () => Promise<unknown>;
  readonly run: () => Promise<unknown>;
}

/** docs/performance.md has the same numbers in a table. */
const CASES: Readonly<Record<string, Case>> = {
  "a new session": { trips: 1, run: () => provider.createSession({ sessionId: `${session}-new` }) },
  "an append": { trips: 1, run: () => provider.logMessages(session, [message()]) },
  "an append with the caller's id": { trips: 1, run: () => provider.logMessages(session, [message("own")]) },
  "an append with the caller's id to a fork": {
    trips: 2,
    prepare: () => provider.forkConversation(session, `${session}-fork`, { as: "fork" }),
    run: () => provider.logMessages(`${session}-fork`, [message("own")]),
  },
  "a first append of a process": { trips: 3, run: () => other.logMessages(session, [message()]) },
  "an append after one of another process": {
    trips: 5,
    prepare: () => other.logMessages(session, [message()]),
    run: () => provider.logMessages(session, [message()]),
  },
  "a batch of 100": { trips: 1, run: () => provider.logMessages(session, messages(100)) },
  "a turn": {
    trips: 1,
    run: () => provider.logTurn(session, [{ messages: [message()] }, { messages: [message()] }]),
  },
  "the first page": { trips: 2, run: () => provider.listMessages(session, { limit: 2, offset: 0 }) },
  "the newest page": { trips: 1, run: () => provider.listMessages(session, { limit: 2, newestFirst: true }) },
  "a session with its newest messages": { trips: 2, run: () => provider.loadSession(session, { limit: 2 }) },
  "a session": { trips: 3, run: () => provider.getSession(session) },
  "a count": { trips: 2, run: () => provider.getMessageCount(session) },
  "a message": { trips: 2, run: () => provider.getMessage(session, "b") },
  "a list of sessions": { trips: 1, run: () => provider.listSessions({ parentId: "", limit: 20 }) },
  "a fork": { trips: 3, run: () => provider.forkConversation(session, `${session}-f`, { as: "fork" }) },
  "a fork up to a message": {
    trips: 4,
    run: () => provider.forkConversation(session, `${session}-f`, { as: "fork", upToMessageId: "c" }),
  },
  "a truncation": { trips: 5, run: () => provider.truncateMessages(session, "c") },
  "a revert": { trips: 5, run: () => provider.truncateMessages(session, "c", { keepForUnrevert: true }) },
  "an unrevert": {
    trips: 4,
    prepare: () => provider.truncateMessages(session, "c", { keepForUnrevert: true }),
    run: () => provider.restoreMessages(session),
  },
  "an update of a message": { trips: 7, run: () => provider.updateMessage(session, "b", { role: "tool" }) },
  "the removal of a message": { trips: 5, run: () => provider.deleteMessage(session, "b") },
  "an update of a session": { trips: 3, run: () => provider.updateSession(session, { title: "new" }) },
  "a new draft": { trips: 6, run: () => provider.startDraft(session, message("draft")) },
  "the removal of a session": { trips: 4, run: () => provider.deleteSession(session) },
  todos: { trips: 1, run: () => provider.readTodos() },
  "an upload of one piece": { trips: 17, run: () => upload("one", 1) },
  "an upload of ten pieces": { trips: 26, run: () => upload("ten", 10) },
  "an append of messages that name an attachment": {
    trips: 2,
    prepare: () => upload("named", 1),
    run: () => provider.logMessages(session, [naming("named"), naming("named")]),
  },
  "an attachment of ten pieces": {
    trips: 14,
    prepare: async () => [await upload("named", 10), await provider.logMessages(session, [naming("named")])],
    run: () => download("named"),
  },
  "a list of one attachment": {
    trips: 5,
    prepare: async () => [await upload("named", 1), await provider.logMessages(session, [naming("named")])],
    run: () => provider.listAttachments(session, { limit: 20 }),
  },
  "the removal of an attachment of ten pieces": {
    trips: 17,
    prepare: () => upload("unnamed", 10),
    run: () => provider.deleteAttachment(session, "unnamed"),
  },
  "a sweep with nothing to do": { trips: 13, run: () => new LogHistoryProvider(database.namespace("idle")).sweep({}) },
};

describe.skipIf(!server)("round trips to PostgreSQL", () => {
  it.each(Object.entries(CASES))("of %s", async (_, { trips, prepare, run }) => {
    await prepare?.();
    const sent = await statementsDuring(run);
    expect(sent.map(({ text }) => text)).toHaveLength(trips);
  });

  it("are those in docs/performance.md", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/performance.md"), "utf8");
    for (const [name, { trips }] of Object.entries(CASES)) expect(page).toContain(`| ${name} | ${trips} |`);
  });

  it("of appends to 20 sessions at once are 1", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `${session}-${i}`);
    for (const sessionId of names) await provider.createSession({ sessionId });
    const sent = await statementsDuring(() =>
      Promise.all(names.map((name) => provider.logMessages(name, [message()]))),
    );
    expect(sent).toHaveLength(1);
  });
});
