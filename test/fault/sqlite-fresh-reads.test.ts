import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { openFile } from "../../src/storage/sqlite/open-file.js";
import { SqliteConnection } from "../../src/storage/sqlite/sqlite-connection.js";

const ROWS = 400;

it("reads what other processes have committed, even while its own writes wait for the lock", async () => {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  const path = join(folder, "my.db");
  const db = await openFile(path);
  const connection = new SqliteConnection(db);
  try {
    db.exec("CREATE TABLE told (name TEXT PRIMARY KEY) WITHOUT ROWID");
    const find = db.prepare("SELECT 1 FROM told WHERE name = ?").raw();
    const insert = db.prepare("INSERT INTO told VALUES (?)");
    const missed: string[] = [];
    const reads: Promise<void>[] = [];
    const lookFor = async (name: string) => {
      const row = await connection.read(() => find.get([name]), undefined);
      if (row === undefined) missed.push(name);
    };
    const writers = [0, 1].map(() => fork(new URL("./sqlite-other-writer.mjs", import.meta.url), [path, `${ROWS}`]));
    let running = writers.length;
    const ends = writers.map(async (writer) => {
      writer.on("message", (name) => reads.push(lookFor(String(name))));
      // Its last messages may arrive after its end.
      const [[code]] = await Promise.all([once(writer, "exit"), once(writer, "disconnect")]);
      running--;
      expect(code).toBe(0);
    });
    for (let i = 0; running > 0; i++) {
      await connection.write(() => insert.run([`own-${i}`]), undefined);
      await sleep(Math.random() * 3);
    }
    await Promise.all(ends);
    await Promise.all(reads);
    expect({ reads: reads.length, missed }).toEqual({ reads: writers.length * ROWS, missed: [] });
  } finally {
    await connection.close();
    rmSync(folder, { recursive: true });
  }
});
