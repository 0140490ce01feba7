/** How many of the newest entries a search looks through before it asks the index of words. */
const MOST_NEWEST = 1000;

/** The statements that find entries by their words, with or without bodies, in all logs or in those of some owners. */
export function searchStatements(s: string) {
  return {
    findWords: search(s, "NULL"),
    findRead: search(s, "m.body"),
    findWordsOwned: searchOwned(s, "NULL"),
    findReadOwned: searchOwned(s, "m.body"),
  };
}

/**
 * Entries with the words of a query, before a place and not before a time, the newest first. A word that many entries
 * have is among the newest ones, which are looked through first. If those have too few, the index of words is asked,
 * which costs the more the more entries have them. OFFSET keeps the planner from the index of times there: how many
 * entries have a rare word is beyond its statistics, and it would look through all of them for one.
 */
function search(s: string, body: string): string {
  return `WITH newest AS MATERIALIZED (
      SELECT m.uid, m.log, m.seq, m.timestamp, m.words FROM ${s}.messages AS m WHERE m.words IS NOT NULL AND ${BETWEEN}
        ORDER BY ${NEWEST_FIRST} LIMIT (SELECT ${MOST_NEWEST})
    ), near AS MATERIALIZED (
      SELECT m.uid, m.log, m.seq FROM newest AS m WHERE m.words @@ $1::tsquery ORDER BY ${NEWEST_FIRST} LIMIT $6
    ), found AS (
      SELECT uid, log, seq FROM near WHERE (SELECT count(*) FROM near) >= $6
      UNION ALL
      (SELECT m.uid, m.log, m.seq FROM (${matches(s, "(SELECT count(*) FROM near) < $6")}) AS m
        ORDER BY ${NEWEST_FIRST} LIMIT $6)
    )
    SELECT m.uid, m.log, m.seq, m.timestamp, coalesce(m.origin, m.session_id), m.role, ${body}
    FROM found AS f CROSS JOIN LATERAL (
      SELECT m.* FROM ${s}.messages AS m WHERE m.uid = f.uid AND m.log = f.log AND m.seq = f.seq OFFSET 0
    ) AS m
    ORDER BY ${NEWEST_FIRST}`;
}

/** The same in the logs of some owners. */
function searchOwned(s: string, body: string): string {
  return `SELECT m.uid, m.log, m.seq, m.timestamp, coalesce(m.origin, m.session_id), m.role, ${body}
    FROM (${matches(s, "m.uid = ANY ($8::text[])")}) AS m ORDER BY ${NEWEST_FIRST} LIMIT $6`;
}

const BETWEEN = "(m.timestamp, m.uid, m.log, m.seq) < ($2::bigint, $3, $4, $5::bigint) AND m.timestamp >= $7::bigint";
const NEWEST_FIRST = "m.timestamp DESC, m.uid DESC, m.log DESC, m.seq DESC";

function matches(s: string, condition: string): string {
  return `SELECT m.* FROM ${s}.messages AS m WHERE ${condition} AND m.words @@ $1::tsquery AND ${BETWEEN} OFFSET 0`;
}
