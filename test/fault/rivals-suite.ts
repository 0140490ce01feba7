import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { KINDS, openRivals, type RivalTask } from "./rival-calls.js";
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

type Store = "SQLite" | "MongoDB" | "PostgreSQL";

/** Each resolves to null where there is no server. */
const SERVERS: Readonly<Record<Exclude<Store, "SQLite">, () => Promise<RivalServer | null>>> = {
  MongoDB: async () => {
    const server = await startMongoServer();
    return server && { newUrl: () => freshDatabaseUrl(server), stop: () => server.stop() };
  },
  PostgreSQL: async () => {
    const server = await startPostgresServer({ fast: true });
    return server && { newUrl: () => freshSchemaUrl(server), stop: () => server.stop() };
  },
};

interface RivalServer {
  /** The URL of a database that is empty. */
  newUrl(): string;
  stop(): Promise<void>;
}

/** Runs the cases on a SQLite file, or on a server. */
export async function describeRivals(store: Store, cases: readonly Case[]): Promise<void> {
  const server = store === "SQLite" ? null : await SERVERS[store]();
  const folder = mkdtempSync(join(tmpdir(), "session-pool-rivals-"));
  const child = await bundleChild(new URL("rival-child.ts", import.meta.url));
  afterAll(async () => {
    child.remove();
    rmSync(folder, { recursive: true });
    await server?.stop();
  });
  let files = 0;

  describe.skipIf(store !== "SQLite" && !server)(`processes that change one session at once on ${store}`, () => {
    it.each(cases)(
      "are all answered: $what",
      async ({ tasks, maxSegments = 128 }) => {
        const url = server ? server.newUrl() : join(folder, `${++files}.db`);
        const database = await openRivals(url);
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
