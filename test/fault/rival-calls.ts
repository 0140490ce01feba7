import type { Call } from "../../src/domain/call.js";
import type { NewChatMessage } from "../../src/domain/chat-message.js";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import type { StorageProvider } from "../../src/storage/storage-provider.js";

/** The session that all writers change. */
export const TARGET = "target";
/** Far more than a call needs that does not starve, even where many processes share a busy machine. */
export const DEADLINE_MS = 60_000;

export const KINDS = [
  ...["append", "copy", "merge", "older", "update", "delete"],
  ...["erase", "labels", "title", "expire", "drafts"],
] as const;

/** Opens the store of the session, whose name is a path or the URL of a server. */
export function openRivals(name: string): Promise<LogDatabase> {
  if (name.startsWith("mongodb:")) return MongoLogDatabase.connect(name);
  return name.startsWith("postgres:") ? PostgresLogDatabase.connect(name) : SqliteLogDatabase.open(name);
}

/** What a process is told to do: so many calls of a kind, one after the other. */
export interface RivalTask {
  readonly kind: string;
  readonly writer: number;
  readonly rounds: number;
  /** How many messages a copy or a batch has. */
  readonly size: number;
}

type RivalCall = RivalTask & { readonly round: number };
type Timed = NewChatMessage & { readonly id: string; readonly timestampMicros: number };

const T0 = 1_700_000_000_000_000;
const STEP_MICROS = 1_000_000;
const LATEST = 4_000_000_000_000_000;

/** A message whose time falls between two others of the beginning; no two have the same time. */
function timed(id: string, at: number, text: string, shift: number): Timed {
  const timestampMicros = T0 + at * STEP_MICROS + shift;
  return { id, role: "user", timestampMicros, parts: [{ id: "", type: "text", text }] };
}

/** Where the messages of a call are, after each of the first messages of the beginning. */
function batchOf({ kind, writer, round, size }: RivalCall): Timed[] {
  return Array.from({ length: size }, (_, i) =>
    timed(`${kind}-${writer}-${round}-${i}`, i, "new", (1 + KINDS.indexOf(kind as never)) * 1000 + writer * 20 + round),
  );
}

const nameOf = ({ kind, writer, round }: RivalCall) => `${kind}-${writer}-${round}`;
const isEdited = (kind: string) => ["update", "delete", "erase"].includes(kind);

/** Makes the session, and whatever the tasks need. Resolves to what the session must show after them. */
export async function prepare(
  provider: StorageProvider,
  tasks: readonly RivalTask[],
): Promise<ReadonlyMap<string, string>> {
  const size = Math.max(...tasks.map((task) => task.size));
  const calls = tasks.flatMap((task) => Array.from({ length: task.rounds }, (_, round) => ({ ...task, round })));
  const edited = calls.filter(({ kind, round }) => isEdited(kind) && (kind !== "update" || round === 0));
  const beginning = [
    ...Array.from({ length: size + 1 }, (_, i) => timed(`begin-${i}`, i, "begin", 0)),
    ...edited.map((call, i) => timed(nameOf(call), size + 2 + i, "old", 0)),
  ];
  await provider.createSession({ sessionId: TARGET });
  for (let i = 0; i < beginning.length; i += 500) await provider.logMessages(TARGET, beginning.slice(i, i + 500));
  const shown = new Map(beginning.map((message) => [message.id, textOf(message)]));
  for (const call of calls) {
    if (call.kind === "copy") {
      await provider.createSession({ sessionId: nameOf(call) });
      await provider.logMessages(nameOf(call), batchOf(call));
    }
    if (call.kind === "delete") shown.delete(nameOf(call));
    if (call.kind === "erase") shown.set(nameOf(call), "");
    if (call.kind === "update") shown.set(nameOf({ ...call, round: 0 }), `new ${call.round}`);
    if (call.kind === "append" || call.kind === "drafts") shown.set(nameOf(call), "new");
    if (call.kind === "merge") shown.set(`${nameOf(call)}-${placeOf(call)}`, "new");
    if (call.kind === "copy" || call.kind === "older") for (const { id } of batchOf(call)) shown.set(id, "new");
  }
  return shown;
}

/** The place of a single older message, far from that of the one before it. */
const placeOf = ({ writer, round, size }: RivalCall) => (writer * 7 + round * 13) % size;

/** Carries out one call. */
export async function callOf(provider: StorageProvider, call: RivalCall, options: Call): Promise<void> {
  const { kind, writer, round } = call;
  const own = nameOf(call);
  const parts = [{ id: "", type: "text", text: "new" }];
  switch (kind) {
    case "append":
      return void (await provider.logMessages(TARGET, [{ id: own, role: "user", parts }], options));
    case "copy":
      return void (await provider.forkConversation(own, TARGET, { as: "copy", ...options }));
    case "older":
      return void (await provider.logMessages(TARGET, batchOf(call), options));
    case "merge":
      return void (await provider.logMessages(TARGET, [batchOf(call)[placeOf(call)] as Timed], options));
    case "update": {
      const text = `new ${round}`;
      const first = nameOf({ ...call, round: 0 });
      return void (await provider.updateMessage(TARGET, first, { parts: [{ id: "", type: "text", text }] }, options));
    }
    case "delete":
      return provider.deleteMessage(TARGET, own, options);
    case "erase":
      return void (await provider.eraseMessage(TARGET, own, options));
    case "labels":
      return void (await provider.updateSession(
        TARGET,
        { labels: { writer: `${writer}`, round: `${round}` } },
        options,
      ));
    case "title":
      return void (await provider.updateSession(TARGET, { title: own }, options));
    case "expire":
      return void (await provider.updateSession(TARGET, { expireTimeMicros: LATEST + writer + round }, options));
    case "drafts": {
      const draft = await provider.startDraft(TARGET, { id: own, role: "user", parts }, options);
      return void (await provider.finishDraft(TARGET, own, { version: draft.version, ...options }));
    }
    default:
      throw new Error(`There is no kind ${kind}`);
  }
}

/** What the session shows: its messages by id, in order. */
export async function shownBy(provider: StorageProvider): Promise<{ ids: string[]; times: number[]; texts: string[] }> {
  const messages = await provider.getSessionMessages(TARGET);
  return {
    ids: messages.map(({ id }) => id),
    times: messages.map(({ timestampMicros }) => timestampMicros),
    texts: messages.map(textOf),
  };
}

function textOf({ parts }: Pick<NewChatMessage, "parts">): string {
  return parts.map(({ text = "" }) => text).join("");
}
