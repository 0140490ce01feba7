import { realpathSync, type Stats, statfsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DomainError } from "../../domain/errors.js";

interface Identity {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/**
 * How long one check of `-wal` and `-shm` stays valid. A check costs about 3 µs a file, and a commit may take only 50
 * µs on a fast disk.
 */
const COMPANIONS_MS = 1000;

/**
 * The files of an open database. A process that keeps a deleted or replaced file open can go on writing into it, but
 * nobody can read the result. SQLite itself never replaces any of the three files while they are open.
 */
export class DatabaseFiles {
  readonly #database: Identity;
  readonly #companions: readonly Identity[];
  readonly #clockMs: () => number;
  #lookedAtMs: number;

  /** `path` is a database that was just opened and read. `clockMs` is a steady clock. */
  constructor(path: string, clockMs: () => number = () => performance.now()) {
    this.#clockMs = clockMs;
    this.#lookedAtMs = clockMs();
    const absolute = resolve(path);
    // SQLite puts the other two files next to the real one.
    const real = realpathSync(absolute);
    this.#database = { path: absolute, ...idOf(statSync(absolute)) };
    this.#companions = ["-wal", "-shm"].flatMap((end) => {
      const stats = statSync(real + end, { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ path: real + end, ...idOf(stats) }];
    });
  }

  /**
   * Called before a commit: throws `unavailable` when the database was deleted or replaced. The other two files are
   * checked once a second.
   */
  check(): void {
    expectSame(this.#database);
    if (this.#clockMs() - this.#lookedAtMs >= COMPANIONS_MS) this.checkAll();
  }

  /** What the database and its write-ahead log take up. */
  bytes(): number {
    const { path } = this.#database;
    const wal = `${realpathSync(path)}-wal`;
    return statSync(path).size + (statSync(wal, { throwIfNoEntry: false })?.size ?? 0);
  }

  /** Throws `unavailable` when one of the files was deleted or replaced. */
  checkAll(): void {
    for (const file of [this.#database, ...this.#companions]) expectSame(file);
    this.#lookedAtMs = this.#clockMs();
  }

  /** Free bytes on the disk of the database, for processes without special rights. */
  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#database.path);
    return bavail * bsize;
  }
}

function idOf({ dev, ino }: Stats): { dev: number; ino: number } {
  return { dev, ino };
}

function expectSame(file: Identity): void {
  const now = statOf(file.path);
  if (now?.dev === file.dev && now.ino === file.ino) return;
  const text = "The database file was deleted or replaced while it was open: put it back, or restart the service";
  throw new DomainError("unavailable", text, { cause: new Error(`${file.path} is not the file that was opened`) });
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A folder in the path has become a file or inaccessible, so whatever is there is not our file.
    return undefined;
  }
}
