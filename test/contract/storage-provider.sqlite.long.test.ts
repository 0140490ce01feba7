import { sqliteHarnesses } from "./sqlite-harness.js";
import { describeStorageProvider } from "./storage-provider.js";

describeStorageProvider("a SQLite file", sqliteHarnesses()("file", false));
