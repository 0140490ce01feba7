import type { LogDatabase, LogStore } from "../../../src/storage/history/log-store.js";

/** A statement that a database was sent: SQL, or the name and the content of a command. */
export interface SentStatement {
  readonly text: string;
  /** Whether it reads rows by no key, so that it costs more the more rows there are. */
  readonly scansAll: boolean;
}

/** How the suites open the databases of a store. */
export interface LogStoreHarness {
  /**
   * Opens a new, empty database. The suite closes it after the case. `now` is the clock of the case, in milliseconds
   * since 1970. A database that has no clock of its own answers `timeMs` with it.
   */
  open(now: () => number): Promise<LogDatabase>;
  /**
   * Makes a new, empty database and opens it `count` times at once, as processes do that are started together. The
   * suite closes each of them. Absent where only one process can use a database.
   */
  openTogether?(count: number, now: () => number): Promise<readonly LogDatabase[]>;
  /** Whether `append` stores all entries or none, and only directly after the last place of a log. */
  readonly atomicAppend: boolean;
  /** Whether the database has a clock of its own, which ignores `now`. Cases that move the clock are skipped then. */
  readonly hasOwnClock?: boolean | undefined;
  /**
   * Resolves to the statements that a database from `open` or `openTogether` was sent while `work` ran. Absent where a
   * test cannot learn them.
   */
  sentDuring?(database: LogDatabase, work: () => Promise<unknown>): Promise<readonly SentStatement[]>;
}

/** What a case works on. Its members may be read only inside `it`. */
export interface LogStoreSubject {
  readonly harness: LogStoreHarness;
  readonly database: LogDatabase;
  /** A handle of the namespace `default`. */
  readonly store: LogStore;
  /** Opens one more new database with `openTogether`, which the suite closes after the case. */
  openTogether(count: number): Promise<readonly LogDatabase[]>;
  /** Moves the clock of the case. A database with a clock of its own does not notice. */
  advance(ms: number): void;
}
