import { indexStatements } from "../storage/mongodb/mongo-schema.js";

/** Prints the indexes that a MongoDB database gets, as lines for mongosh. Changes nothing. */
export function printIndexes(): void {
  process.stdout.write(`${indexStatements().join("\n")}\n`);
}
