import { checkSchemaName } from "../storage/postgres/postgres-url.js";
import { schemaScript, upgradeScript } from "../storage/postgres/prepare-schema.js";
import { print } from "./print.js";

interface SchemaFlags {
  readonly schema: string;
  readonly role: string;
  readonly upgrade: boolean;
}

/**
 * Prints the SQL that makes everything in a PostgreSQL database and gives a role its rights, or the SQL that upgrades
 * the tables of an older version. Changes nothing.
 */
export function printSchema({ schema, role, upgrade }: SchemaFlags): void {
  checkSchemaName(schema);
  print(upgrade ? upgradeScript(schema, role) : schemaScript(schema, role));
}
