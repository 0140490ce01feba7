import { describePostgresModel } from "./postgres-harness.js";

await describePostgresModel("PostgreSQL");
