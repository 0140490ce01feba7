import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import Database from "libsql";
import { DomainError } from "../../domain/errors.js";
import type { SearchOption } from "../../domain/search.js";
import { createPrivateFile, makePrivateFolder, systemReason } from "../private-file.js";
import { ensureSchema, PAGE_BYTES, schemaVersion } from "./schema.js";
import { ensurePlaces, ensureSearch } from "./search-schema.js";
import { DRIVER_WAIT_MS } from "./sqlite-connection.js";
import { isBusy, isDamaged } from "./sqlite-errors.js";

export const IN_MEMORY = ":memory:";
/** How long to wait for others that are opening or recovering the same file. */
const OPEN_LIMIT_MS = 30_000;

/**
 * Opens a file. A missing file or folder is made, accessible to its owner alone; SQLite gives `-wal` and `-shm` the
 * mode of the database. With `search` the file gets an index of words, unless only an `existing` one is to be used.
 * `failed_precondition`, naming the file and the
 * reason: the file cannot be used, and trying again does not help.
 */
export async function openFile(
  path: string,
  { search = false }: { readonly search?: SearchOption | undefined } = {},
): Promise<Database.Database> {
  if (path !== IN_MEMORY) makeFile(path);
  const giveUpAtMs = Date.now() + OPEN_LIMIT_MS;
  for (;;) {
    try {
      return tryOpen(path, search);
    } catch (error) {
      if (error instanceof DomainError) throw error;
      if (isDamaged(error)) throw refusal(`${path} is damaged or not a SQLite database`, error);
      if (!isBusy(error)) throw refusal(`${path} cannot be opened as a database: ${reasonOf(path, error)}`, error);
      if (Date.now() >= giveUpAtMs) throw new DomainError("unavailable", `${path} is locked`, { cause: error });
    }
    await setTimeout(5 + Math.random() * 20);
  }
}

function tryOpen(path: string, search: SearchOption): Database.Database {
  // An absolute path is never mistaken for the URL of a server.
  const db = new Database(path === IN_MEMORY ? path : resolve(path), { timeout: DRIVER_WAIT_MS });
  try {
    // Another program's file must be refused before anything in it changes.
    schemaVersion(db, path);
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    // On macOS, fsync leaves data in the drive's cache; only F_FULLFSYNC survives a loss of power. Other systems ignore
    // both pragmas.
    db.exec("PRAGMA fullfsync = ON");
    db.exec("PRAGMA checkpoint_fullfsync = ON");
    ensureSchema(db, path);
    if (search) ensureSearch(db, search === true ? "text" : search);
    ensurePlaces(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function makeFile(path: string): void {
  const folder = dirname(resolve(path));
  try {
    makePrivateFolder(folder);
  } catch (error) {
    throw refusal(`Folder ${folder} of the database cannot be made: ${systemReason(error)}`, error);
  }
  try {
    createPrivateFile(path);
  } catch (error) {
    throw refusal(`${path} cannot be made: ${systemReason(error)}`, error);
  }
}

/** The driver only says "unable to open database file", but the system knows why. */
function reasonOf(path: string, error: unknown): string {
  if (path === IN_MEMORY) return systemReason(error);
  const files = [dirname(resolve(path)), path, `${path}-wal`, `${path}-shm`];
  try {
    if (statSync(path).isDirectory()) return "EISDIR: is a directory";
    for (const file of files.filter((one) => existsSync(one))) accessSync(file, constants.R_OK | constants.W_OK);
  } catch (systemError) {
    return systemReason(systemError);
  }
  return systemReason(error);
}

function refusal(message: string, cause: unknown): DomainError {
  return new DomainError("failed_precondition", message, { cause });
}
