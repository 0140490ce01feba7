import { createRequire } from "node:module";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { Mutex } from "async-mutex";
import { type Call, checkCall } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { DomainError } from "../../domain/errors.js";
import type { DatabaseFiles } from "./database-files.js";
import { toDomainError } from "./sqlite-errors.js";
import type { Bound, Row } from "./statements.js";

/**
 * How long the thread waits for a lock. It may wait longer than the driver does elsewhere, because nobody waits for it.
 */
const LOCK_WAIT_MS = 5000;

/** The code of the thread, as text because the build makes a single bundle. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.driver);
let db;
let statement;
function open() {
  db = new Database(workerData.path, { timeout: workerData.lockWaitMs });
  db.exec("PRAGMA query_only = ON");
  return db.prepare(workerData.sql).raw();
}
parentPort.on("message", (values) => {
  if (values === null) {
    db?.close();
    parentPort.close();
    return;
  }
  try {
    statement ??= open();
    parentPort.postMessage({ rows: statement.all(values) });
  } catch (error) {
    parentPort.postMessage({ code: error.code ?? "", message: error.message });
  }
});
`;

type Answer = { readonly rows: Row[] } | { readonly code: string; readonly message: string };

/**
 * Runs one query of a database file in a thread of its own, with a connection of its own. A query for words may take
 * seconds, and nothing can interrupt SQLite while it merges what begins with a prefix. One query runs at a time, so
 * that searches take one processor at most. The thread starts with the first query.
 */
export class SearchThread {
  readonly #path: string;
  readonly #sql: string;
  readonly #files: Pick<DatabaseFiles, "checkAll"> | undefined;
  readonly #oneAtATime = new Mutex();
  #thread: Worker | undefined;
  #running: { readonly resolve: (answer: Answer) => void; readonly reject: (error: unknown) => void } | undefined;
  #isClosed = false;

  constructor(path: string, sql: string, files?: Pick<DatabaseFiles, "checkAll">) {
    this.#path = resolve(path);
    this.#sql = sql;
    this.#files = files;
  }

  /**
   * Rejects when the call ends. A query that is still waiting then is left out; the answer of one that is running is
   * ignored.
   */
  all(values: readonly Bound[], call: Call | undefined): Promise<Row[]> {
    const rows = this.#oneAtATime.runExclusive(() => {
      checkCall(call);
      return this.#ask(values);
    });
    return untilCallEnd(rows, call);
  }

  /**
   * Resolves when the thread has closed its connection. If it is in the middle of a query, this only asks it to do so.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise<void>((end) => thread.once("exit", () => end()));
    thread.postMessage(null);
    if (!this.#oneAtATime.isLocked()) await ended;
  }

  async #ask(values: readonly Bound[]): Promise<Row[]> {
    if (this.#isClosed) throw closed();
    this.#thread ??= this.#start();
    const thread = this.#thread;
    thread.ref();
    try {
      const answer = await new Promise<Answer>((resolveAnswer, reject) => {
        this.#running = { resolve: resolveAnswer, reject };
        thread.postMessage(values);
      });
      if ("rows" in answer) return answer.rows;
      throw toDomainError(Object.assign(new Error(answer.message), { code: answer.code }));
    } finally {
      this.#running = undefined;
      thread.unref();
    }
  }

  #start(): Worker {
    // The thread opens whatever has the file's name now.
    this.#files?.checkAll();
    const driver = createRequire(import.meta.url).resolve("libsql");
    const workerData = { path: this.#path, sql: this.#sql, driver, lockWaitMs: LOCK_WAIT_MS };
    const thread = new Worker(THREAD, { eval: true, workerData });
    thread.on("message", (answer: Answer) => this.#running?.resolve(answer));
    thread.on("error", (error) => this.#running?.reject(error));
    thread.on("exit", () => {
      this.#thread = undefined;
      this.#running?.reject(closed());
    });
    return thread;
  }
}

function closed(): DomainError {
  return new DomainError("unavailable", "The database is closed");
}
