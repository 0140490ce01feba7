import Database from "libsql";
import { ensureSchema, PAGE_BYTES } from "../../../src/storage/sqlite/schema.js";
import { SQL } from "../../../src/storage/sqlite/statements.js";
import { BODY } from "./subjects.js";

/** The statement that reads a page row by row. */
const READ_ROWS = `SELECT log, seq, id, timestamp, role, session_id, origin, body FROM messages
  WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq`;

/** Uses the SQLite driver directly, with the tables, keys and pragmas of the store. */
export class RawSqlite {
  readonly #db: Database.Database;
  readonly #insert: Database.Statement<unknown[]>;
  readonly #begin: Database.Statement<unknown[]>;
  readonly #commit: Database.Statement<unknown[]>;
  readonly #readUp: Database.Statement<unknown[]>;
  readonly #insertPiece: Database.Statement<unknown[]>;
  readonly #readPiece: Database.Statement<unknown[]>;
  readonly #ends = new Map<string, number>();

  constructor(path: string) {
    this.#db = new Database(path);
    this.#db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    this.#db.exec("PRAGMA journal_mode = WAL");
    this.#db.exec("PRAGMA synchronous = FULL");
    ensureSchema(this.#db, path);
    this.#insert = this.#db.prepare(SQL.insertEntry);
    this.#begin = this.#db.prepare("BEGIN IMMEDIATE");
    this.#commit = this.#db.prepare("COMMIT");
    this.#insertPiece = this.#db.prepare(SQL.insertPiece);
    this.#readPiece = this.#db.prepare(SQL.readPieces).raw();
    this.#readUp = this.#db.prepare(READ_ROWS).raw();
  }

  /** Inserts one row, in the open transaction if there is one. */
  insert(log: string): void {
    const seq = (this.#ends.get(log) ?? 0) + 1;
    this.#ends.set(log, seq);
    const id = String(seq).padStart(26, "0");
    this.#insert.run([log, seq, id, Date.now() * 1000, "user", "bench", null, BODY.length + id.length, BODY]);
  }

  /** Commits a transaction with one row for each log. */
  insertAll(logs: readonly string[]): void {
    this.#begin.run([]);
    for (const log of logs) this.insert(log);
    this.#commit.run([]);
  }

  /** Returns how many rows were read. */
  read(log: string, first: number, last: number): number {
    return this.#readUp.all([log, first, last]).length;
  }

  /** Commits a transaction with one piece of an attachment. */
  insertPiece(seq: number, bytes: Buffer): void {
    this.#begin.run([]);
    this.#insertPiece.run(["raw.1", seq, bytes]);
    this.#commit.run([]);
  }

  readPiece(seq: number): Buffer {
    const [, bytes] = this.#readPiece.get(["raw.1", seq, 1]) as [number, Buffer];
    return bytes;
  }

  deletePieces(): void {
    this.#db.exec("DELETE FROM attachment_pieces");
  }

  onlyLog(): string {
    const [row] = this.#db.prepare("SELECT DISTINCT log FROM messages").raw().all([]) as [string][];
    return (row as [string])[0];
  }

  close(): void {
    this.#db.close();
  }
}
