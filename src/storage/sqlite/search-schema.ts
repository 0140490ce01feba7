import type Database from "libsql";

/**
 * Finds a free place for an entry in the order of a search. A place is the timestamp in microseconds times 1024, plus a
 * number that makes it unique. When 1024 messages have the same timestamp, the next one gets the place after the last
 * entry of the second that begins with this timestamp. The bounds keep a place within 64 bits.
 */
function freePlace(entry: string): string {
  const micros = `min(max(${entry}.timestamp, -9007199253000000), 9007199253000000)`;
  return `(SELECT CASE
		WHEN max(place) IS NULL THEN ${micros} * 1024
		WHEN max(place) < ${micros} * 1024 + 1023 THEN max(place) + 1
		ELSE (SELECT max(place) + 1 FROM search_places WHERE place >= ${micros} * 1024 AND place < (${micros} + 1000000) * 1024)
	END FROM search_places WHERE place BETWEEN ${micros} * 1024 AND ${micros} * 1024 + 1023)`;
}

/** Whether an entry is a message that a search may find, rather than a seal or a step of a draft. */
function isSearched(entry: string): string {
  return `${entry}.id IS NOT NULL AND substr(${entry}.id, 1, 1) <> char(1)`;
}

/** SQLite's JSON functions cut a text at its first U+0000, so a space replaces it. */
const BODY = "replace(iif(json_valid(messages.body), messages.body, '{}'), '\\u0000', '\\u0020')";

const PUT = `INSERT INTO search_places (place, log, seq) VALUES (${freePlace("NEW")}, NEW.log, NEW.seq);`;
const REMOVE = "DELETE FROM search_places WHERE log = OLD.log AND seq = OLD.seq;";

/**
 * The index of words. `search_texts` holds no text, only which words stand where; its rowid is the place. Triggers
 * update the index in the transaction that writes, deletes or erases an entry. So every program that writes to the file
 * keeps the index up to date, including earlier versions and programs without `--search`.
 *
 * `scope` holds two words, the namespace and the owner of the log, each in hexadecimal. `search_progress` records how
 * far the entries that are older than the index have been added to it.
 */
const SEARCH = `
CREATE TABLE search_places (
	place INTEGER PRIMARY KEY,
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	UNIQUE (log, seq)
) STRICT;
CREATE TABLE search_progress (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	done INTEGER NOT NULL
) STRICT;
INSERT INTO search_progress VALUES (1, '', 0, 0, 0);
CREATE VIRTUAL TABLE search_texts USING fts5 (
	scope, text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
);
CREATE TRIGGER search_inserted AFTER INSERT ON messages WHEN ${isSearched("NEW")}
BEGIN ${PUT} END;
CREATE TRIGGER search_updated AFTER UPDATE OF body ON messages WHEN ${isSearched("NEW")}
BEGIN ${REMOVE} ${PUT} END;
CREATE TRIGGER search_deleted AFTER DELETE ON messages BEGIN ${REMOVE} END;
CREATE TRIGGER search_place_inserted AFTER INSERT ON search_places
BEGIN
	INSERT INTO search_texts (rowid, scope, text)
	SELECT NEW.place, 'n' || hex(sessions.namespace) || ' u' || hex(sessions.uid), words.text
	FROM sessions, (
		SELECT group_concat(part.value ->> '$.text', char(10)) AS text
		FROM messages, json_each(${BODY}, '$.parts') AS part
		WHERE messages.log = NEW.log AND messages.seq = NEW.seq AND part.value ->> '$.type' = 'text'
	) AS words
	WHERE sessions.uid = substr(NEW.log, 1, instr(NEW.log, '.') - 1) AND words.text <> '';
END;
CREATE TRIGGER search_place_deleted AFTER DELETE ON search_places
BEGIN DELETE FROM search_texts WHERE rowid = OLD.place; END;
`;

/**
 * Statements on the index, which can only be prepared for a file that has one. Places are texts, because they exceed
 * 2^53.
 */
export const SEARCH_SQL = {
  find: `SELECT CAST(place AS TEXT), places.log, places.seq, coalesce(origin, session_id)
    FROM search_texts AS texts CROSS JOIN search_places AS places ON places.place = texts.rowid
    CROSS JOIN messages ON messages.log = places.log AND messages.seq = places.seq
    WHERE search_texts MATCH ? AND texts.rowid < CAST(? AS INTEGER) ORDER BY texts.rowid DESC LIMIT ?`,
  progress: "SELECT log, seq, entries, done FROM search_progress WHERE id = 1",
  setProgress: "UPDATE search_progress SET log = ?, seq = ?, entries = entries + ?, done = ? WHERE id = 1",
  entriesAfter: "SELECT log, seq, timestamp, size FROM messages WHERE (log, seq) > (?, ?) ORDER BY log, seq LIMIT ?",
  /** Adds an older entry to the index, unless it is there already. */
  indexEntry: `INSERT INTO search_places (place, log, seq) SELECT ${freePlace("entry")}, entry.log, entry.seq FROM messages AS entry
    WHERE entry.log = ?1 AND entry.seq = ?2 AND ${isSearched("entry")}
    AND NOT EXISTS (SELECT 1 FROM search_places WHERE log = ?1 AND seq = ?2)`,
} as const;

/** Makes an empty index, unless the file has one. */
export function ensureSearch(db: Database.Database): void {
  if (hasSearch(db)) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    if (!hasSearch(db)) db.exec(SEARCH);
    db.exec("COMMIT");
  } catch (error) {
    // Some errors end the transaction by themselves.
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function hasSearch(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'search_progress'").get([]) !== undefined;
}
