import { createInterface } from "node:readline";
import Database from "libsql";
import type { ChatMessage } from "../../src/domain/chat-message.js";
import { DomainError } from "../../src/domain/errors.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import type { SweepReport } from "../../src/storage/storage-provider.js";
import { type Operation, type Outcome, perform } from "../simulation/operations.js";

/** The commands of a child process. Each is a line of JSON with a number, and its answer has the same number. */
export type Command =
  | { readonly do: "perform"; readonly operation: Operation }
  /** Appends `count` messages, one after the other, and reports each one that was acknowledged. */
  | { readonly do: "appendMany"; readonly sessionId: string; readonly writer: string; readonly count: number }
  | { readonly do: "draft"; readonly given: DraftCall }
  /** Returns the messages and the open drafts of a session. */
  | { readonly do: "drafts"; readonly sessionId: string }
  /** Sweeps without waiting for anything to be ten minutes old. */
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

export interface Inspection {
  readonly integrity: string;
  readonly orphans: readonly string[];
  readonly records: number;
  readonly places: number;
}

export type Answer =
  | { readonly number: number; readonly result: Outcome | SweepReport | Inspection | null }
  | { readonly number: number; readonly acknowledged: string }
  | { readonly number: number; readonly failure: string };

const NAMESPACE = "default";
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
      const sweeper = new LogHistoryProvider(database.namespace(NAMESPACE), { sweepAgeMs: 0 });
      return sweeper.sweep({ repair: command.repair });
    }
    case "draft":
      return draft(command.given);
    case "drafts": {
      const { messages, drafts = [] } = await provider.loadSession(command.sessionId, { limit: 1000 });
      const textOf = ({ id, parts }: Pick<ChatMessage, "id" | "parts">) => ({ id, text: parts[0]?.text ?? "" });
      return { messages: messages.map(textOf), drafts: drafts.map(({ message }) => textOf(message)) };
    }
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

async function inspect(): Promise<Inspection> {
  const db = new Database(path);
  const value = (sql: string) => (db.prepare(sql).raw().get([]) as unknown[])[0];
  const inspection = {
    integrity: value("PRAGMA integrity_check") as string,
    orphans: await database.namespace(NAMESPACE).listOrphans(100),
    records: value("SELECT count(*) FROM sessions") as number,
    places: value("SELECT count(*) FROM messages") as number,
  };
  db.close();
  return inspection;
}

/** Writes an answer to the pipe at once, so that it arrives even if the process is killed right afterwards. */
function tell(answer: Answer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
