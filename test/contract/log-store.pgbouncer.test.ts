import { startPooledPostgres } from "../support/pgbouncer.js";
import { describePostgresLogStore } from "./postgres-harness.js";

await describePostgresLogStore("PostgreSQL behind PgBouncer", startPooledPostgres);
