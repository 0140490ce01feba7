import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { describeModel } from "./model/describe-model.js";

describeModel(
  "SQLite",
  async (now) => {
    const database = await SqliteLogDatabase.open(":memory:", { now, search: true });
    return { store: () => database.namespace("default"), close: () => database.close() };
  },
  150,
);
