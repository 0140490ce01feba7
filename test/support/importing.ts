import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { type ImportSummary, importSessions } from "../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../src/commands/with-pools.js";
import type { Limits } from "../../src/domain/limits.js";
import type { RootPool } from "../../src/pool/root-pool.js";

interface Imported extends ImportSummary {
  /** What the command printed. */
  readonly text: string;
}

interface ImportOptions {
  readonly name?: string;
  readonly limits?: Limits;
  readonly strict?: boolean;
}

/** A store of its own for one test, and imports into it. */
export function importTarget() {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-importing-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const storage = `sqlite:${join(folder, "pool.db")}`;
  const pathOf = (name: string) => join(folder, name);
  const importPath = async (path: string, options: ImportOptions = {}): Promise<Imported> => {
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    try {
      const summary = await importSessions({ storage, namespace: "default", ...options }, path);
      return { ...summary, text: write.mock.calls.map(([text]) => String(text)).join("") };
    } finally {
      write.mockRestore();
    }
  };
  /** Imports a value as JSON, a text or bytes, under a name. */
  const importFile = (content: unknown, options: ImportOptions = {}) => {
    const path = pathOf(options.name ?? "file.json");
    writeFileSync(path, typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content));
    return importPath(path, options);
  };
  const use = <T>(run: (pool: RootPool) => Promise<T>): Promise<T> =>
    withPools(storage, (pools) => run(pools.for("default")), { create: true });
  /** All sessions by their ids, each with its messages. */
  const sessions = () => use(contents);
  return { storage, pathOf, importFile, importPath, use, sessions };
}

async function contents({ sessions: pool }: RootPool) {
  const { sessions } = await pool.listSessions({ limit: 1000 });
  const entries = sessions.map(async (session) => {
    const messages = await pool.getMessages(session.sessionId);
    return [session.sessionId, { ...session, messages, texts: messages.map(textOf) }] as const;
  });
  return new Map(await Promise.all(entries));
}

function textOf({
  role,
  parts,
}: {
  readonly role: string;
  readonly parts: readonly { readonly text: string }[];
}): string {
  return `${role}: ${parts.map(({ text }) => text).join(" | ")}`;
}
