import { createRequire } from "node:module";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import type { Call } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { DomainError } from "../../domain/errors.js";
import { toDomainError } from "./sqlite-errors.js";

/** How long it tries to get the file to itself while others write to it or read old states of it. */
const LIMIT_MS = 60_000;

/**
 * The code of the thread, as text because the build makes a single bundle. VACUUM rewrites every page, and so leaves
 * nothing of what was overwritten or deleted; `secure_delete` alone misses what earlier page splits left behind. The
 * write-ahead log still holds the old pages until it is truncated. An index of words keeps deleted words until
 * all of its pieces are merged into one.
 */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.driver);
const untilMs = Date.now() + workerData.limitMs;
const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
const isBusy = (error) => /^SQLITE_(BUSY|LOCKED)/.test(error.code ?? "");
function repeat(attempt) {
  for (;;) {
    try {
      if (attempt()) return true;
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    if (Date.now() >= untilMs) return false;
    wait();
  }
}
let answer;
try {
  const db = new Database(workerData.path, { timeout: 1000 });
  for (const pragma of ["synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"]) db.exec("PRAGMA " + pragma);
  const cut = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw();
  const hasWords = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'search_texts'").get([]) !== undefined;
  const mergeWords = () => (hasWords && db.exec("INSERT INTO search_texts (search_texts) VALUES ('optimize')"), true);
  const isClean = repeat(mergeWords) && repeat(() => (db.exec("VACUUM"), true)) && repeat(() => cut.get([])[0] === 0);
  db.close();
  answer = { isClean };
} catch (error) {
  answer = { code: error.code ?? "", message: error.message };
}
parentPort.postMessage(answer);
`;

type Answer = { readonly isClean: boolean } | { readonly code: string; readonly message: string };

/** Removes all remains of overwritten and deleted content from a database file, in a thread of its own. */
export class FileCleaner {
  readonly #path: string;
  #running: Promise<void> | null = null;
  /** The run that begins after the present one; it serves everyone who came meanwhile. */
  #next: Promise<void> | null = null;

  constructor(path: string) {
    this.#path = resolve(path);
  }

  /**
   * Resolves when neither the file nor its write-ahead log holds anything of what was overwritten or deleted before the
   * call. The disk needs room for a second copy. If the call ends first, the work continues. `unavailable`: others kept
   * the file locked, or read an old state of it, for a minute.
   */
  clean(call: Call | undefined): Promise<void> {
    return untilCallEnd(this.#running === null ? this.#run() : this.#runNext(this.#running), call);
  }

  #runNext(running: Promise<void>): Promise<void> {
    const run = () => {
      this.#next = null;
      return this.#run();
    };
    this.#next ??= running.then(run, run);
    return this.#next;
  }

  #run(): Promise<void> {
    const running = cleanInThread(this.#path).finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }
}

async function cleanInThread(path: string): Promise<void> {
  const driver = createRequire(import.meta.url).resolve("libsql");
  const thread = new Worker(THREAD, { eval: true, workerData: { path, driver, limitMs: LIMIT_MS } });
  const answer = await new Promise<Answer>((resolveAnswer, reject) => {
    thread.on("message", resolveAnswer);
    thread.on("error", reject);
    thread.on("exit", () => reject(new Error("The thread that cleans the database ended")));
  });
  if (!("isClean" in answer)) throw toDomainError(Object.assign(new Error(answer.message), { code: answer.code }));
  if (answer.isClean) return;
  throw new DomainError(
    "unavailable",
    "The database file could not be cleaned: another process keeps it locked or reads an old state of it",
  );
}
