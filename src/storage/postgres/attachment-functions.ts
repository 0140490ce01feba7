import { appendSql, overwriteSql } from "./functions.js";
import { quoted } from "./postgres-url.js";

/**
 * The functions that version 3 of the schema adds: those that keep what names attachments, and those of attachments.
 */
export function attachmentFunctionsSql(schema: string): string {
  const s = quoted(schema);
  return `${nameSql(s)}
${appendSql(s, 2)}
${overwriteSql(s, 2)}
${putSql(s)}
${completeSql(s)}`;
}

/**
 * Keeps which attachments the entry at a place names: `p_named` is the text of an array that has three elements for
 * each, which are its id, and the owner and the rest of the name of its log.
 */
function nameSql(s: string): string {
  return `
CREATE FUNCTION ${s}.name_1(p_uid text, p_log text, p_seq bigint, p_named text) RETURNS void LANGUAGE sql AS $f$
  INSERT INTO ${s}.attachment_names (uid, log, seq, attachment_id, target_uid, target_log)
    SELECT p_uid, p_log, p_seq, n.named[i], n.named[i + 1], n.named[i + 2]
    FROM (SELECT p_named::text[] AS named) AS n CROSS JOIN generate_series(1, cardinality(n.named), 3) AS i
$f$;`;
}

/**
 * Stores a piece of an attachment that arrives; false if none with this log does. Locks the row against a change of its
 * state, and so waits for standbys, also when the piece is there. As a statement of its own it would be planned for
 * each piece, with copies of its bytes.
 */
function putSql(s: string): string {
  return `
CREATE FUNCTION ${s}.put_piece_1(p_uid text, p_log text, p_namespace text, p_seq bigint, p_bytes bytea) RETURNS boolean
LANGUAGE plpgsql AS $f$
BEGIN
  PERFORM 1 FROM ${s}.attachments AS a
    WHERE a.uid = p_uid AND a.log = p_log AND a.namespace || '' = p_namespace AND a.state = 'arriving' FOR SHARE;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO ${s}.attachment_pieces (uid, log, seq, bytes) VALUES (p_uid, p_log, p_seq, p_bytes)
    ON CONFLICT (uid, log, seq) DO NOTHING;
  RETURN true;
END $f$;`;
}

/**
 * Turns an attachment that arrives into a stored one. Returns it, or the stored one that its session has with the id;
 * no row if nothing was changed. Who completes another one of the session waits for the record.
 */
function completeSql(s: string): string {
  return `
CREATE FUNCTION ${s}.complete_attachment_1(
  p_uid text, p_log text, p_namespace text, p_size bigint, p_sha256 text, p_create_time bigint, p_seen bigint
) RETURNS SETOF ${s}.attachments LANGUAGE plpgsql AS $f$
DECLARE
  is_writable boolean;
  arriving ${s}.attachments;
BEGIN
  SELECT cardinality(o.logs) > 0 INTO is_writable FROM ${s}.sessions AS o
    WHERE o.uid = p_uid AND o.namespace = p_namespace FOR NO KEY UPDATE;
  SELECT * INTO arriving FROM ${s}.attachments AS a
    WHERE a.uid = p_uid AND a.log = p_log AND a.namespace || '' = p_namespace FOR NO KEY UPDATE;
  IF arriving.state = 'stored' THEN
    RETURN NEXT arriving;
    RETURN;
  END IF;
  IF is_writable IS NOT TRUE OR arriving.state IS DISTINCT FROM 'arriving' THEN RETURN; END IF;
  RETURN QUERY SELECT a.* FROM ${s}.attachments AS a
    WHERE a.uid = p_uid AND a.attachment_id = arriving.attachment_id AND a.state = 'stored';
  IF FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE ${s}.attachments AS a
    SET state = 'stored', size = p_size, sha256 = p_sha256, create_time = p_create_time, seen = p_seen
    WHERE a.uid = p_uid AND a.log = p_log RETURNING a.*;
END $f$;`;
}
