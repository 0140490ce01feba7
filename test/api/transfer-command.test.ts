import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { run } from "../support/child.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-transfer-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("a small file is imported whole by a process that has yet to open its store", async () => {
  const file = join(folder, "one.jsonl");
  const session = { sessionId: "s", parentId: "", forkPointId: "", inheritedCount: 0, title: "One" };
  const message = { id: "m", role: "user", timestampMicros: 1_700_000_000_000_000, parts: [] };
  const lines = [{ format: "session-pool", version: 1 }, { session }, { message }, { todos: [] }];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

  const storage = `sqlite:${folder}/pool.db`;
  expect(await run(["import", "--storage", storage, file])).toMatchObject({ code: 0, stderr: "Imported 1 sessions\n" });
  const exported = join(folder, "again.jsonl");
  expect(await run(["export", "--storage", storage, exported])).toMatchObject({ code: 0 });
  expect(
    readFileSync(exported, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(lines);
});
