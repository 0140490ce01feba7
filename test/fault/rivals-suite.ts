import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { MongoLogDatabase } from "../../src/storage/mongodb/mongo-log-database.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { KINDS, type RivalTask } from "./rival-calls.js";
import { expectNoneStarves } from "./rivals.js";
import { bundleChild } from "./sqlite-process.js";

/** What the writers of a case do. */
interface Case {
  readonly what: string;
  readonly tasks: readonly RivalTask[];
  /** Few segments make every process merge often. */
  readonly maxSegments?: number;
}

const CASE_TIMEOUT_MS = 300_000;

/** So many writers of one kind. */
export function writersOf(kind: string, writers: number, rounds: number, size: number): Case {
  const tasks = Array.from({ length: writers }, (_, writer) => ({ kind, writer, rounds, size }));
  return { what: `${writers} writers: ${kind}`, tasks, maxSegments: kind === "merge" ? 8 : 128 };
}

/** Writers of all kinds at once, so many of each. */
export function writersOfAll(each: number, rounds: number, size: number): Case {
  const tasks = KINDS.flatMap((kind) => writersOf(kind, each, rounds, size).tasks);
  return { what: `${each} writers of each kind at once`, tasks };
}

/** Runs the cases on a SQLite file, or on a MongoDB server. */
export async function describeRivals(store: "SQLite" | "MongoDB", cases: readonly Case[]): Promise<void> {
  const server = store === "MongoDB" ? await startMongoServer() : null;
  const folder = mkdtempSync(join(tmpdir(), "session-pool-rivals-"));
  const child = await bundleChild(new URL("rival-child.ts", import.meta.url));
  afterAll(async () => {
    child.remove();
    rmSync(folder, { recursive: true });
    await server?.stop();
  });
  let files = 0;

  describe.skipIf(store === "MongoDB" && !server)(`processes that change one session at once on ${store}`, () => {
    it.each(cases)(
      "are all answered: $what",
      async ({ tasks, maxSegments = 128 }) => {
        const url = server ? freshDatabaseUrl(server) : join(folder, `${++files}.db`);
        const database = server ? await MongoLogDatabase.connect(url) : await SqliteLogDatabase.open(url);
        const provider = new LogHistoryProvider(database.namespace("default"));
        try {
          await expectNoneStarves({ script: child.script, url, maxSegments }, provider, tasks);
        } finally {
          await provider.close();
          await database.close();
        }
      },
      CASE_TIMEOUT_MS,
    );
  });
}
