import { UPDATE_TIME_SLACK_MICROS } from "../history/record-facts.js";
import { quoted } from "./postgres-url.js";

/**
 * The functions of the database. Each statement of a function that is VOLATILE sees what is committed when it begins,
 * so an append that has waited for the record's row knows the true end of the log; one statement with the same steps
 * would still see the end from before. A function that is STABLE sees one moment. None has an EXCEPTION clause, which
 * would cost each append a second transaction id. A changed function gets a new number, because older processes go on
 * calling the older one.
 */
export function functionsSql(schema: string): string {
  const s = quoted(schema);
  return `
CREATE FUNCTION ${s}.now_micros() RETURNS bigint LANGUAGE sql VOLATILE AS $f$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$f$;
${appendSql(s, 1)}
${sealSql(s)}
${overwriteSql(s, 1)}
${newestSql(s)}`;
}

/** What the functions answer instead of a count: no record lets entries into the log, or one of the ids is there. */
export const UNNAMED = -1;
export const ID_TAKEN = -2;
/** The record is locked, or no record lets entries into the log. */
export const BUSY = -3;

/** Locks the record, so that its other writers wait, and ends the function if it does not let entries in. */
const LOCK_RECORD = (s: string) => `${SELECT_RECORD(s)};
  IF NOT FOUND THEN RETURN ${UNNAMED}; END IF;`;

const SELECT_RECORD = (s: string) => `SELECT update_time INTO old_time FROM ${s}.sessions
    WHERE uid = p_uid AND namespace = p_namespace AND p_uid || p_log = ANY (logs) FOR NO KEY UPDATE`;

/** The last place of the log, negative when a seal is there, null when it is empty. */
const FIND_END = (
  s: string,
) => `SELECT CASE WHEN m.id IS NULL THEN -m.seq ELSE m.seq END INTO last FROM ${s}.messages AS m
    WHERE m.uid = p_uid AND m.log = p_log ORDER BY m.seq DESC LIMIT 1;`;

/**
 * The update time of a living session moves if it is old enough. After the clock was set back, the time stays, and the
 * place in the feed moves with every append; functions before number 3 leave both.
 */
const TOUCH = (s: string, number: 1 | 2 | 3) =>
  number < 3
    ? `now_time := ${s}.now_micros();
  IF old_time < now_time - ${UPDATE_TIME_SLACK_MICROS} THEN
    UPDATE ${s}.sessions SET update_time = now_time WHERE uid = p_uid AND NOT deleted;
    UPDATE ${s}.labels SET update_time = now_time WHERE uid = p_uid;
  END IF;`
    : `now_time := ${s}.now_micros();
  IF abs(now_time - old_time) > ${UPDATE_TIME_SLACK_MICROS} THEN
    UPDATE ${s}.sessions SET update_time = greatest(update_time, now_time), place = txid_current()
      WHERE uid = p_uid AND NOT deleted;
    UPDATE ${s}.labels SET update_time = now_time WHERE uid = p_uid AND update_time < now_time;
  END IF;`;

/**
 * One message; many, because arrays cost a single one twice the time; and one for each of several sessions, which waits
 * for no record. Unless `p_waits`, a locked record is answered at once. Since `number` 2, `p_named` says for each
 * message which attachments it names, as `name_1` takes it, or null for none. Since 3, `p_usage` and `p_sums` are the
 * columns of usage.
 */
export function appendSql(s: string, number: 1 | 2 | 3): string {
  const more = (type: string) => {
    const named = number === 1 ? "" : `, p_named ${type}`;
    return number < 3 ? named : `${named}, p_usage ${type}, p_sums ${type}`;
  };
  const columns = number < 3 ? "" : ", usage, usage_sums";
  return `
CREATE FUNCTION ${s}.append_one_${number}(
  p_uid text, p_log text, p_namespace text, p_write bigint, p_seq bigint, p_id text, p_time bigint, p_size int,
  p_role text, p_session text, p_origin text, p_body text, p_words text${more("text")}, p_waits boolean
) RETURNS int LANGUAGE plpgsql AS $f$
DECLARE
  old_time bigint;
  now_time bigint;
  last bigint;
BEGIN
  IF p_waits THEN
    ${LOCK_RECORD(s)}
  ELSE
    ${SELECT_RECORD(s)} SKIP LOCKED;
    IF NOT FOUND THEN RETURN ${BUSY}; END IF;
  END IF;
  ${FIND_END(s)}
  IF coalesce(last, 0) <> p_seq - 1 THEN RETURN 0; END IF;
  INSERT INTO ${s}.messages (uid, log, seq, id, timestamp, write, size, role, session_id, origin, body, words${columns})
    VALUES (p_uid, p_log, p_seq, p_id, p_time, p_write, p_size, p_role, p_session, p_origin, p_body,
      p_words::tsvector${number < 3 ? "" : ", p_usage, p_sums"})
    ON CONFLICT (id, uid, log) DO NOTHING;
  IF NOT FOUND THEN RETURN ${ID_TAKEN}; END IF;${number === 1 ? "" : NAME_ONE(s, "p")}
  ${TOUCH(s, number)}
  RETURN 1;
END $f$;

CREATE FUNCTION ${s}.append_group_${number}(
  p_uid text[], p_log text[], p_namespace text[], p_write bigint[], p_seq bigint[], p_id text[], p_time bigint[],
  p_size int[], p_role text[], p_session text[], p_origin text[], p_body text[], p_words text[]${more("text[]")}
) RETURNS SETOF int LANGUAGE plpgsql AS $f$
BEGIN
  FOR i IN 1 .. cardinality(p_uid) LOOP
    RETURN NEXT ${s}.append_one_${number}(
      p_uid[i], p_log[i], p_namespace[i], p_write[i], p_seq[i], p_id[i], p_time[i], p_size[i], p_role[i], p_session[i],
      p_origin[i], p_body[i], p_words[i],${number === 1 ? "" : " p_named[i],"}${number < 3 ? "" : " p_usage[i], p_sums[i],"} false
    );
  END LOOP;
END $f$;

CREATE FUNCTION ${s}.append_many_${number}(
  p_uid text, p_log text, p_namespace text, p_write bigint, p_seq bigint, p_id text[], p_time bigint[], p_size int[],
  p_role text[], p_session text[], p_origin text[], p_body text[], p_words text[]${more("text[]")}
) RETURNS int LANGUAGE plpgsql AS $f$
DECLARE
  old_time bigint;
  now_time bigint;
  last bigint;
BEGIN
  ${LOCK_RECORD(s)}
  ${FIND_END(s)}
  IF coalesce(last, 0) <> p_seq - 1 THEN RETURN 0; END IF;
  IF (SELECT count(DISTINCT i COLLATE "C") FROM unnest(p_id) AS i) < cardinality(p_id) OR EXISTS (
    SELECT 1 FROM unnest(p_id) AS i(id) CROSS JOIN LATERAL (
      SELECT 1 FROM ${s}.messages AS m WHERE m.id = i.id AND m.uid = p_uid AND m.log = p_log OFFSET 0
    ) AS m
  ) THEN
    RETURN ${ID_TAKEN};
  END IF;
  INSERT INTO ${s}.messages (uid, log, seq, id, timestamp, write, size, role, session_id, origin, body, words${columns})
    SELECT p_uid, p_log, p_seq + g.i - 1, g.id, g.time, p_write, g.size, g.role, g.session, g.origin, g.body,
      g.words::tsvector${number < 3 ? "" : ", g.usage, g.sums"}
    FROM unnest(p_id, p_time, p_size, p_role, p_session, p_origin, p_body, p_words${number < 3 ? "" : ", p_usage, p_sums"})
      WITH ORDINALITY AS g(id, time, size, role, session, origin, body, words${number < 3 ? "" : ", usage, sums"}, i);${number === 1 ? "" : NAME_MANY(s)}
  ${TOUCH(s, number)}
  RETURN cardinality(p_id);
END $f$;`;
}

const NAME_ONE = (s: string, entry: "p" | "g") => {
  const of = (column: string) => (entry === "p" ? `p_${column}` : `g.${column}`);
  return `
  IF ${of("named")} IS NOT NULL THEN PERFORM ${s}.name_1(${of("uid")}, ${of("log")}, ${of("seq")}, ${of("named")}); END IF;`;
};

const NAME_MANY = (s: string) => `
  PERFORM ${s}.name_1(p_uid, p_log, p_seq + g.i - 1, g.named) FROM unnest(p_named) WITH ORDINALITY AS g(named, i)
    WHERE g.named IS NOT NULL;`;

function sealSql(s: string): string {
  return `
CREATE FUNCTION ${s}.seal_1(p_uid text, p_log text, p_namespace text, p_write bigint) RETURNS bigint
LANGUAGE plpgsql AS $f$
DECLARE
  old_time bigint;
  last bigint;
BEGIN
  ${LOCK_RECORD(s)}
  ${FIND_END(s)}
  IF last < 0 THEN RETURN -last - 1; END IF;
  INSERT INTO ${s}.messages (uid, log, seq, id, timestamp, write, size, role, session_id, origin, body)
    VALUES (p_uid, p_log, coalesce(last, 0) + 1, NULL, 0, p_write, 0, '', '', NULL, '');
  RETURN coalesce(last, 0);
END $f$;`;
}

/**
 * Locks the rows in the order of their key, and finds each of them by it, whatever the planner knows about the table.
 * Since `number` 2, what an entry names is replaced with it, and since 3 its usage if it has any.
 */
export function overwriteSql(s: string, number: 1 | 2 | 3): string {
  const names = ["named", "usage"].slice(0, number - 1);
  const parameter = names.map((name) => `, p_${name} text[]`).join("");
  const column = names.map((name) => `, ${name}`).join("");
  const given = names.map((name) => `, p_${name}`).join("");
  const usage = number < 3 ? "" : ",\n        usage = CASE WHEN m.usage IS NULL THEN NULL ELSE g.usage END";
  return `
CREATE FUNCTION ${s}.overwrite_${number}(
  p_uid text[], p_log text[], p_seq bigint[], p_id text[], p_size int[], p_body text[], p_words text[]${parameter}
) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT * FROM unnest(p_uid, p_log, p_seq, p_id, p_size, p_body, p_words${given})
      AS new(uid, log, seq, id, size, body, words${column}) ORDER BY new.uid COLLATE "C", new.log COLLATE "C", new.seq
  LOOP
    UPDATE ${s}.messages AS m SET size = g.size, body = g.body, words = g.words::tsvector${usage}
      WHERE m.uid = g.uid AND m.log = g.log AND m.seq = g.seq AND m.id = g.id;${number === 1 ? "" : RENAME(s)}
  END LOOP;
END $f$;`;
}

const RENAME = (s: string) => `
    CONTINUE WHEN NOT FOUND;
    DELETE FROM ${s}.attachment_names AS n WHERE n.uid = g.uid AND n.log = g.log AND n.seq = g.seq;${NAME_ONE(s, "g")}`;

/**
 * Adds to the counted bytes of records, or sets them. Locks the rows in the order of their key, and finds each by it.
 * Version 2 of the schema adds this function.
 */
export function countBytesSql(schema: string): string {
  const s = quoted(schema);
  return `
CREATE FUNCTION ${s}.count_bytes_1(p_namespace text, p_uid text[], p_bytes bigint[], p_sets boolean)
RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  g record;
BEGIN
  FOR g IN SELECT * FROM unnest(p_uid, p_bytes) AS new(uid, bytes) ORDER BY new.uid COLLATE "C" LOOP
    UPDATE ${s}.sessions AS s SET bytes = CASE WHEN p_sets THEN g.bytes ELSE greatest(0, s.bytes + g.bytes) END
      WHERE s.uid = g.uid AND s.namespace = p_namespace AND NOT s.blocked AND (p_sets OR s.bytes IS NOT NULL);
  END LOOP;
END $f$;`;
}

/**
 * The end of a session with the open log `p_uid` and `p_log`. The first row (kind 0) is the end of that log: `seq` as
 * in FIND_END, with the id and the time of the last message. Then come messages (kind 1), the newest first, of that log
 * and of the segments, each of which is a JSON array of uid, log, first and last. They end at a gap. A row of kind 2
 * says that `p_bytes` ended them.
 */
function newestSql(s: string): string {
  return `
CREATE FUNCTION ${s}.newest_1(p_uid text, p_log text, p_segments text, p_limit bigint, p_bytes bigint)
RETURNS TABLE (
  kind int, uid text, log text, seq bigint, id text, "time" bigint, role text, session_id text, origin text, body text
) LANGUAGE plpgsql STABLE AS $f$
DECLARE
  stop record;
  part record;
  m record;
  last bigint := 0;
  place bigint;
  found bigint := 0;
  used bigint := 0;
BEGIN
  SELECT o.seq, o.id, o.timestamp INTO stop FROM ${s}.messages AS o
    WHERE o.uid = p_uid AND o.log = p_log ORDER BY o.seq DESC LIMIT 1;
  kind := 0;
  seq := stop.seq;
  IF stop.seq IS NOT NULL AND stop.id IS NULL THEN
    seq := -stop.seq;
    SELECT o.seq, o.id, o.timestamp INTO stop FROM ${s}.messages AS o
      WHERE o.uid = p_uid AND o.log = p_log AND o.seq = stop.seq - 1 AND o.id IS NOT NULL;
  END IF;
  IF stop.seq IS NOT NULL THEN last := stop.seq; END IF;
  id := stop.id;
  "time" := stop.timestamp;
  RETURN NEXT;
  FOR part IN
    SELECT p_uid AS uid, p_log AS log, 1::bigint AS first, last AS last, NULL::bigint AS i
    UNION ALL
    SELECT j.value ->> 0, j.value ->> 1, (j.value ->> 2)::bigint, (j.value ->> 3)::bigint, j.i
      FROM json_array_elements(p_segments::json) WITH ORDINALITY AS j(value, i)
    ORDER BY 5 DESC NULLS FIRST
  LOOP
    place := part.last;
    FOR m IN
      SELECT o.seq, o.id, o.timestamp, o.size, o.role, o.session_id, o.origin, o.body FROM ${s}.messages AS o
        WHERE o.uid = part.uid AND o.log = part.log AND o.seq BETWEEN part.first AND part.last AND o.id IS NOT NULL
        ORDER BY o.seq DESC LIMIT p_limit - found
    LOOP
      IF m.seq <> place THEN RETURN; END IF;
      used := used + m.size;
      kind := CASE WHEN found > 0 AND used > p_bytes THEN 2 ELSE 1 END;
      uid := part.uid;
      log := part.log;
      seq := m.seq;
      id := m.id;
      "time" := m.timestamp;
      role := m.role;
      session_id := m.session_id;
      origin := m.origin;
      body := CASE WHEN kind = 1 THEN m.body END;
      RETURN NEXT;
      IF kind = 2 THEN RETURN; END IF;
      found := found + 1;
      place := place - 1;
    END LOOP;
    IF found = p_limit OR place >= part.first THEN RETURN; END IF;
  END LOOP;
END $f$;`;
}
