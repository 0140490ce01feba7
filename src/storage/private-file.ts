import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** Only the owner may read and write. A umask can take rights away from this mode, but never add any. */
const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_FOLDER_MODE = 0o700;

/**
 * Makes a folder and its missing parents, accessible to the owner alone. Existing folders keep their mode. Parents are
 * made one by one, because Node's recursive `mkdir` never returns on file systems that refuse folders, such as /proc.
 */
export function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return;
  makePrivateFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER_MODE });
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
  }
}

/**
 * Creates an empty file for its owner alone and returns true. An existing file keeps its content and mode; then this
 * returns false.
 */
export function createPrivateFile(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE_MODE));
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}

/** The system's reason without the name of the call: `EACCES: permission denied`. */
export function systemReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split(",", 1)[0] as string;
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
