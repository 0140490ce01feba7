import { startPooledPostgres } from "../support/pgbouncer.js";
import { describeOnPostgres } from "./postgres-harness.js";
import { describeStorageProvider } from "./storage-provider.js";

await describeOnPostgres("PostgreSQL behind PgBouncer", describeStorageProvider, startPooledPostgres);
