import { indexStatements } from "../storage/mongodb/mongo-indexes.js";
import { print } from "./print.js";

/** Prints the indexes that a MongoDB database gets, as lines for mongosh. Changes nothing. */
export function printIndexes(): void {
  print(indexStatements().join("\n"));
}
