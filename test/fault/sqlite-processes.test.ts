import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Inspection } from "./sqlite-child.js";
import { bundleChild, Killed, SqliteProcess } from "./sqlite-process.js";

const COUNT = 250;
const WRITERS = ["w0", "w1", "w2", "w3"];
const SESSION = "shared";

describe("several processes on one SQLite file", () => {
  let folder: string;
  let child: Awaited<ReturnType<typeof bundleChild>>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "session-pool-"));
    child = await bundleChild();
  });
  afterAll(() => {
    child.remove();
    rmSync(folder, { recursive: true });
  });

  it("append to one session while one of them is killed, and every message is stored once and in its writer's order", async () => {
    const path = join(folder, "my.db");
    const processes = WRITERS.map(() => new SqliteProcess(child.script, path));
    const [first, second, third, victim] = processes as [SqliteProcess, SqliteProcess, SqliteProcess, SqliteProcess];
    await first.tell({ do: "perform", operation: { op: "create", id: SESSION, parent: null, title: null } });
    const acknowledged: string[][] = WRITERS.map(() => []);

    victim.killAfter(COUNT / 5);
    const outcomes = await Promise.allSettled(
      processes.map((one, i) => {
        const count = one === victim ? Number.MAX_SAFE_INTEGER : COUNT;
        return one.tell({ do: "appendMany", sessionId: SESSION, writer: WRITERS[i] as string, count }, (id) =>
          acknowledged[i]?.push(id),
        );
      }),
    );

    // No call of the processes that were not killed may fail, with SQLITE_BUSY or any other error.
    expect(outcomes.slice(0, 3)).toEqual(Array(3).fill({ status: "fulfilled", value: null }));
    expect(outcomes[3]).toMatchObject({ status: "rejected", reason: expect.any(Killed) });
    const ids = await readIds(second);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [i, writer] of WRITERS.entries()) {
      const own = ids.filter((id) => id.startsWith(`${writer} `));
      expect(own).toEqual(own.map((_, at) => `${writer} ${at}`));
      expect(own.slice(0, acknowledged[i]?.length)).toEqual(acknowledged[i]);
      // The killed process may have stored one message that it had no time to report.
      if (i < 3) expect(own).toHaveLength(COUNT);
      else expect(own.length - (acknowledged[3] as string[]).length).toBeLessThanOrEqual(1);
    }
    expect(await third.tell<Inspection>({ do: "inspect" })).toEqual({
      integrity: "ok",
      orphans: [],
      records: 1,
      places: ids.length,
      attached: [0, 0, 0],
    });
    await Promise.all(processes.map((one) => one.end()));
  });

  it("create the file and its schema at the same moment", async () => {
    const path = join(folder, "new", "my.db");
    const processes = WRITERS.map(() => new SqliteProcess(child.script, path));
    const inspections = await Promise.all(processes.map((one) => one.tell<Inspection>({ do: "inspect" })));
    expect(inspections.map(({ integrity }) => integrity)).toEqual(WRITERS.map(() => "ok"));
    await Promise.all(processes.map((one) => one.end()));
  });
});

async function readIds(process: SqliteProcess): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const query = { newestFirst: false, ancestors: false, offset: ids.length, limit: 1000 };
    const page = await process.tell<{ messages: { id: string }[]; more: boolean }>({
      do: "perform",
      operation: { op: "list", id: SESSION, ...query },
    });
    ids.push(...page.messages.map(({ id }) => id));
    if (!page.more) return ids;
  }
}
