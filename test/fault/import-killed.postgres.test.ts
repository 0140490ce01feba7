import { describeOnPostgres } from "./import-killed-postgres.js";

await describeOnPostgres(7);
