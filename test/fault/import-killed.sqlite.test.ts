import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import Database from "libsql";
import { describe, expect, it, onTestFinished } from "vitest";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { Child, run } from "../support/child.js";
import { backupOf, describeKilledImports, poolOf, retriesOf } from "./import-killed.js";

describeKilledImports("SQLite", async () => {
  const database = await SqliteLogDatabase.open(":memory:");
  return { store: database.namespace("default"), close: () => database.close() };
});

/** What is in the file when the process is killed. */
const MOMENTS: Readonly<Record<string, string>> = {
  "a session's messages are being written": "SELECT count(*) > 0 FROM messages",
  "half of the messages are there": "SELECT count(*) > 2000 FROM messages",
  "one session is there": "SELECT count(*) > 0 FROM sessions WHERE deleted = 0",
  "a fork is there, too": "SELECT count(*) > 1 FROM sessions WHERE deleted = 0",
};

describe("the command import, killed on a SQLite file", () => {
  it.each(Object.entries(MOMENTS))("when %s, is completed by another run", async (_moment, query) => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-killed-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const source = await SqliteLogDatabase.open(":memory:");
    await fill(source);
    const text = await backupOf(source.namespace("default"));
    const file = join(folder, "backup.jsonl");
    writeFileSync(file, text);
    let target: string;
    let args: string[];
    let child: Child;
    // An import may also end before it is killed, on a busy machine.
    for (let attempt = 1; ; attempt++) {
      target = join(folder, `to-${attempt}.db`);
      args = ["import", "--storage", `sqlite:${target}`, file];
      child = new Child(args);
      while (child.process.exitCode === null && !isTrue(target, query)) await setImmediate();
      child.kill("SIGKILL");
      if ((await child.ended()).signal === "SIGKILL") break;
      expect((await child.ended()).code).toBe(0);
    }
    expect((await run(args)).code).toBe(0);
    const restored = await SqliteLogDatabase.open(target);
    expect(await backupOf(restored.namespace("default"))).toBe(text);
    const retries = await retriesOf(source.namespace("default"), text);
    expect(await retriesOf(restored.namespace("default"), text)).toEqual(retries);
    await Promise.all([source.close(), restored.close()]);
  });
});

/** Forks that come before their sources in a backup, which both have many messages of their own. */
async function fill(database: SqliteLogDatabase): Promise<void> {
  const { sessions } = poolOf(database.namespace("default"));
  const write = async (sessionId: string) => {
    for (let batch = 0; batch < 4; batch++) {
      const messages = Array.from({ length: 500 }, (_, i) => ({
        id: `${sessionId}${batch}-${i}`,
        role: "user",
        parts: [],
      }));
      await sessions.appendMessages(sessionId, messages, { createSession: true });
    }
  };
  await write("z");
  for (const newSessionId of ["m", "y"]) await sessions.forkSession("z", { newSessionId, upToMessageId: "z2-7" });
  await write("m");
  for (const newSessionId of ["a", "b"]) await sessions.forkSession("m", { newSessionId, upToMessageId: "z0-5" });
}

/** Whether a query of a file that another process may be making finds 1. */
function isTrue(path: string, query: string): boolean {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true });
    return (db.prepare(query).raw().get() as unknown as readonly [number])[0] === 1;
  } catch {
    return false;
  } finally {
    db?.close();
  }
}
