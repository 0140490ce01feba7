import { sqliteHarnesses } from "./sqlite-harness.js";
import { describeStorageManager, describeStorageProvider } from "./storage-provider.js";

const harness = sqliteHarnesses();

describeStorageProvider("a SQLite file with an index of words", harness("file", true));
describeStorageProvider("SQLite in memory", harness("memory", true));
// The manager only passes calls on, so one kind of SQLite is enough for it.
describeStorageManager("SQLite in memory", harness("memory", true));
