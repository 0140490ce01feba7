import { KINDS } from "./rival-calls.js";
import { describeRivals, writersOf, writersOfAll } from "./rivals-suite.js";

/** Cases of 2, 4 and 8 writers of each kind, with so many rounds each. */
const casesOf = (rounds: Readonly<Record<2 | 4 | 8, number>>) =>
  ([2, 4, 8] as const).flatMap((writers) => KINDS.map((kind) => writersOf(kind, writers, rounds[writers], 60)));

await describeRivals("SQLite", [...casesOf({ 2: 4, 4: 4, 8: 4 }), writersOfAll(1, 4, 40), writersOfAll(2, 2, 40)]);
await describeRivals("PostgreSQL", [...casesOf({ 2: 4, 4: 4, 8: 2 }), writersOfAll(1, 4, 40), writersOfAll(2, 2, 40)]);
// The stand-in for MongoDB answers some hundred calls a second, and each copy makes the session longer for the next.
await describeRivals("MongoDB", [...casesOf({ 2: 4, 4: 2, 8: 1 }), writersOfAll(1, 2, 40)]);
