import { describePostgresLogStore } from "./postgres-harness.js";

await describePostgresLogStore("PostgreSQL");
