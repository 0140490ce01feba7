/** The columns of an attachment, in the order that `toAttachment` expects. */
const ATTACHMENT =
  "a.uid, a.log, a.attachment_id, a.media_type, a.name, a.size, a.sha256, a.create_time, a.seen, a.state, a.pieces";
/** The columns of a naming, in the order that `toNaming` expects. */
const NAMING = "n.uid, n.log, n.seq, n.attachment_id, n.target_uid, n.target_log";

const ROW_BYTES = 64 * 1024;

/**
 * The statements about attachments. Those that look for a session's write the condition on the namespace so that the
 * index of namespaces cannot serve it. Pages compare whole rows of the index: where the planner expects few rows for a
 * value, it would read and sort all of them.
 */
export function attachmentStatements(s: string) {
  const select = `SELECT ${ATTACHMENT} FROM ${s}.attachments AS a`;
  const names = `${s}.attachment_names AS n`;
  return {
    /** Locks the record, and so waits for standbys, also when an earlier send of it has added the row. */
    beginAttachment: `WITH living AS MATERIALIZED (
        SELECT s.uid, s.namespace FROM ${s}.sessions AS s
          WHERE s.uid = $1 AND s.namespace = $3 AND cardinality(s.logs) > 0 FOR NO KEY UPDATE
      ), added AS (
        INSERT INTO ${s}.attachments
            (uid, log, namespace, attachment_id, media_type, name, size, sha256, create_time, seen, state, pieces)
          SELECT l.uid, $2, l.namespace, $4, $5, $6, $7, $8, $9, $10, $11, $12 FROM living AS l ON CONFLICT DO NOTHING
      )
      SELECT count(*) FROM living`,
    putPiece: `SELECT ${s}.put_piece_1($1, $2, $3, $4, $5)`,
    completeAttachment: `SELECT ${ATTACHMENT} FROM ${s}.complete_attachment_1($1, $2, $3, $4, $5, $6, $7) AS a`,
    /** In base64 and in rows of a few KiB, because the driver reads each row as a text, and bytea as hexadecimal. */
    readPieces: `SELECT p.seq, encode(substring(p.bytes FROM g.at FOR ${ROW_BYTES}), 'base64')
      FROM ${s}.attachment_pieces AS p
        CROSS JOIN generate_series(1, greatest(octet_length(p.bytes), 1), ${ROW_BYTES}) AS g(at)
      WHERE p.uid = $1 AND p.log = $2 AND p.seq BETWEEN $3 AND $4 ORDER BY p.seq, g.at`,
    lastPiece: `SELECT p.seq FROM ${s}.attachment_pieces AS p WHERE p.uid = $1 AND p.log = $2 ORDER BY p.seq DESC LIMIT 1`,
    findAttachments: `SELECT ${ATTACHMENT} FROM unnest($3::text[]) AS i(id) CROSS JOIN LATERAL (
        SELECT a.* FROM ${s}.attachments AS a
          WHERE a.uid = $1 AND a.attachment_id = i.id AND a.state = 'stored' AND a.namespace || '' = $2 OFFSET 0
      ) AS a`,
    attachmentOf: `${select} WHERE a.uid = $1 AND a.log = $2 AND a.namespace || '' = $3`,
    listAttachments: `SELECT ${ATTACHMENT} FROM (
        SELECT a.* FROM ${s}.attachments AS a WHERE (a.uid, a.log) > ($1, $3) AND a.uid <= $1
          ORDER BY a.uid, a.log ${limit("$4")}
      ) AS a
      WHERE a.namespace = $2 ORDER BY a.log`,
    listSeen: `${select} WHERE a.namespace = $1 AND a.state = $2 AND a.seen <= $3 ORDER BY a.seen ${limit("$4")}`,
    changeAttachment: `UPDATE ${s}.attachments AS a
      SET seen = $4, state = coalesce($5, a.state), pieces = coalesce($6, a.pieces)
      WHERE a.uid = $1 AND a.log = $2 AND a.namespace || '' = $3`,
    removeAttachment: `DELETE FROM ${s}.attachments AS a WHERE a.uid = $1 AND a.log = $2 AND a.namespace || '' = $3`,
    attachmentUsage: `SELECT coalesce(sum(a.size), 0)::bigint, count(*) FILTER (WHERE a.state = 'arriving')
      FROM ${s}.attachments AS a WHERE a.uid = $1 AND a.namespace || '' = $2`,
    namings: `SELECT ${NAMING} FROM ${names}
      WHERE (n.target_uid, n.target_log, n.uid, n.log, n.seq) > ($1, $2, $3, $4, $5)
        AND (n.target_uid, n.target_log) <= ($1, $2)
      ORDER BY n.target_uid, n.target_log, n.uid, n.log, n.seq ${limit("$6")}`,
    findNamings: `SELECT ${NAMING} FROM unnest($1::text[], $2::text[]) AS l(uid, log)
      CROSS JOIN unnest($3::text[]) AS i(id) CROSS JOIN LATERAL (
        SELECT n.* FROM ${names} WHERE n.uid = l.uid AND n.log = l.log AND n.attachment_id = i.id OFFSET 0
      ) AS n`,
    /** At most a page of each log is read. */
    listNamings: `SELECT ${NAMING} FROM unnest($1::text[], $2::text[]) AS l(uid, log) CROSS JOIN LATERAL (
        SELECT n.* FROM ${names}
          WHERE (n.uid, n.log, n.attachment_id) > (l.uid, l.log, $3) AND (n.uid, n.log) <= (l.uid, l.log)
          ORDER BY n.uid, n.log, n.attachment_id, n.seq ${limit("$4")}
      ) AS n
      ORDER BY n.attachment_id, n.uid, n.log, n.seq ${limit("$4")}`,
    targetsInRange: `SELECT DISTINCT n.target_uid, n.target_log FROM ${names}
      WHERE n.uid = $1 AND n.log = $2 AND n.seq BETWEEN $3 AND $4 LIMIT $5`,
    foreignTargets: `SELECT DISTINCT n.target_uid, n.target_log FROM ${names}
      WHERE n.uid = $1 AND n.target_uid <> $1 LIMIT $2`,
  };
}

/** As in list-statements.ts. */
function limit(parameter: string): string {
  return `LIMIT (SELECT ${parameter}::bigint)`;
}
