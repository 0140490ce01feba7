import { expect, it, onTestFinished } from "vitest";
import { PostgresStorageProvider } from "../../src/storage/postgres/postgres-storage-provider.js";
import { schemaScript } from "../../src/storage/postgres/prepare-schema.js";
import { POSTGRES_MAJORS } from "../support/postgres-binaries.js";
import { query, startOwnPostgresServer } from "../support/postgres-server.js";

it.each(POSTGRES_MAJORS)(
  "PostgreSQL %i proves that a vacuum has left nothing, and says who may run one",
  async (major) => {
    const server = await startOwnPostgresServer({ major, fast: true });
    onTestFinished(() => server!.stop());
    const provider = await PostgresStorageProvider.open(server!.url, { search: true });
    await provider.createSession({ sessionId: "s" });
    const parts = [{ id: "", type: "text", text: "hunter2" }];
    await provider.logMessages("s", [{ id: "m", role: "user", parts }]);
    await provider.eraseMessage("s", "m");
    for (const full of [false, true]) await provider.database.vacuum({ full });
    await provider.close();

    await query(server!.url, "CREATE ROLE app LOGIN", schemaScript("ours", "app"));
    const url = new URL(server!.url);
    url.username = "app";
    url.searchParams.set("schema", "ours");
    const ours = await PostgresStorageProvider.open(url.href);
    await expect(ours.database.vacuum({ full: false })).rejects.toThrow("Only the owner");
    // The right has existed since version 17.
    if (major >= 17) {
      await query(server!.url, "GRANT MAINTAIN ON ours.messages TO app");
      await ours.database.vacuum({ full: true });
    }
    await ours.close();
  },
);
