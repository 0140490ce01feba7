import { setImmediate, setTimeout } from "node:timers/promises";
import type Database from "libsql";
import { type Call, checkCall } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import { isBusy, toDomainError } from "./sqlite-errors.js";
import { prepareAll, Statement, type Statements } from "./statements.js";

/** How long the driver itself waits for a lock: it blocks the event loop, so hardly at all. */
export const DRIVER_WAIT_MS = 2;
/** How long a call without a deadline waits for a lock. */
const BUSY_LIMIT_MS = 30_000;
const BUSY_PAUSE_MS = 8;
/** A transaction takes on no more work after so long; the event loop gets its turn. */
const TRANSACTION_MS = 20;

interface Job {
  readonly work: () => unknown;
  readonly call: Call | undefined;
  readonly giveUpAtMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** What became of a job inside a transaction; settled once the transaction is. */
type Settle = () => void;

/**
 * One connection. All writes that wait at the same moment share one transaction and so one commit, whoever they are of; a lock that
 * another process holds is waited for without blocking the event loop.
 */
export class SqliteConnection {
  readonly statements: Statements;
  readonly #db: Database.Database;
  readonly #begin: Statement;
  readonly #commit: Statement;
  #waiting: Job[] = [];
  #draining: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(db: Database.Database) {
    this.#db = db;
    this.statements = prepareAll(db);
    this.#begin = new Statement(db, "BEGIN IMMEDIATE");
    this.#commit = new Statement(db, "COMMIT");
  }

  /** Runs a read, which sees one moment of the database. */
  async read<T>(work: () => T, call: Call | undefined): Promise<T> {
    const giveUpAtMs = Date.now() + BUSY_LIMIT_MS;
    for (;;) {
      this.#checkOpen();
      checkCall(call);
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || Date.now() >= giveUpAtMs) throw toDomainError(error);
        await pause();
      }
    }
  }

  /** Runs a write in a transaction, and resolves when that is durable. `work` is all or nothing, and may be run again. */
  write<T>(work: () => T, call: Call | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#checkOpen();
      checkCall(call);
      const giveUpAtMs = Date.now() + BUSY_LIMIT_MS;
      this.#waiting.push({ work, call, giveUpAtMs, resolve: resolve as (value: unknown) => void, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Waits for the writes under way, moves the write-ahead log into the file and closes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#draining;
    try {
      this.#db.pragma("wal_checkpoint(TRUNCATE)");
    } catch (error) {
      // Other processes are at work in the file: the last of them does it.
      if (!isBusy(error)) throw toDomainError(error);
    } finally {
      this.#db.close();
    }
  }

  #checkOpen(): void {
    if (this.#closing !== null) throw new DomainError("unavailable", "The database is closed");
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await setImmediate();
      this.#waiting = this.#waiting.filter(stillWanted);
      if (!this.#tryCommit()) await pause();
    }
    this.#draining = null;
  }

  /** Runs as many jobs as fit into a transaction; false when another process holds the lock. */
  #tryCommit(): boolean {
    if (this.#waiting.length === 0) return true;
    const taken: Job[] = [];
    try {
      for (const settle of this.#commitJobs(taken)) settle();
      return true;
    } catch (error) {
      if (isBusy(error)) {
        this.#waiting.unshift(...taken);
        return false;
      }
      const failed = taken.length > 0 ? taken : this.#waiting.splice(0);
      if (failed.length === 1) failed[0]?.reject(toDomainError(error));
      else this.#commitEach(failed);
      return true;
    }
  }

  /** One of several jobs has failed and took the others with it: each gets a transaction of its own. */
  #commitEach(jobs: readonly Job[]): void {
    for (const job of jobs) {
      try {
        for (const settle of this.#transaction(() => [runJob(job)])) settle();
      } catch (cause) {
        if (isBusy(cause)) this.#waiting.push(job);
        else job.reject(toDomainError(cause));
      }
    }
  }

  #commitJobs(taken: Job[]): Settle[] {
    const untilMs = Date.now() + TRANSACTION_MS;
    return this.#transaction(() => {
      const settles: Settle[] = [];
      do {
        const job = this.#waiting.shift() as Job;
        taken.push(job);
        settles.push(runJob(job));
      } while (this.#waiting.length > 0 && Date.now() < untilMs);
      return settles;
    });
  }

  #transaction<T>(work: () => T): T {
    this.#begin.run();
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      // Some errors have ended the transaction already.
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }
}

function runJob(job: Job): Settle {
  const result = job.work();
  return () => job.resolve(result);
}

function pause(): Promise<void> {
  return setTimeout(1 + Math.random() * BUSY_PAUSE_MS);
}

/** Rejects a job whose caller has gone or has waited long enough. */
function stillWanted(job: Job): boolean {
  try {
    checkCall(job.call);
    if (Date.now() < job.giveUpAtMs) return true;
    throw new DomainError("unavailable", "The database file is locked by another process");
  } catch (error) {
    job.reject(error);
    return false;
  }
}
