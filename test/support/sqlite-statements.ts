import { AsyncLocalStorage } from "node:async_hooks";
import Database from "libsql";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import type { SentStatement } from "../contract/log-store/subject.js";

/** The connection of a database, and the text of every statement that it has run since the last look. */
interface Noted {
  connection?: Database.Database;
  ran: string[];
}

const opening = new AsyncLocalStorage<Noted>();
const noted = new WeakMap<LogDatabase, Noted>();
const METHODS = ["run", "get", "all"] as const;

const prepare = Database.prototype.prepare;
Database.prototype.prepare = function prepareNoted(this: Database.Database, sql: string) {
  const statement = prepare.call(this, sql);
  const notes = opening.getStore();
  if (!notes) return statement;
  notes.connection ??= this;
  for (const name of METHODS) {
    const method = statement[name] as (...args: unknown[]) => unknown;
    Object.assign(statement, {
      [name]: (...args: unknown[]) => {
        notes.ran.push(sql);
        return method.apply(statement, args);
      },
    });
  }
  return statement;
} as typeof prepare;

/** Opens a database whose statements are noted. */
export async function openNoted<T extends LogDatabase>(open: () => Promise<T>): Promise<T> {
  const notes: Noted = { ran: [] };
  const database = await opening.run(notes, open);
  noted.set(database, notes);
  return database;
}

/** Resolves to the statements that a database from `openNoted` ran during the work. */
export async function statementsDuring(
  database: LogDatabase,
  work: () => Promise<unknown>,
): Promise<readonly SentStatement[]> {
  const notes = noted.get(database);
  if (!notes?.connection) throw new Error(`The statements of ${database.name} are not noted`);
  const { connection } = notes;
  notes.ran = [];
  await work();
  return [...notes.ran].map((text) => ({ text, scansAll: scansAll(connection, text) }));
}

function scansAll(connection: Database.Database, sql: string): boolean {
  if (!/^(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(sql)) return false;
  const plan = prepare.call(connection, `EXPLAIN QUERY PLAN ${sql}`).all([]) as { detail: string }[];
  // A subquery has steps of its own, and `ranges` are given as JSON.
  return plan.some(({ detail }) => /^SCAN (?!CONSTANT ROW|\(subquery-|ranges VIRTUAL TABLE)/.test(detail));
}
