import { attachmentStatements } from "./attachment-statements.js";
import { entryStatements } from "./entry-statements.js";
import { feedStatements } from "./feed-statements.js";
import { listStatements } from "./list-statements.js";
import { quoted } from "./postgres-url.js";
import { recordStatements } from "./record-statements.js";
import { searchStatements } from "./search-statements.js";

export type Statements = ReturnType<typeof statementsFor>;

/**
 * Every statement, with the schema of the tables. Each is a transaction of its own at READ COMMITTED. A write of a
 * session locks the row of its record first, then rows of labels, then rows of messages in the order of their key, then
 * those of attachments, so no two writes wait for each other.
 */
export function statementsFor(schema: string) {
  const s = quoted(schema);
  return {
    ...attachmentStatements(s),
    ...entryStatements(s),
    ...recordStatements(s),
    ...listStatements(s),
    ...feedStatements(s),
    ...searchStatements(s),
    ...otherStatements(s),
  };
}

function otherStatements(s: string) {
  return {
    namespaces: `WITH RECURSIVE ${namespacesOf(s)}, ${namespacesOf(s, "departures", "d")}
      SELECT name FROM n WHERE name IS NOT NULL UNION SELECT name FROM d WHERE name IS NOT NULL
      UNION SELECT namespace FROM ${s}.todos`,
    readTodos: `SELECT revision, body FROM ${s}.todos WHERE namespace = $1`,
    insertTodos: `INSERT INTO ${s}.todos (namespace, revision, body) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING
      RETURNING revision`,
    updateTodos: `UPDATE ${s}.todos SET revision = revision + 1, body = $2 WHERE namespace = $1 AND revision = $3
      RETURNING revision`,
    readRegister: `SELECT body, revision FROM ${s}.registers WHERE name = $1`,
    insertRegister: `INSERT INTO ${s}.registers (name, revision, body) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING
      RETURNING revision`,
    updateRegister: `UPDATE ${s}.registers SET revision = revision + 1, body = $2 WHERE name = $1 AND revision = $3
      RETURNING revision`,
    time: `SELECT ${s}.now_micros() / 1000`,
  };
}

/** From one namespace that has rows in a table, records as a rule, to the next; the name after the last one is null. */
export function namespacesOf(s: string, table = "sessions", n = "n"): string {
  return `${n}(name) AS (
        (SELECT namespace FROM ${s}.${table} WHERE namespace >= '' ORDER BY namespace LIMIT 1)
        UNION ALL
        SELECT (SELECT o.namespace FROM ${s}.${table} AS o WHERE o.namespace > ${n}.name ORDER BY o.namespace LIMIT 1)
          FROM ${n} WHERE ${n}.name IS NOT NULL
      )`;
}
