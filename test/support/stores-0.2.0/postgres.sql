--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: session_pool; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA session_pool;


--
-- Name: append_group_1(text[], text[], text[], bigint[], bigint[], text[], bigint[], integer[], text[], text[], text[], text[], text[]); Type: FUNCTION; Schema: session_pool; Owner: -
--

CREATE FUNCTION session_pool.append_group_1(p_uid text[], p_log text[], p_namespace text[], p_write bigint[], p_seq bigint[], p_id text[], p_time bigint[], p_size integer[], p_role text[], p_session text[], p_origin text[], p_body text[], p_words text[]) RETURNS SETOF integer
    LANGUAGE plpgsql
    AS $$
BEGIN
  FOR i IN 1 .. cardinality(p_uid) LOOP
    RETURN NEXT "session_pool".append_one_1(
      p_uid[i], p_log[i], p_namespace[i], p_write[i], p_seq[i], p_id[i], p_time[i], p_size[i], p_role[i], p_session[i],
      p_origin[i], p_body[i], p_words[i], false
    );
  END LOOP;
END $$;


--
-- Name: append_many_1(text, text, text, bigint, bigint, text[], bigint[], integer[], text[], text[], text[], text[], text[]); Type: FUNCTION; Schema: session_pool; Owner: -
--

CREATE FUNCTION session_pool.append_many_1(p_uid text, p_log text, p_namespace text, p_write bigint, p_seq bigint, p_id text[], p_time bigint[], p_size integer[], p_role text[], p_session text[], p_origin text[], p_body text[], p_words text[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
  old_time bigint;
  now_time bigint;
  last bigint;
BEGIN
  SELECT update_time INTO old_time FROM "session_pool".sessions
    WHERE uid = p_uid AND namespace = p_namespace AND p_uid || p_log = ANY (logs) FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN -1; END IF;
  SELECT CASE WHEN m.id IS NULL THEN -m.seq ELSE m.seq END INTO last FROM "session_pool".messages AS m
    WHERE m.uid = p_uid AND m.log = p_log ORDER BY m.seq DESC LIMIT 1;
  IF coalesce(last, 0) <> p_seq - 1 THEN RETURN 0; END IF;
  IF (SELECT count(DISTINCT i COLLATE "C") FROM unnest(p_id) AS i) < cardinality(p_id) OR EXISTS (
    SELECT 1 FROM unnest(p_id) AS i(id) CROSS JOIN LATERAL (
      SELECT 1 FROM "session_pool".messages AS m WHERE m.id = i.id AND m.uid = p_uid AND m.log = p_log OFFSET 0
    ) AS m
  ) THEN
    RETURN -2;
  END IF;
  INSERT INTO "session_pool".messages (uid, log, seq, id, timestamp, write, size, role, session_id, origin, body, words)
    SELECT p_uid, p_log, p_seq + g.i - 1, g.id, g.time, p_write, g.size, g.role, g.session, g.origin, g.body,
      g.words::tsvector
    FROM unnest(p_id, p_time, p_size, p_role, p_session, p_origin, p_body, p_words)
      WITH ORDINALITY AS g(id, time, size, role, session, origin, body, words, i);
  now_time := "session_pool".now_micros();
  IF old_time < now_time - 1000000 THEN
    UPDATE "session_pool".sessions SET update_time = now_time WHERE uid = p_uid AND NOT deleted;
    UPDATE "session_pool".labels SET update_time = now_time WHERE uid = p_uid;
  END IF;
  RETURN cardinality(p_id);
END $$;


--
-- Name: append_one_1(text, text, text, bigint, bigint, text, bigint, integer, text, text, text, text, text, boolean); Type: FUNCTION; Schema: session_pool; Owner: -
--

CREATE FUNCTION session_pool.append_one_1(p_uid text, p_log text, p_namespace text, p_write bigint, p_seq bigint, p_id text, p_time bigint, p_size integer, p_role text, p_session text, p_origin text, p_body text, p_words text, p_waits boolean) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
  old_time bigint;
  now_time bigint;
  last bigint;
BEGIN
  IF p_waits THEN
    SELECT update_time INTO old_time FROM "session_pool".sessions
    WHERE uid = p_uid AND namespace = p_namespace AND p_uid || p_log = ANY (logs) FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN -1; END IF;
  ELSE
    SELECT update_time INTO old_time FROM "session_pool".sessions
    WHERE uid = p_uid AND namespace = p_namespace AND p_uid || p_log = ANY (logs) FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN -3; END IF;
  END IF;
  SELECT CASE WHEN m.id IS NULL THEN -m.seq ELSE m.seq END INTO last FROM "session_pool".messages AS m
    WHERE m.uid = p_uid AND m.log = p_log ORDER BY m.seq DESC LIMIT 1;
  IF coalesce(last, 0) <> p_seq - 1 THEN RETURN 0; END IF;
  INSERT INTO "session_pool".messages (uid, log, seq, id, timestamp, write, size, role, session_id, origin, body, words)
    VALUES (p_uid, p_log, p_seq, p_id, p_time, p_write, p_size, p_role, p_session, p_origin, p_body,
      p_words::tsvector)
    ON CONFLICT (id, uid, log) DO NOTHING;
  IF NOT FOUND THEN RETURN -2; END IF;
  now_time := "session_pool".now_micros();
  IF old_time < now_time - 1000000 THEN
    UPDATE "session_pool".sessions SET update_time = now_time WHERE uid = p_uid AND NOT deleted;
    UPDATE "session_pool".labels SET update_time = now_time WHERE uid = p_uid;
  END IF;
  RETURN 1;
END $$;


--
-- Name: newest_1(text, text, text, bigint, bigint); Type: FUNCTION; Schema: session_pool; Owner: -
--

CREATE FUNCTION session_pool.newest_1(p_uid text, p_log text, p_segments text, p_limit bigint, p_bytes bigint) RETURNS TABLE(kind integer, uid text, log text, seq bigint, id text, "time" bigint, role text, session_id text, origin text, body text)
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
  stop record;
  part record;
  m record;
  last bigint := 0;
  place bigint;
  found bigint := 0;
  used bigint := 0;
BEGIN
  SELECT o.seq, o.id, o.timestamp INTO stop FROM "session_pool".messages AS o
    WHERE o.uid = p_uid AND o.log = p_log ORDER BY o.seq DESC LIMIT 1;
  kind := 0;
  seq := stop.seq;
  IF stop.seq IS NOT NULL AND stop.id IS NULL THEN
    seq := -stop.seq;
    SELECT o.seq, o.id, o.timestamp INTO stop FROM "session_pool".messages AS o
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
      SELECT o.seq, o.id, o.timestamp, o.size, o.role, o.session_id, o.origin, o.body FROM "session_pool".messages AS o
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
END $$;


--
-- Name: now_micros(); Type: FUNCTION; Schema: session_pool; Owner: -
--

CREATE FUNCTION session_pool.now_micros() RETURNS bigint
    LANGUAGE sql
    AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;


--
-- Name: overwrite_1(text[], text[], bigint[], text[], integer[], text[], text[]); Type: FUNCTION; Schema: session_pool; Owner: -
--

CREATE FUNCTION session_pool.overwrite_1(p_uid text[], p_log text[], p_seq bigint[], p_id text[], p_size integer[], p_body text[], p_words text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT * FROM unnest(p_uid, p_log, p_seq, p_id, p_size, p_body, p_words)
      AS new(uid, log, seq, id, size, body, words) ORDER BY new.uid COLLATE "C", new.log COLLATE "C", new.seq
  LOOP
    UPDATE "session_pool".messages AS m SET size = g.size, body = g.body, words = g.words::tsvector
      WHERE m.uid = g.uid AND m.log = g.log AND m.seq = g.seq AND m.id = g.id;
  END LOOP;
END $$;


--
-- Name: seal_1(text, text, text, bigint); Type: FUNCTION; Schema: session_pool; Owner: -
--

CREATE FUNCTION session_pool.seal_1(p_uid text, p_log text, p_namespace text, p_write bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
  old_time bigint;
  last bigint;
BEGIN
  SELECT update_time INTO old_time FROM "session_pool".sessions
    WHERE uid = p_uid AND namespace = p_namespace AND p_uid || p_log = ANY (logs) FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN -1; END IF;
  SELECT CASE WHEN m.id IS NULL THEN -m.seq ELSE m.seq END INTO last FROM "session_pool".messages AS m
    WHERE m.uid = p_uid AND m.log = p_log ORDER BY m.seq DESC LIMIT 1;
  IF last < 0 THEN RETURN -last - 1; END IF;
  INSERT INTO "session_pool".messages (uid, log, seq, id, timestamp, write, size, role, session_id, origin, body)
    VALUES (p_uid, p_log, coalesce(last, 0) + 1, NULL, 0, p_write, 0, '', '', NULL, '');
  RETURN coalesce(last, 0);
END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: labels; Type: TABLE; Schema: session_pool; Owner: -
--

CREATE TABLE session_pool.labels (
    uid text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    update_time bigint NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: messages; Type: TABLE; Schema: session_pool; Owner: -
--

CREATE TABLE session_pool.messages (
    uid text NOT NULL COLLATE pg_catalog."C",
    log text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    id text COLLATE pg_catalog."C",
    "timestamp" bigint NOT NULL,
    write bigint NOT NULL,
    size integer NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    origin text COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    words tsvector
)
WITH (autovacuum_vacuum_insert_scale_factor='0.05');
ALTER TABLE ONLY session_pool.messages ALTER COLUMN body SET STATISTICS 0;


--
-- Name: meta; Type: TABLE; Schema: session_pool; Owner: -
--

CREATE TABLE session_pool.meta (
    id integer NOT NULL,
    version integer NOT NULL,
    CONSTRAINT meta_id_check CHECK ((id = 1))
);


--
-- Name: sessions; Type: TABLE; Schema: session_pool; Owner: -
--

CREATE TABLE session_pool.sessions (
    uid text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    parent_id text NOT NULL COLLATE pg_catalog."C",
    update_time bigint NOT NULL,
    expire_time bigint,
    revision bigint NOT NULL,
    forks bigint NOT NULL,
    deleted boolean NOT NULL,
    restoring boolean NOT NULL,
    blocked boolean NOT NULL,
    drafts integer NOT NULL,
    open_drafts integer NOT NULL,
    sweep_time bigint,
    write bigint NOT NULL,
    logs text[] NOT NULL COLLATE pg_catalog."C",
    labels text[] NOT NULL COLLATE pg_catalog."C",
    segments text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='80');


--
-- Name: todos; Type: TABLE; Schema: session_pool; Owner: -
--

CREATE TABLE session_pool.todos (
    namespace text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C"
);


--
-- Data for Name: labels; Type: TABLE DATA; Schema: session_pool; Owner: -
--

INSERT INTO session_pool.labels VALUES ('6174b4e1e5306bfbaccf1c0f', 'topic=travel', 'default', 1795706534335000, 'child');
INSERT INTO session_pool.labels VALUES ('c89397a7221c916a380503ed', 'topic=travel', 'default', 1795706534428000, 'trip');
INSERT INTO session_pool.labels VALUES ('c89397a7221c916a380503ed', 'who=ada', 'default', 1795706534428000, 'trip');
INSERT INTO session_pool.labels VALUES ('2199cb4c4781f78300234edf', 'topic=travel', 'default', 1795706534293000, 'other-way');
INSERT INTO session_pool.labels VALUES ('2199cb4c4781f78300234edf', 'who=ada', 'default', 1795706534293000, 'other-way');


--
-- Data for Name: messages; Type: TABLE DATA; Schema: session_pool; Owner: -
--

INSERT INTO session_pool.messages VALUES ('c89397a7221c916a380503ed', '.bd5f4af98845064b4f7ba26a', 1, 'm1', 1795706534244000, 3605979462691764, 78, 'user', 'trip', NULL, '{"sizes":[26,0],"parts":
[{"id":"p","type":"text","text":"Number 1 🌸"}]
}', NULL);
INSERT INTO session_pool.messages VALUES ('c89397a7221c916a380503ed', '.bd5f4af98845064b4f7ba26a', 2, 'm2', 1795706534255000, 2831775873006140, 78, 'user', 'trip', NULL, '{"sizes":[26,0],"parts":
[{"id":"p","type":"text","text":"Number 2 🌸"}]
}', NULL);
INSERT INTO session_pool.messages VALUES ('c89397a7221c916a380503ed', '.bd5f4af98845064b4f7ba26a', 3, 'm3', 1795706534265000, 5161535620842746, 78, 'user', 'trip', NULL, '{"sizes":[26,0],"parts":
[{"id":"p","type":"text","text":"Number 3 🌸"}]
}', NULL);
INSERT INTO session_pool.messages VALUES ('2199cb4c4781f78300234edf', '.d7524bc15fb71817b1d27217', 1, 'n1', 1795706534314000, 5772047828911118, 81, 'user', 'other-way', NULL, '{"sizes":[29,0],"parts":
[{"id":"p","type":"text","text":"On the other way"}]
}', NULL);
INSERT INTO session_pool.messages VALUES ('6174b4e1e5306bfbaccf1c0f', '.6cf0147b2421fdf22cce799f', 1, 'c1', 1795706534366000, 2745239467006084, 77, 'user', 'child', NULL, '{"sizes":[25,0],"parts":
[{"id":"p","type":"text","text":"In the child"}]
}', NULL);
INSERT INTO session_pool.messages VALUES ('c89397a7221c916a380503ed', '.bd5f4af98845064b4f7ba26a', 4, NULL, 0, 359560302384106, 0, '', '', NULL, '', NULL);
INSERT INTO session_pool.messages VALUES ('a32e7d0921ec31da0d344e8b', '.0af33994e899f87d0236b9ed', 1, 'g1', 1795706534478000, 2576562289758888, 74, 'user', 'gone', NULL, '{"sizes":[22,0],"parts":
[{"id":"p","type":"text","text":"Forget me"}]
}', NULL);
INSERT INTO session_pool.messages VALUES ('a32e7d0921ec31da0d344e8b', '.0af33994e899f87d0236b9ed', 2, NULL, 0, 4795908253851610, 0, '', '', NULL, '', NULL);
INSERT INTO session_pool.messages VALUES ('2199cb4c4781f78300234edf', '.f1462c0387a8d8aa5f103a1e', 1, 'd1', 1795706535053000, 5370202298052996, 30, 'assistant', 'other-way', NULL, '{"sizes":[0,0],"parts":
[]
}', NULL);


--
-- Data for Name: meta; Type: TABLE DATA; Schema: session_pool; Owner: -
--

INSERT INTO session_pool.meta VALUES (1, 1);


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: session_pool; Owner: -
--

INSERT INTO session_pool.sessions VALUES ('6174b4e1e5306bfbaccf1c0f', 'default', 'child', 'trip', 1795706534335000, NULL, 1, 0, false, false, false, 0, 0, NULL, 7576908830255692, '{6174b4e1e5306bfbaccf1c0f.6cf0147b2421fdf22cce799f}', '{topic=travel}', '[]', '{"parentId":"trip","forkPointId":"","inheritedCount":0,"title":"A child","createTimeMicros":1795706534335000,"origin":null,"sessionRevision":1,"log":"6174b4e1e5306bfbaccf1c0f.6cf0147b2421fdf22cce799f","lastTimestampMicros":0,"ancestry":[{"log":"c89397a7221c916a380503ed.bd5f4af98845064b4f7ba26a","first":1,"last":3,"sessionId":"trip"}],"undo":null,"namedLogs":[],"drafts":[],"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["c89397a7221c916a380503ed"],"deleted":false,"markedAtMs":null,"sessionId":"child","labels":{"topic":"travel"}}');
INSERT INTO session_pool.sessions VALUES ('c89397a7221c916a380503ed', 'default', 'trip', '', 1795706534428000, NULL, 2, 2, false, false, false, 0, 0, 0, 8660196709056560, '{c89397a7221c916a380503ed.fae2be8ea82a0528e140ef20}', '{topic=travel,who=ada}', '[["c89397a7221c916a380503ed",".bd5f4af98845064b4f7ba26a",1,2]]', '{"parentId":"","forkPointId":"","inheritedCount":0,"title":"Kyoto in May","createTimeMicros":1795706534214000,"origin":null,"sessionRevision":2,"log":"c89397a7221c916a380503ed.fae2be8ea82a0528e140ef20","lastTimestampMicros":1795706534255000,"ancestry":[],"undo":{"segments":[{"log":"c89397a7221c916a380503ed.bd5f4af98845064b4f7ba26a","first":1,"last":3}],"lastTimestampMicros":1795706534265000},"namedLogs":[],"drafts":[],"rollovers":{"count":0,"atMs":0},"dropped":[{"log":"c89397a7221c916a380503ed.bd5f4af98845064b4f7ba26a","first":4,"last":9007199254740991}],"edits":[{"revision":2,"kept":2}],"sources":[],"deleted":false,"markedAtMs":null,"sessionId":"trip","labels":{"topic":"travel","who":"ada"}}');
INSERT INTO session_pool.sessions VALUES ('a32e7d0921ec31da0d344e8b', 'default', 'gone', '', 1795706534460000, NULL, 2, 1, true, false, false, 0, 0, 0, 6628869150493092, '{}', '{}', '[]', '{"parentId":"","forkPointId":"","inheritedCount":0,"title":"","createTimeMicros":1795706534460000,"origin":null,"sessionRevision":1,"log":"a32e7d0921ec31da0d344e8b.0af33994e899f87d0236b9ed","lastTimestampMicros":0,"ancestry":[],"undo":null,"namedLogs":[],"drafts":[],"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":[],"deleted":true,"markedAtMs":null,"sessionId":"gone"}');
INSERT INTO session_pool.sessions VALUES ('2199cb4c4781f78300234edf', 'default', 'other-way', 'trip', 1795706534293000, NULL, 2, 0, false, false, false, 1, 1, NULL, 4702315623945124, '{2199cb4c4781f78300234edf.d7524bc15fb71817b1d27217,2199cb4c4781f78300234edf.f1462c0387a8d8aa5f103a1e}', '{topic=travel,who=ada}', '[["c89397a7221c916a380503ed",".bd5f4af98845064b4f7ba26a",1,2]]', '{"parentId":"trip","forkPointId":"m2","inheritedCount":2,"title":"Kyoto in May","createTimeMicros":1795706534293000,"origin":{"kind":"fork","sourceSessionId":"trip","sourceUid":"c89397a7221c916a380503ed","upToMessageId":"m2"},"sessionRevision":1,"log":"2199cb4c4781f78300234edf.d7524bc15fb71817b1d27217","lastTimestampMicros":1795706534255000,"ancestry":[],"undo":null,"namedLogs":[],"drafts":[{"log":"2199cb4c4781f78300234edf.f1462c0387a8d8aa5f103a1e","messageId":"d1","timestampMicros":null,"discardWhenAbandoned":false}],"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["c89397a7221c916a380503ed"],"deleted":false,"markedAtMs":null,"sessionId":"other-way","labels":{"topic":"travel","who":"ada"}}');
INSERT INTO session_pool.sessions VALUES ('95247cabbc6a98b8f1814c70', 'default', 'of-gone', 'gone', 1795706534579000, NULL, 1, 0, false, false, false, 0, 0, NULL, 3128720150452744, '{95247cabbc6a98b8f1814c70.33aa34d1b3f12cd62ea71c36}', '{}', '[["a32e7d0921ec31da0d344e8b",".0af33994e899f87d0236b9ed",1,1]]', '{"parentId":"gone","forkPointId":"g1","inheritedCount":1,"title":"","createTimeMicros":1795706534579000,"origin":{"kind":"fork","sourceSessionId":"gone","sourceUid":"a32e7d0921ec31da0d344e8b","upToMessageId":""},"sessionRevision":1,"log":"95247cabbc6a98b8f1814c70.33aa34d1b3f12cd62ea71c36","lastTimestampMicros":1795706534478000,"ancestry":[],"undo":null,"namedLogs":[],"drafts":[],"rollovers":{"count":0,"atMs":0},"dropped":[],"edits":[],"sources":["a32e7d0921ec31da0d344e8b"],"deleted":false,"markedAtMs":null,"sessionId":"of-gone"}');


--
-- Data for Name: todos; Type: TABLE DATA; Schema: session_pool; Owner: -
--



--
-- Name: labels labels_by_uid; Type: CONSTRAINT; Schema: session_pool; Owner: -
--

ALTER TABLE ONLY session_pool.labels
    ADD CONSTRAINT labels_by_uid PRIMARY KEY (uid, label);


--
-- Name: messages messages_by_place; Type: CONSTRAINT; Schema: session_pool; Owner: -
--

ALTER TABLE ONLY session_pool.messages
    ADD CONSTRAINT messages_by_place PRIMARY KEY (uid, log, seq);


--
-- Name: meta meta_pkey; Type: CONSTRAINT; Schema: session_pool; Owner: -
--

ALTER TABLE ONLY session_pool.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (id);


--
-- Name: sessions sessions_by_uid; Type: CONSTRAINT; Schema: session_pool; Owner: -
--

ALTER TABLE ONLY session_pool.sessions
    ADD CONSTRAINT sessions_by_uid PRIMARY KEY (uid);


--
-- Name: todos todos_pkey; Type: CONSTRAINT; Schema: session_pool; Owner: -
--

ALTER TABLE ONLY session_pool.todos
    ADD CONSTRAINT todos_pkey PRIMARY KEY (namespace);


--
-- Name: labels_by_time; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE INDEX labels_by_time ON session_pool.labels USING btree (namespace, label, update_time, session_id);


--
-- Name: messages_by_id; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE UNIQUE INDEX messages_by_id ON session_pool.messages USING btree (id, uid, log);


--
-- Name: sessions_by_id; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE UNIQUE INDEX sessions_by_id ON session_pool.sessions USING btree (namespace, session_id) WHERE (NOT deleted);


--
-- Name: sessions_by_namespace; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE INDEX sessions_by_namespace ON session_pool.sessions USING btree (namespace, uid);


--
-- Name: sessions_by_parent; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE INDEX sessions_by_parent ON session_pool.sessions USING btree (namespace, parent_id, update_time, session_id) WHERE ((NOT deleted) AND (parent_id <> ''::text));


--
-- Name: sessions_by_time; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE INDEX sessions_by_time ON session_pool.sessions USING btree (namespace, update_time, session_id) WHERE (NOT deleted);


--
-- Name: sessions_drafting; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE INDEX sessions_drafting ON session_pool.sessions USING btree (namespace, uid) WHERE ((NOT deleted) AND (drafts > 0));


--
-- Name: sessions_to_expire; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE INDEX sessions_to_expire ON session_pool.sessions USING btree (namespace, expire_time) WHERE ((NOT deleted) AND (expire_time IS NOT NULL));


--
-- Name: sessions_to_sweep; Type: INDEX; Schema: session_pool; Owner: -
--

CREATE INDEX sessions_to_sweep ON session_pool.sessions USING btree (namespace, sweep_time) WHERE ((forks = 0) AND (sweep_time IS NOT NULL));


--
-- PostgreSQL database dump complete
--


