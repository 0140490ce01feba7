import { describeOnPostgres } from "./postgres-harness.js";
import { describeStorageManager } from "./storage-provider.js";

await describeOnPostgres("PostgreSQL", describeStorageManager);
