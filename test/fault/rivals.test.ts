import { describeRivals, writersOf, writersOfAll } from "./rivals-suite.js";

// rivals.long.test.ts has 2, 4 and 8 writers of each kind.
await describeRivals("SQLite", [writersOf("copy", 3, 2, 60), writersOf("older", 3, 2, 150), writersOfAll(1, 3, 40)]);
await describeRivals("MongoDB", [writersOf("copy", 3, 1, 60)]);
await describeRivals("PostgreSQL", [
  writersOf("copy", 3, 2, 60),
  writersOf("older", 3, 2, 150),
  writersOf("append", 8, 5, 1),
  writersOfAll(1, 3, 40),
]);
