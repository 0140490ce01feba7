import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach } from "vitest";
import { importSessions } from "../../../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../../../src/commands/with-pools.js";
import type { ChatMessage } from "../../../../src/domain/chat-message.js";
import type { Session } from "../../../../src/domain/session.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-readers-"));
let count = 0;

afterAll(() => rmSync(folder, { recursive: true }));
// Set by an import that left something out.
afterEach(() => {
  process.exitCode = undefined;
});

export interface Imported {
  readonly session: Session;
  readonly messages: readonly ChatMessage[];
}

/** A store of its own, with what imports made of the sessions, by their ids. */
export interface Target {
  import(name: string, content: string | object | readonly object[]): Promise<Readonly<Record<string, Imported>>>;
  importFile(path: string): Promise<Readonly<Record<string, Imported>>>;
}

/** A path for a file of a test. */
export function pathOf(name: string): string {
  count += 1;
  return join(folder, `${count}-${name}`);
}

export function newTarget(): Target {
  const storage = `sqlite:${pathOf("to.db")}`;
  const importFile = async (path: string) => {
    await importSessions({ storage, namespace: "default" }, path);
    return withPools(storage, async (pools) => {
      const { sessions } = pools.for("default");
      const all = (await sessions.listSessions({ limit: 100 })).sessions;
      const entries = all.map(async (session) => {
        const messages = await sessions.getMessages(session.sessionId);
        return [session.sessionId, { session, messages }] as const;
      });
      return Object.fromEntries(await Promise.all(entries));
    });
  };
  return {
    importFile,
    import: (name, content) => {
      const path = join(folder, name);
      writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
      return importFile(path);
    },
  };
}

/** JSON Lines. */
export function lines(...items: readonly unknown[]): string {
  return items.map((item) => `${typeof item === "string" ? item : JSON.stringify(item)}\n`).join("");
}

/** Each message as its role and the texts or types of its parts. */
export function outline({ messages }: Imported): string[] {
  return messages.map(({ role, parts }) => `${role}: ${parts.map(({ type, text }) => text || type).join(" | ")}`);
}
