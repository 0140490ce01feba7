import type Database from "libsql";
import type { SearchScope } from "../../domain/search.js";
import { inTransaction } from "./in-transaction.js";

/**
 * The spans of time after a message's own, in microseconds, in which a free place is looked for, one after the other.
 */
const SPANS_MICROS = [1, 1000, 1_000_000, 3_600_000_000];

/**
 * Finds a free place for an entry in the order of a search. A place is the timestamp in microseconds times 1024, plus a
 * number that makes it unique. When 1024 messages have the same timestamp, the next one gets the place after the last
 * entry of the millisecond that begins with this timestamp. If that millisecond is full, it is the place after the last
 * entry of the second, then of the hour, and at last of the whole index, which is always free. So an index never
 * refuses a message, and only messages of such a crowded moment are found a little out of order. The bounds keep a
 * place within 64 bits.
 */
function freePlace(entry: string): string {
  const micros = `min(max(${entry}.timestamp, -9007199253000000), 9007199253000000)`;
  const after = (span: number) => `(SELECT CASE
		WHEN max(place) IS NULL THEN ${micros} * 1024
		WHEN max(place) < (${micros} + ${span}) * 1024 - 1 THEN max(place) + 1
	END FROM search_places WHERE place >= ${micros} * 1024 AND place < (${micros} + ${span}) * 1024)`;
  return `coalesce(${SPANS_MICROS.map(after).join(", ")}, (SELECT max(place) + 1 FROM search_places))`;
}

/** Whether an entry is a message that a search may find, rather than a seal or a step of a draft. */
function isSearched(entry: string): string {
  return `${entry}.id IS NOT NULL AND substr(${entry}.id, 1, 1) <> char(1)`;
}

const PUT = `INSERT INTO search_places (place, log, seq) VALUES (${freePlace("NEW")}, NEW.log, NEW.seq);`;
const REMOVE = "DELETE FROM search_places WHERE log = OLD.log AND seq = OLD.seq;";

const INSERTED = `CREATE TRIGGER search_inserted AFTER INSERT ON messages WHEN ${isSearched("NEW")}
BEGIN ${PUT} END`;
const UPDATED = `CREATE TRIGGER search_updated AFTER UPDATE OF body ON messages WHEN ${isSearched("NEW")}
BEGIN ${REMOVE} ${PUT} END`;

/**
 * The index of words. `search_texts` holds no text, only which words stand where; its rowid is the place. Triggers
 * give every entry that is written or overwritten a place, and note it in `search_pending`; those of deleted entries
 * are removed. So every program that writes to the file keeps the index up to date, including earlier versions and
 * programs without `--search`. A program with `--search` then adds the words of what is pending. It splits and folds
 * them itself, because SQLite's tokenizers do not fold as the other stores do, and a trigger cannot call the program.
 * The tokenizer `ascii` keeps these words as they are.
 *
 * `scope` holds two words, the namespace and the owner of the log, each in hexadecimal. `search_progress` records
 * how far the entries that are older than the index have been given places. `search_index` says by which rule the words
 * are made, and what of an entry they are; when either changes, all entries are noted again, bit by bit.
 */
const SEARCH = `
CREATE TABLE search_places (
	place INTEGER PRIMARY KEY,
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	UNIQUE (log, seq)
) STRICT;
CREATE TABLE search_pending (place INTEGER PRIMARY KEY) STRICT;
CREATE TABLE search_progress (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	log TEXT NOT NULL,
	seq INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	done INTEGER NOT NULL
) STRICT;
INSERT INTO search_progress VALUES (1, '', 0, 0, 0);
CREATE VIRTUAL TABLE search_texts USING fts5 (scope, text, content = '', contentless_delete = 1, tokenize = "ascii");
${INSERTED};
${UPDATED};
CREATE TRIGGER search_deleted AFTER DELETE ON messages BEGIN ${REMOVE} END;
CREATE TRIGGER search_place_inserted AFTER INSERT ON search_places
BEGIN INSERT INTO search_pending VALUES (NEW.place); END;
CREATE TRIGGER search_place_deleted AFTER DELETE ON search_places
BEGIN
	DELETE FROM search_pending WHERE place = OLD.place;
	DELETE FROM search_texts WHERE rowid = OLD.place;
END;
`;

/** The rule that makes words, to be raised when `wordsOf` or `searchedText` change. Before 2, no number was stored. */
const RULE = 2;

const INDEX = `
CREATE TABLE IF NOT EXISTS search_index (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	rule INTEGER NOT NULL,
	scope TEXT NOT NULL
) STRICT;
`;

/**
 * Statements on the index, which can only be prepared for a file that has one. Places are texts, because they exceed
 * 2^53.
 */
export const SEARCH_SQL = {
  find: `SELECT CAST(place AS TEXT), places.log, places.seq, coalesce(origin, session_id), role
    FROM search_texts AS texts CROSS JOIN search_places AS places ON places.place = texts.rowid
    CROSS JOIN messages ON messages.log = places.log AND messages.seq = places.seq
    WHERE search_texts MATCH ? AND texts.rowid < CAST(? AS INTEGER) AND texts.rowid >= CAST(? AS INTEGER)
    AND messages.timestamp >= CAST(? AS INTEGER) AND messages.timestamp < CAST(? AS INTEGER)
    ORDER BY texts.rowid DESC LIMIT ?`,
  scope: "SELECT scope FROM search_index WHERE id = 1",
  progress: "SELECT log, seq, entries, done FROM search_progress WHERE id = 1",
  setProgress: "UPDATE search_progress SET log = ?, seq = ?, entries = entries + ?, done = ? WHERE id = 1",
  entriesAfter: "SELECT log, seq, size FROM messages WHERE (log, seq) > (?, ?) ORDER BY log, seq LIMIT ?",
  /** Gives an older entry a place, unless it has one already. */
  placeEntry: `INSERT INTO search_places (place, log, seq) SELECT ${freePlace("entry")}, entry.log, entry.seq FROM messages AS entry
    WHERE entry.log = ?1 AND entry.seq = ?2 AND ${isSearched("entry")}
    AND NOT EXISTS (SELECT 1 FROM search_places WHERE log = ?1 AND seq = ?2)`,
  /** Notes that an entry needs its words, even if it has some. */
  noteEntry: "INSERT OR IGNORE INTO search_pending SELECT place FROM search_places WHERE log = ? AND seq = ?",
  /** Writing in the order of places splits the index into fewer pieces. */
  pending: `SELECT CAST(pending.place AS TEXT), messages.log, messages.seq, messages.size
    FROM search_pending AS pending CROSS JOIN search_places AS places ON places.place = pending.place
    CROSS JOIN messages ON messages.log = places.log AND messages.seq = places.seq ORDER BY pending.place LIMIT ?`,
  pendingCount: "SELECT count(*) FROM (SELECT 1 FROM search_pending LIMIT ?)",
  olderCount: "SELECT count(*) FROM (SELECT 1 FROM messages WHERE (log, seq) > (?, ?) LIMIT ?)",
  pendingEntry: `SELECT 'n' || hex(sessions.namespace) || ' u' || hex(sessions.uid), CAST(messages.body AS BLOB)
    FROM messages CROSS JOIN sessions ON sessions.uid = substr(messages.log, 1, instr(messages.log, '.') - 1)
    WHERE messages.log = ? AND messages.seq = ?`,
  removeWords: "DELETE FROM search_texts WHERE rowid = CAST(? AS INTEGER)",
  addWords: "INSERT INTO search_texts (rowid, scope, text) VALUES (CAST(? AS INTEGER), ?, ?)",
  removePending: "DELETE FROM search_pending WHERE place = CAST(? AS INTEGER)",
} as const;

/**
 * Makes an empty index, unless the file has one or only an existing one is wanted. Where it has one of an earlier rule,
 * or of less than is wanted, all entries get their words again in the background. An index never gets narrower, so that
 * processes that were started with different settings do not undo each other's work.
 */
export function ensureSearch(db: Database.Database, wanted: SearchScope | "existing"): void {
  const isDone = () => (hasSearch(db) ? holds(indexOf(db), wanted) : wanted === "existing");
  if (isDone()) return;
  inTransaction(db, () => {
    if (isDone()) return;
    const isNew = !hasSearch(db);
    const scope = wanted === "all" || (!isNew && indexOf(db)?.scope === "all") ? "all" : "text";
    if (isNew) db.exec(SEARCH);
    db.exec(INDEX);
    db.prepare("INSERT OR REPLACE INTO search_index VALUES (1, ?, ?)").run([RULE, scope]);
    if (!isNew) db.exec("UPDATE search_progress SET log = '', seq = 0, entries = 0, done = 0");
  });
}

interface IndexKind {
  readonly rule: number;
  readonly scope: SearchScope;
}

function holds(index: IndexKind | undefined, wanted: SearchScope | "existing"): boolean {
  return index?.rule === RULE && (wanted !== "all" || index.scope === "all");
}

function indexOf(db: Database.Database): IndexKind | undefined {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'search_index'").raw().get([]) === undefined)
    return undefined;
  const row = db.prepare("SELECT rule, scope FROM search_index WHERE id = 1").raw().get([]);
  if (row === undefined) return undefined;
  const [rule, scope] = row as [number, SearchScope];
  return { rule, scope };
}

/**
 * Replaces the triggers that give places if an earlier version has made them, because those could refuse a message.
 * This concerns every program that writes to the file, also without `--search`.
 */
export function ensurePlaces(db: Database.Database): void {
  const arePresent = () => {
    const rows = db.prepare("SELECT sql FROM sqlite_schema WHERE name IN ('search_inserted', 'search_updated')").raw();
    return (rows.all([]) as [string][]).every(([sql]) => sql === INSERTED || sql === UPDATED);
  };
  if (arePresent()) return;
  inTransaction(db, () => {
    if (arePresent()) return;
    db.exec(`DROP TRIGGER search_inserted; DROP TRIGGER search_updated; ${INSERTED}; ${UPDATED};`);
  });
}

/** Whether the file has an index of words. */
export function hasSearch(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'search_progress'").raw().get([]) !== undefined;
}
