import { setImmediate, setTimeout } from "node:timers/promises";
import type Database from "libsql";
import { type Call, checkCall, closeLimit } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { DatabaseFiles } from "./database-files.js";
import { inTransaction } from "./in-transaction.js";
import { isBusy, toDomainError } from "./sqlite-errors.js";
import { prepareAll, Statement, type Statements } from "./statements.js";
import { WriteHealth } from "./write-health.js";

/** How long the driver itself waits for a lock. It is very short, because the driver blocks the event loop. */
export const DRIVER_WAIT_MS = 2;
/** How long a call without a deadline waits for a lock. */
const BUSY_LIMIT_MS = 30_000;
const BUSY_PAUSE_MS = 8;
/** How long a write that only tests whether writing works may wait for the lock. */
const PROBE_MS = 1000;
/** Room for the largest batch, both in the write-ahead log and in the database. */
const ROOM_BYTES = 16 * 1024 * 1024;
/** How many statements that depend on what callers ask for are kept. */
const MOST_KEPT = 200;
/** A transaction begins no more jobs after this time, so that other work may run. */
const TRANSACTION_MS = 20;

interface Job {
  readonly work: () => unknown;
  readonly call: Call | undefined;
  readonly giveUpAtMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Reports the outcome of a job inside a transaction; called once the transaction has ended. */
type Settle = () => void;

export interface ConnectionOptions {
  /** Checked before each commit; absent for a database in memory. */
  readonly files?: DatabaseFiles | undefined;
  /** A steady clock in milliseconds. */
  readonly clockMs?: (() => number) | undefined;
}

/**
 * One connection. All writes that are waiting at the same moment share one transaction, and thus one commit, whatever
 * their namespace. It waits for a lock of another process without blocking the event loop. The file is long because a
 * write goes through all of it: the queue, the shared transaction, and the disk that may be full.
 */
export class SqliteConnection {
  readonly statements: Statements;
  readonly #db: Database.Database;
  /** The statements that were made most recently, by their text. */
  readonly #kept = new Map<string, Statement>();
  readonly #commit: Statement;
  readonly #beginReads: Statement;
  #waiting: Job[] = [];
  #draining: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  /** The time, in milliseconds since 1970, from which waiting writes are given up because the connection is closing. */
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
    this.#beginReads = new Statement(db, "BEGIN DEFERRED");
  }

  /** A statement that is not one of `statements`. */
  statement(text: string): Statement {
    const kept = this.#kept.get(text);
    if (kept) return kept;
    const made = new Statement(this.#db, text);
    this.#kept.set(text, made);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break;
      this.#kept.delete(oldest);
    }
    return made;
  }

  /** Runs a read. Each of its statements sees the database as of one moment. */
  read<T>(work: () => T, call: Call | undefined): Promise<T> {
    return this.#untilNotBusy(work, BUSY_LIMIT_MS, call);
  }

  /**
   * Runs reads that all see the database as of one moment. Called only inside `read`. This BEGIN may be prepared,
   * because it takes no lock and so never finds the file locked.
   */
  atOneMoment<T>(reads: () => T): T {
    return inTransaction(this.#db, reads, { begin: () => this.#beginReads.run(), commit: () => this.#commit.run() });
  }

  /** Tries at once, and then for `limitMs` as long as another process holds the lock. */
  async #untilNotBusy<T>(work: () => T, limitMs: number, call?: Call): Promise<T> {
    const giveUpAtMs = Date.now() + limitMs;
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
   * Runs a write in a transaction, and resolves once it is durable. `work` must be all or nothing, and may run several
   * times.
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
   * Rejects with `unavailable` when writes are impossible: the file was deleted or replaced, or writes have failed or
   * waited for five seconds. When no caller was refused recently, it tries a write of its own, so that it recovers by
   * itself.
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
   * Waits for running writes until the call's deadline at most (5 s without one). A write that still waits for another
   * process's lock then is rejected as `unavailable` and was not written. Moves the write-ahead log into the file and
   * closes it.
   */
  close(call?: Call): Promise<void> {
    this.#closing ??= this.#close(closeLimit(call).deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    this.#closeAtMs = deadlineMs;
    await this.#draining;
    try {
      // A write-ahead log that was separated from its database must not be moved into another one.
      this.#files?.checkAll();
      this.#db.pragma("wal_checkpoint(TRUNCATE)");
    } catch (error) {
      // Other processes are using the file; the last of them moves the log.
      if (!(error instanceof DomainError) && !isBusy(error)) throw toDomainError(error);
    } finally {
      this.#db.close();
    }
  }

  /**
   * Whether the disk of the database is full. A small write does not show that: a failed commit leaves the write-ahead
   * log long enough for one, even if the disk has no room left.
   */
  #isDiskFull(): boolean {
    return this.#files !== undefined && this.#files.freeBytes() < ROOM_BYTES;
  }

  /** A write that changes nothing but makes SQLite write a page. */
  async #probe(): Promise<void> {
    const version = this.#db.prepare("PRAGMA user_version").raw();
    const work = () => {
      const [current] = version.get([]) as [number];
      this.#db.exec(`PRAGMA user_version = ${current}`);
    };
    try {
      await this.#untilNotBusy(() => this.#transaction(work), PROBE_MS);
      this.#health.succeeded();
    } catch (error) {
      this.#noteFailure(error);
      throw error;
    }
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

  /** Runs as many jobs as fit into a transaction; returns false when another process holds the lock. */
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

  /** Runs each job in a transaction of its own, after one of several has failed and undone the others. */
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
    const commit = () => {
      this.#files?.check();
      this.#commit.run();
    };
    return inTransaction(this.#db, work, { commit });
  }

  /** An error in the program says nothing about the file. */
  #noteFailure(error: unknown): void {
    const failure = toDomainError(error);
    if (failure.code === "unavailable") this.#health.failed(failure);
  }

  /**
   * Rejects a job whose call has ended, or which has waited long enough, or for which no time is left before closing.
   */
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
