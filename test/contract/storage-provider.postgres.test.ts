import { describeOnPostgres } from "./postgres-harness.js";
import { describeStorageProvider } from "./storage-provider.js";

await describeOnPostgres("PostgreSQL", describeStorageProvider);
