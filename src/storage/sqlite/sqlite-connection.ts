import { setImmediate, setTimeout } from "node:timers/promises";
import type Database from "libsql";
import { type Call, checkCall } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { DatabaseFiles } from "./database-files.js";
import { isBusy, toDomainError } from "./sqlite-errors.js";
import { prepareAll, Statement, type Statements } from "./statements.js";
import { WriteHealth } from "./write-health.js";

/** How long the driver itself waits for a lock: hardly at all, because it blocks the event loop. */
export const DRIVER_WAIT_MS = 2;
/** How long a call without a deadline waits for a lock. */
const BUSY_LIMIT_MS = 30_000;
const BUSY_PAUSE_MS = 8;
/** How long `close` without a deadline waits for the writes under way. */
const CLOSE_LIMIT_MS = 5000;
/** How long a write that only asks whether writes work may wait for the lock. */
const PROBE_MS = 1000;
/** Room for the largest batch, once in the write-ahead log and once in the database. */
const ROOM_BYTES = 16 * 1024 * 1024;
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

export interface ConnectionOptions {
  /** Compared before each commit; none for a database in memory. */
  readonly files?: DatabaseFiles | undefined;
  /** A steady clock in milliseconds. */
  readonly clockMs?: (() => number) | undefined;
}

/**
 * One connection. All writes that wait at the same moment share one transaction, and so one commit, whichever namespace
 * they belong to. It waits without blocking the event loop for a lock that another process holds.
 */
export class SqliteConnection {
  readonly statements: Statements;
  readonly #db: Database.Database;
  readonly #commit: Statement;
  #waiting: Job[] = [];
  #draining: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  /** When the writes that still wait are given up, because the connection closes. */
  #closeAtMs = Number.POSITIVE_INFINITY;
  readonly #files: DatabaseFiles | undefined;
  readonly #health: WriteHealth;
  readonly #clockMs: () => number;
  #probing: Promise<void> | null = null;

  constructor(db: Database.Database, { files, clockMs = () => performance.now() }: ConnectionOptions = {}) {
    this.#db = db;
    this.#files = files;
    this.#health = new WriteHealth(clockMs);
    this.#clockMs = clockMs;
    this.statements = prepareAll(db);
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

  /**
   * Runs a write in a transaction, and resolves when that is durable. `work` is all or nothing, and may be run again.
   */
  write<T>(work: () => T, call: Call | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#checkOpen();
      checkCall(call);
      const giveUpAtMs = Date.now() + BUSY_LIMIT_MS;
      this.#waiting.push({ work, call, giveUpAtMs, resolve: resolve as (value: unknown) => void, reject });
      this.#draining ??= this.#drain();
    });
  }

  /**
   * Rejects with `unavailable` when writes cannot be made: the file was deleted or replaced, or writes have failed or
   * waited for five seconds. When no caller has been refused lately, it tries a write of its own, so that it recovers
   * by itself.
   */
  async checkWritable(): Promise<void> {
    this.#checkOpen();
    this.#files?.checkAll();
    const { problem } = this.#health;
    if (problem === null) return;
    if (this.#health.wasRefusedLately || (this.#health.wasRefused && this.#isDiskFull())) throw problem;
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = null;
    });
    await this.#probing.catch((cause) => {
      throw new DomainError("unavailable", problem.message, { cause });
    });
  }

  /**
   * Waits for the writes under way, but no longer than the call's deadline or 5 s: what still waits for another
   * process's lock then is rejected as `unavailable` and was not written. Moves the write-ahead log into the file and
   * closes.
   */
  close(call?: Call): Promise<void> {
    this.#closing ??= this.#close(call?.deadlineMs ?? Date.now() + CLOSE_LIMIT_MS);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    this.#closeAtMs = deadlineMs;
    await this.#draining;
    try {
      // A write-ahead log that was parted from its database must not be moved into another one.
      this.#files?.checkAll();
      this.#db.pragma("wal_checkpoint(TRUNCATE)");
    } catch (error) {
      // Other processes are at work in the file: the last of them does it.
      if (!(error instanceof DomainError) && !isBusy(error)) throw toDomainError(error);
    } finally {
      this.#db.close();
    }
  }

  /**
   * A failed commit leaves the write-ahead log long enough for a small write, though the disk has no room for any
   * other.
   */
  #isDiskFull(): boolean {
    return this.#files !== undefined && this.#files.freeBytes() < ROOM_BYTES;
  }

  /** A write that changes nothing, but has a page written. */
  #probe(): Promise<void> {
    const version = this.#db.prepare("PRAGMA user_version").raw();
    const work = () => {
      const [current] = version.get([]) as [number];
      this.#db.exec(`PRAGMA user_version = ${current}`);
    };
    return this.write(work, { deadlineMs: Date.now() + PROBE_MS });
  }

  #checkOpen(): void {
    if (this.#closing !== null) throw new DomainError("unavailable", "The database is closed");
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await setImmediate();
      this.#waiting = this.#waiting.filter((job) => this.#isStillWanted(job));
      if (!this.#tryCommit()) await pause();
    }
    this.#draining = null;
  }

  /** Runs as many jobs as fit into a transaction; false when another process holds the lock. */
  #tryCommit(): boolean {
    if (this.#waiting.length === 0) return true;
    const taken: Job[] = [];
    try {
      const settles = this.#commitJobs(taken);
      this.#health.succeeded();
      for (const settle of settles) settle();
      return true;
    } catch (error) {
      this.#noteFailure(error);
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
        const settles = this.#transaction(() => [runJob(job)]);
        this.#health.succeeded();
        for (const settle of settles) settle();
      } catch (cause) {
        this.#noteFailure(cause);
        if (isBusy(cause)) this.#waiting.push(job);
        else job.reject(toDomainError(cause));
      }
    }
  }

  #commitJobs(taken: Job[]): Settle[] {
    const untilMs = this.#clockMs() + TRANSACTION_MS;
    return this.#transaction(() => {
      const settles: Settle[] = [];
      do {
        const job = this.#waiting.shift() as Job;
        taken.push(job);
        settles.push(runJob(job));
      } while (this.#waiting.length > 0 && this.#clockMs() < untilMs);
      return settles;
    });
  }

  #transaction<T>(work: () => T): T {
    // A prepared BEGIN that finds the file locked stays active, and holds the reads of this connection at that moment until it is run
    // again: they would miss what other processes commit meanwhile. `exec` finalizes its statement, whatever comes of it.
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#files?.check();
      this.#commit.run();
      return result;
    } catch (error) {
      // Some errors have ended the transaction already.
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /** A mistake in the program says nothing about the file. */
  #noteFailure(error: unknown): void {
    const failure = toDomainError(error);
    if (failure.code === "unavailable") this.#health.failed(failure);
  }

  /** Rejects a job whose caller has gone or has waited long enough, or for which no time is left before the end. */
  #isStillWanted(job: Job): boolean {
    try {
      checkCall(job.call);
      const nowMs = Date.now();
      if (nowMs >= this.#closeAtMs)
        throw new DomainError("unavailable", "The database was closed before this could be written");
      if (nowMs >= job.giveUpAtMs) {
        throw new DomainError("unavailable", "The database file is locked by another process");
      }
      return true;
    } catch (error) {
      job.reject(error);
      return false;
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
