import { POSTGRES_MAJORS } from "../support/postgres-binaries.js";
import { startPostgresServer } from "../support/postgres-server.js";
import { describeOnPostgres, describePostgresLogStore, describePostgresModel } from "./postgres-harness.js";
import { describeStorageProvider } from "./storage-provider.js";

for (const major of POSTGRES_MAJORS) {
  const name = `PostgreSQL ${major}`;
  const start = () => startPostgresServer({ fast: true, major });
  await describePostgresLogStore(name, start);
  await describeOnPostgres(name, describeStorageProvider, start);
  await describePostgresModel(name, start);
}
