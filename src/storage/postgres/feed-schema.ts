import { quoted } from "./postgres-url.js";

export const FEED_TABLES = ["departures", "feed_starts", "feed"] as const;

/**
 * Of what version 4 adds, the feed. `place` is the transaction that last changed a session, and `made_at` the one that
 * made, published or brought it back. A trigger sets both and adds rows of `departures`, in which `owner` and `labels`
 * hold digests. `first` is the last place whose row was removed.
 */
export function feedSql(schema: string): string {
  const s = quoted(schema);
  return `
ALTER TABLE ${s}.sessions
  ADD COLUMN session_revision bigint,
  ADD COLUMN place bigint,
  ADD COLUMN made_at bigint;
CREATE INDEX sessions_by_place ON ${s}.sessions (namespace, place, uid) WHERE NOT deleted AND place IS NOT NULL;
CREATE TABLE ${s}.departures (
  namespace text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  uid text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  labels text[] COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT departures_by_place PRIMARY KEY (namespace, place, uid)
);
CREATE INDEX departures_by_time ON ${s}.departures (namespace, at);
CREATE TABLE ${s}.feed_starts (namespace text COLLATE "C" PRIMARY KEY, first bigint NOT NULL);
CREATE TABLE ${s}.feed (one int PRIMARY KEY CHECK (one = 1), id text NOT NULL);
INSERT INTO ${s}.feed (one, id) VALUES (1, gen_random_uuid()::text);

CREATE FUNCTION ${s}.digest_1(p_uid text, p_text text) RETURNS text LANGUAGE sql IMMUTABLE AS $f$
  SELECT substr(encode(sha256(convert_to(p_uid || E'\\n' || p_text, 'UTF8')), 'hex'), 1, 24)
$f$;

CREATE FUNCTION ${s}.note_change_1() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NOT NEW.deleted THEN
      NEW.place := txid_current();
      NEW.made_at := NEW.place;
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.deleted AND OLD.deleted THEN RETURN NEW; END IF;
  IF OLD.deleted THEN
    NEW.place := txid_current();
    NEW.made_at := NEW.place;
    RETURN NEW;
  END IF;
  IF NEW.deleted OR NEW.owner <> OLD.owner OR NEW.labels <> OLD.labels THEN
    INSERT INTO ${s}.departures (namespace, place, uid, session_id, kind, owner, labels, at) VALUES (
      OLD.namespace, txid_current(), OLD.uid, OLD.session_id, CASE WHEN NEW.deleted THEN 'deleted' ELSE 'left' END,
      CASE WHEN OLD.owner = '' THEN '' ELSE ${s}.digest_1(OLD.uid, OLD.owner) END,
      ARRAY(SELECT ${s}.digest_1(OLD.uid, l) FROM unnest(OLD.labels) AS l),
      ${s}.now_micros() / 1000
    ) ON CONFLICT DO NOTHING;
  END IF;
  IF NEW.update_time <> OLD.update_time OR NEW.logs[1] IS DISTINCT FROM OLD.logs[1]
      OR NEW.session_revision IS DISTINCT FROM OLD.session_revision THEN
    NEW.place := txid_current();
  END IF;
  RETURN NEW;
END $f$;
CREATE TRIGGER note_changes
  BEFORE INSERT OR UPDATE OF update_time, deleted, owner, labels, logs, session_revision ON ${s}.sessions
  FOR EACH ROW EXECUTE FUNCTION ${s}.note_change_1();

CREATE FUNCTION ${s}.feed_id_1() RETURNS text LANGUAGE plpgsql AS $f$
DECLARE
  named text := (SELECT id FROM ${s}.feed WHERE one = 1)
    || ' ' || (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database());
BEGIN
  -- Some managed servers have neither function.
  BEGIN
    named := named || ' ' || (SELECT system_identifier FROM pg_catalog.pg_control_system());
  EXCEPTION WHEN OTHERS THEN NULL;
  END;
  BEGIN
    named := named || ' ' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8);
  EXCEPTION WHEN OTHERS THEN NULL;
  END;
  RETURN named;
END $f$;
`;
}
