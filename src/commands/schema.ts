import { checkSchemaName } from "../storage/postgres/postgres-url.js";
import { schemaScript } from "../storage/postgres/prepare-schema.js";
import { print } from "./print.js";

/** Prints the SQL that makes everything in a PostgreSQL database, and gives a role its rights. Changes nothing. */
export function printSchema({ schema, role }: { readonly schema: string; readonly role: string }): void {
  checkSchemaName(schema);
  print(schemaScript(schema, role));
}
