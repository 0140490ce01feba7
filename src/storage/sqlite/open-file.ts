import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import Database from "libsql";
import { DomainError } from "../../domain/errors.js";
import { ensureSchema, hasSchema, PAGE_BYTES } from "./schema.js";
import { DRIVER_WAIT_MS } from "./sqlite-connection.js";
import { isBusy, isDamaged } from "./sqlite-errors.js";

/** How long to wait for others that open or recover the same file. */
const OPEN_LIMIT_MS = 30_000;

/** Opens a file, or makes it and its folder. `failed_precondition`, naming the file: it cannot be used, and trying again does not help. */
export async function openFile(path: string): Promise<Database.Database> {
  if (path !== ":memory:") makeFolder(path);
  const giveUpAtMs = Date.now() + OPEN_LIMIT_MS;
  for (;;) {
    try {
      return tryOpen(path);
    } catch (error) {
      if (error instanceof DomainError) throw error;
      if (isDamaged(error)) throw refusal(`${path} is damaged or no SQLite database`, error);
      if (!isBusy(error)) throw refusal(`${path} cannot be opened as a database`, error);
      if (Date.now() >= giveUpAtMs) throw new DomainError("unavailable", `${path} is locked`, { cause: error });
    }
    await setTimeout(5 + Math.random() * 20);
  }
}

function tryOpen(path: string): Database.Database {
  // An absolute path is never taken for the URL of a server.
  const db = new Database(path === ":memory:" ? path : resolve(path), { timeout: DRIVER_WAIT_MS });
  try {
    // Another program's file must be refused before anything in it is changed.
    hasSchema(db, path);
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    ensureSchema(db, path);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function makeFolder(path: string): void {
  const folder = dirname(resolve(path));
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw refusal(`Folder ${folder} of the database cannot be made`, error);
  }
}

function refusal(message: string, cause: unknown): DomainError {
  return new DomainError("failed_precondition", message, { cause });
}
