import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freshDatabaseUrl, startMongoServer } from "../../support/mongo-server.js";
import { freshSchemaUrl, startPostgresServer } from "../../support/postgres-server.js";

/** A store for the runs, and what puts it away. */
interface RunStore {
  readonly url: string;
  stop(): Promise<void>;
}

/** Every store, by its name. Null: its server is not installed. */
export const STORES: Readonly<Record<string, () => Promise<RunStore | null>>> = {
  memory: async () => ({ url: "memory:", stop: async () => {} }),
  SQLite: async () => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-two-users-"));
    return { url: `sqlite:${join(folder, "store.db")}`, stop: async () => rmSync(folder, { recursive: true }) };
  },
  PostgreSQL: async () => {
    const server = await startPostgresServer({ fast: true });
    return server && { url: freshSchemaUrl(server), stop: async () => server.stop() };
  },
  MongoDB: async () => {
    const server = await startMongoServer();
    return server && { url: freshDatabaseUrl(server), stop: async () => server.stop() };
  },
};
