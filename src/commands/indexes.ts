import { indexStatements } from "../storage/mongodb/mongo-schema.js";

/** Prints the keys that a MongoDB gets, as lines for mongosh. Changes nothing. */
export function printIndexes(): void {
  process.stdout.write(`${indexStatements().join("\n")}\n`);
}
