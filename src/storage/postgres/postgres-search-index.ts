import { MessageBody } from "../../domain/message-body.js";
import type { SearchScope } from "../../domain/search.js";
import type { SearchNotices } from "../history/search-builder.js";
import { SearchIndexer } from "../history/search-indexer.js";
import { fromColumn } from "../text-column.js";
import type { PostgresPool } from "./postgres-pool.js";
import { quoted } from "./postgres-url.js";
import { lacksWords } from "./search-schema.js";
import type { Row } from "./values.js";
import { wordsColumn } from "./words-column.js";

/** How much one step reads, so that the event loop stays responsive. */
const STEP_MESSAGES = 100;
const STEP_BYTES = 512 * 1024;
/**
 * Gives words to the messages that have none, or not those of the present rule, or too few: to those from before the
 * indexes, and to those that other processes store. An index of its own finds them.
 */
export function indexMessages(
  pool: PostgresPool,
  schema: string,
  scope: SearchScope,
  notices: SearchNotices,
): SearchIndexer {
  const { some, give } = indexingStatements(schema, scope);
  return new SearchIndexer(async (signal) => {
    const found = await pool.read(some, [STEP_MESSAGES, STEP_BYTES], { signal });
    if (found.length > 0) await pool.settle({ signal }, () => pool.run(give, columnsOf(found, scope), { signal }));
    return found.length;
  }, notices);
}

function indexingStatements(schema: string, scope: SearchScope) {
  const s = quoted(schema);
  return {
    /** Each with its namespace, and the version of its row. */
    some: `SELECT f.uid, f.log, f.seq, f.version, f.id, f.body, coalesce(s.namespace, '')
      FROM (
        SELECT m.*, m.xmin::text AS version, sum(m.size) OVER (ORDER BY m.seq, m.uid, m.log) AS total,
          row_number() OVER (ORDER BY m.seq, m.uid, m.log) AS number
        FROM (
          SELECT m.*, m.xmin FROM ${s}.messages AS m WHERE ${lacksWords(scope, "m.")}
            ORDER BY m.seq, m.uid, m.log LIMIT $1
        ) AS m
      ) AS f LEFT JOIN ${s}.sessions AS s ON s.uid = f.uid
      WHERE f.total <= $2 OR f.number = 1`,
    /** A row that an erasure has changed meanwhile keeps what that has set. Others may give words to the same rows. */
    give: `WITH g AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
          AS g(uid, log, seq, version, words)
      ), k AS MATERIALIZED (
        SELECT m.uid, m.log, m.seq FROM ${s}.messages AS m
          JOIN g ON m.uid = g.uid AND m.log = g.log AND m.seq = g.seq
          WHERE m.xmin::text = g.version
          ORDER BY m.uid, m.log, m.seq FOR NO KEY UPDATE OF m SKIP LOCKED
      )
      UPDATE ${s}.messages AS m SET words = g.words::tsvector FROM g, k
        WHERE m.uid = k.uid AND m.log = k.log AND m.seq = k.seq
          AND g.uid = k.uid AND g.log = k.log AND g.seq = k.seq`,
  };
}

function columnsOf(rows: readonly Row[], scope: SearchScope): (string | number)[][] {
  const columns: (string | number)[][] = [[], [], [], [], []];
  for (const row of rows) {
    const [uid, log, seq, version, id, body, namespace] = row as [
      string,
      string,
      number,
      string,
      string,
      string,
      string,
    ];
    const words = wordsColumn(namespace, { id: fromColumn(id), body: MessageBody.stored(body) }, scope);
    for (const [i, value] of [uid, log, seq, version, words].entries()) columns[i]?.push(value);
  }
  return columns;
}
