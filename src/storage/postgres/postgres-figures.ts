import type { Call } from "../../domain/call.js";
import type { SearchScope } from "../../domain/search.js";
import { MOST_UNINDEXED, type StoreFigures } from "../history/log-store.js";
import type { PostgresPool } from "./postgres-pool.js";
import { quoted } from "./postgres-url.js";
import { lacksWords } from "./search-schema.js";
import { namespacesOf } from "./statements.js";

/** Figures of all namespaces in one statement. Each of its parts follows an index, or asks the catalog. */
export async function readFigures(
  pool: PostgresPool,
  schema: string,
  indexed: SearchScope | undefined,
  call?: Call,
): Promise<StoreFigures> {
  const values = indexed ? [schema, MOST_UNINDEXED] : [schema];
  const [row] = await pool.read(figuresStatement(schema, indexed), values, call);
  const [bytes, sessions, openDrafts, markMs, expireMicros, nowMicros, unindexed] = row as Figures;
  // As `timeMs` answers it.
  const nowMs = Math.floor(nowMicros / 1000);
  return {
    bytes,
    sessions,
    openDrafts,
    unsweptAgeMs: Math.max(0, nowMs - (markMs ?? nowMs), nowMs - (expireMicros ?? nowMicros) / 1000),
    ...(unindexed !== null && { unindexed }),
  };
}

type Figures = readonly [number, number, number, number | null, number | null, number, number | null];

function figuresStatement(schema: string, indexed: SearchScope | undefined): string {
  const s = quoted(schema);
  // The planner takes most messages to be such ones. Only their index has this order.
  const unindexed =
    indexed &&
    `SELECT count(*) FROM (
        SELECT 1 FROM ${s}.messages AS m WHERE ${lacksWords(indexed, "m.")} ORDER BY m.seq, m.uid, m.log LIMIT $2
      ) AS found`;
  return `WITH RECURSIVE ${namespacesOf(s)}, waiting AS (
      SELECT (
          SELECT s.sweep_time FROM ${s}.sessions AS s
            WHERE s.namespace = n.name AND s.forks = 0 AND s.sweep_time > 0 AND NOT s.restoring
            ORDER BY s.sweep_time LIMIT 1
        ) AS mark, (
          SELECT s.expire_time FROM ${s}.sessions AS s
            WHERE s.namespace = n.name AND NOT s.deleted AND s.expire_time IS NOT NULL ORDER BY s.expire_time LIMIT 1
        ) AS expiry
        FROM n WHERE n.name IS NOT NULL
    )
    SELECT (
        SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_catalog.pg_class AS c
          JOIN pg_catalog.pg_namespace AS o ON o.oid = c.relnamespace WHERE o.nspname = $1 AND c.relkind = 'r'
      ),
      (SELECT count(*) FROM ${s}.sessions WHERE NOT deleted),
      (SELECT coalesce(sum(open_drafts), 0)::bigint FROM ${s}.sessions WHERE NOT deleted AND drafts > 0),
      (SELECT min(mark) FROM waiting),
      (SELECT min(expiry) FROM waiting),
      ${s}.now_micros(),
      (${unindexed ?? "NULL"})`;
}
