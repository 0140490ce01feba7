import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import Database from "libsql";
import type { ChatMessage } from "../../src/domain/chat-message.js";
import { DomainError } from "../../src/domain/errors.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import type { SweepReport } from "../../src/storage/storage-provider.js";
import { type Operation, type Outcome, perform } from "../simulation/operations.js";
import { contentOf } from "./attached-content.js";

/** The commands of a child process. Each is a line of JSON with a number, and its answer has the same number. */
export type Command =
  | { readonly do: "perform"; readonly operation: Operation }
  /** Appends `count` messages, one after the other, and reports each one that was acknowledged. */
  | { readonly do: "appendMany"; readonly sessionId: string; readonly writer: string; readonly count: number }
  | { readonly do: "draft"; readonly given: DraftCall }
  /** Returns the messages and the open drafts of a session. */
  | { readonly do: "drafts"; readonly sessionId: string }
  | { readonly do: "attach"; readonly given: AttachmentCall }
  /** Returns what messages of a session name, and the SHA-256 of these attachments. */
  | { readonly do: "attached"; readonly sessionId: string; readonly ids: readonly string[] }
  /** Sweeps without waiting for anything to be ten minutes old, and removes what nothing has named for an instant. */
  | { readonly do: "sweep"; readonly repair: boolean }
  | { readonly do: "inspect" };

/** A step of a draft, which adds `text` to it. */
export interface DraftCall {
  readonly sessionId: string;
  readonly call: "start" | "extend" | "finish" | "discard";
  readonly id: string;
  readonly version: number;
  readonly text: string;
}

/** A call about attachments. */
export interface AttachmentCall {
  readonly sessionId: string;
  readonly call: "upload" | "append" | "deleteMessage" | "eraseMessage" | "deleteAttachment";
  /** Of the attachment, or of the message. */
  readonly id: string;
  readonly size?: number;
  /** The attachments that an appended message names. */
  readonly names?: readonly string[];
}

export interface Shown {
  readonly messages: readonly (readonly [id: string, names: readonly string[]])[];
  /** The SHA-256 of each, or the code of its error. */
  readonly contents: readonly (readonly [id: string, found: string])[];
}

export interface Inspection {
  readonly integrity: string;
  readonly orphans: readonly string[];
  readonly records: number;
  readonly places: number;
  /** Rows of attachments, pieces, and what names them. */
  readonly attached: readonly [number, number, number];
}

export type Answer =
  | { readonly number: number; readonly result: Outcome | SweepReport | Inspection | null }
  | { readonly number: number; readonly acknowledged: string }
  | { readonly number: number; readonly failure: string };

const NAMESPACE = "default";
/** Long enough that most uploads are named before they are swept. */
const IDLE_MS = 100;
const CHUNK_BYTES = 60_000;
const [path] = process.argv.slice(2) as [string];
const database = await SqliteLogDatabase.open(path);
const provider = new LogHistoryProvider(database.namespace(NAMESPACE));

for await (const line of createInterface({ input: process.stdin })) {
  const { number, ...command } = JSON.parse(line) as Command & { number: number };
  // Commands run concurrently, like the calls of a server.
  void run(number, command as Command).then(
    (result) => tell({ number, result }),
    (error: unknown) =>
      tell({ number, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
}
await provider.close();
await database.close();

async function run(number: number, command: Command): Promise<Outcome | SweepReport | Inspection | null> {
  switch (command.do) {
    case "perform":
      return (await perform(provider, command.operation)).outcome;
    case "appendMany":
      for (let i = 0; i < command.count; i++) {
        const id = `${command.writer} ${i}`;
        await provider.logMessages(command.sessionId, [
          { id, role: "user", parts: [{ id: "", type: "text", text: id }] },
        ]);
        tell({ number, acknowledged: id });
      }
      return null;
    case "sweep": {
      const sweeper = new LogHistoryProvider(database.namespace(NAMESPACE), {
        sweepAgeMs: 0,
        attachmentIdleMs: IDLE_MS,
      });
      return sweeper.sweep({ repair: command.repair });
    }
    case "draft":
      return draft(command.given);
    case "drafts": {
      const { messages, drafts = [] } = await provider.loadSession(command.sessionId, { limit: 1000 });
      const textOf = ({ id, parts }: Pick<ChatMessage, "id" | "parts">) => ({ id, text: parts[0]?.text ?? "" });
      return { messages: messages.map(textOf), drafts: drafts.map(({ message }) => textOf(message)) };
    }
    case "attach":
      return attach(command.given);
    case "attached":
      return attached(command.sessionId, command.ids);
    case "inspect":
      return inspect();
  }
}

/** Carries out the step. Resolves to its answer, or to the code of its error. */
async function draft({ sessionId, call, id, version, text }: DraftCall): Promise<Outcome> {
  const deltas = [{ kind: "append_text", partId: "", text } as const];
  try {
    switch (call) {
      case "start":
        await provider.createSession({ sessionId });
        return (await provider.startDraft(sessionId, { id, role: "assistant", parts: [] })).version;
      case "extend":
        return await provider.extendDraft(sessionId, id, version, deltas);
      case "finish":
        return (await provider.finishDraft(sessionId, id, { version, deltas })).position;
      case "discard":
        await provider.discardDraft(sessionId, id);
        return null;
    }
  } catch (error) {
    if (error instanceof DomainError && error.code !== "internal") return error.code;
    throw error;
  }
}

/** Carries out the call. Resolves to `done`, or to the code of its error. */
function attach({ sessionId, call, id, size = 0, names = [] }: AttachmentCall): Promise<string> {
  return codeOf(async () => {
    switch (call) {
      case "upload":
        await provider.createSession({ sessionId });
        await provider.uploadAttachment(sessionId, { attachmentId: id }, inChunks(contentOf(sessionId, id, size)));
        break;
      case "append": {
        const facts = { mediaType: "", name: "", size: 0, sha256: "" };
        const parts = names.map((attachmentId) => ({
          id: "",
          type: "file",
          text: "",
          attachment: { attachmentId, ...facts },
        }));
        await provider.logMessages(sessionId, [{ id, role: "user", parts }]);
        break;
      }
      case "deleteMessage":
        await provider.deleteMessage(sessionId, id);
        break;
      case "eraseMessage":
        await provider.eraseMessage(sessionId, id);
        break;
      case "deleteAttachment":
        await provider.deleteAttachment(sessionId, id);
        break;
    }
    return "done";
  });
}

async function* inChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

async function attached(sessionId: string, ids: readonly string[]): Promise<Outcome> {
  const messages = await provider.getSessionMessages(sessionId);
  const named = messages.map(({ id, parts }) => [id, parts.flatMap((part) => part.attachment?.attachmentId ?? [])]);
  const contents: [string, string][] = [];
  for (const id of ids) {
    const hash = createHash("sha256");
    const found = await codeOf(async () => {
      for await (const piece of (await provider.getAttachment(sessionId, id, {})).pieces) hash.update(piece);
      return hash.digest("hex");
    });
    contents.push([id, found]);
  }
  return { messages: named, contents };
}

/** Resolves to what the work answers, or to the code of its error. */
async function codeOf(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainError && error.code !== "internal") return error.code;
    throw error;
  }
}

async function inspect(): Promise<Inspection> {
  const db = new Database(path);
  const value = (sql: string) => (db.prepare(sql).raw().get([]) as unknown[])[0];
  const inspection = {
    integrity: value("PRAGMA integrity_check") as string,
    orphans: await database.namespace(NAMESPACE).listOrphans(100),
    records: value("SELECT count(*) FROM sessions") as number,
    places: value("SELECT count(*) FROM messages") as number,
    attached: ["attachments", "attachment_pieces", "attachment_names"].map(
      (table) => value(`SELECT count(*) FROM ${table}`) as number,
    ) as [number, number, number],
  };
  db.close();
  return inspection;
}

/** Writes an answer to the pipe at once, so that it arrives even if the process is killed right afterwards. */
function tell(answer: Answer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
