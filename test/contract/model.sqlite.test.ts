import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { describeModel } from "./model/describe-model.js";

describeModel(
  "SQLite",
  { atomicAppend: true, open: (now) => SqliteLogDatabase.open(":memory:", { now, search: true }) },
  90,
);
