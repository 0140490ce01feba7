import { RECORD } from "./rows.js";

/** How many sessions with a label are counted to tell which of several labels is the rarest. */
const MOST_COUNTED = 1000;

/** The statements that list records. */
export function listStatements(s: string) {
  const sessions = `${s}.sessions AS s`;
  const living = `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND NOT s.deleted`;
  return {
    newestFirst: list(s, ""),
    children: list(s, "AND s.parent_id = $5 AND s.parent_id <> ''"),
    /** Written so that no index finds the parent: it may have more children than the owner has sessions. */
    owned: list(s, "AND s.owner = $6 AND ($5 = '' OR s.parent_id || '' = $5)"),
    labeled: labeled(s, "$6::text"),
    labeledAll: labeledAll(s),
    ownedLabeled: labeled(s, "$6::text", { owner: "$7::text" }),
    ownedLabeledAll: labeledAll(s, "$7::text"),
    sweepable: `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND s.forks = 0 AND s.sweep_time <= $2
      ORDER BY s.sweep_time ${limit("$3")}`,
    binned: binned(s, ""),
    ownedBinned: binned(s, "AND s.owner = $5"),
    binnedById: binned(s, "AND s.session_id = $5"),
    toPurge: `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND s.purge_time <= $2
      ORDER BY s.purge_time ${limit("$3")}`,
    drafting: `${living} AND s.drafts > 0 AND s.uid > $2 ORDER BY s.uid ${limit("$3")}`,
    expired: `(${living} AND s.expire_time <= $2 ORDER BY s.expire_time ${limit("$4")})
      UNION ALL
      (${living} AND s.update_time <= $3 AND NOT coalesce(s.expire_time <= $2, false)
        ORDER BY s.update_time ${limit("$4")})
      ${limit("$4")}`,
    scan: `SELECT ${RECORD} FROM ${sessions} WHERE s.namespace = $1 AND s.uid > $2 AND NOT s.blocked
      ORDER BY s.uid ${limit("$3")}`,
  };
}

/** Deleted sessions that can be brought back, after the place $2 and $3, the newest delete first. */
function binned(s: string, condition: string): string {
  return `SELECT ${RECORD} FROM ${s}.sessions AS s
    WHERE s.namespace = $1 ${condition} AND s.delete_time IS NOT NULL
      AND (s.delete_time, s.session_id) < ($2::bigint, $3::text)
    ORDER BY s.delete_time DESC, s.session_id DESC ${limit("$4")}`;
}

/** Sessions after the place $2 and $3, the most recently updated first. */
function list(s: string, condition: string): string {
  return `SELECT ${RECORD} FROM ${s}.sessions AS s
    WHERE s.namespace = $1 ${condition} AND NOT s.deleted AND (s.update_time, s.session_id) < ($2::bigint, $3::text)
    ORDER BY s.update_time DESC, s.session_id DESC ${limit("$4")}`;
}

/** Follows the rarest of the labels $6. Of each, it counts no more than would make a page slow. */
function labeledAll(s: string, owner?: string): string {
  const rarest = `(
      SELECT o.label FROM unnest($6::text[]) AS o(label) ORDER BY (
        SELECT count(*) FROM (
          SELECT 1 FROM ${s}.labels AS x WHERE x.namespace = $1 AND x.label = o.label ${ofOwner("x", owner)}
            ORDER BY x.update_time DESC, x.session_id DESC LIMIT (SELECT ${MOST_COUNTED})
        ) AS counted
      ) LIMIT 1
    )`;
  const hasAll = `AND (SELECT count(*) FROM ${s}.labels AS x WHERE x.uid = l.uid AND x.label = ANY ($6)) = cardinality($6)`;
  return labeled(s, rarest, { condition: hasAll, owner });
}

function ofOwner(labels: string, owner: string | undefined): string {
  return owner === undefined ? "" : `AND ${labels}.owner = ${owner}`;
}

/** The same by the places of one label. Because of OFFSET, the session of each place is looked up by its key. */
function labeled(
  s: string,
  label: string,
  { condition = "", owner }: { readonly condition?: string; readonly owner?: string | undefined } = {},
): string {
  return `SELECT ${RECORD} FROM ${s}.labels AS l CROSS JOIN LATERAL (
      SELECT s.* FROM ${s}.sessions AS s
        WHERE s.uid = l.uid AND NOT s.deleted AND ($5 = '' OR s.parent_id = $5) ${condition} OFFSET 0
    ) AS s
    WHERE l.namespace = $1 ${ofOwner("l", owner)} AND l.label = ${label} AND (l.update_time, l.session_id) < ($2::bigint, $3::text)
    ORDER BY l.update_time DESC, l.session_id DESC ${limit("$4")}`;
}

/**
 * A limit that the planner does not know. It then prefers plans that return their first rows early, so it follows an
 * index in its order. With a known limit and no statistics, it expects fewer rows than that, and reads and sorts all.
 */
function limit(parameter: string): string {
  return `LIMIT (SELECT ${parameter}::bigint)`;
}
