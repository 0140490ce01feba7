import { Worker } from "node:worker_threads";
import type { ServeConfig } from "../config/config.js";

const BEAT_MS = 250;
/** The main thread may compute without a pause for `--shutdown-s` and a second, within these bounds. */
const LEAST_STALL_MS = 3000;
const MOST_STALL_MS = 10_000;
/** The time that passes at most until a stall is noticed and the process has been ended. */
const NOTICE_MS = 3 * BEAT_MS;
/** How long after its own limit the process is ended. On a busy machine it may end itself a little late. */
const GRACE_MS = 2000;

/**
 * Ends the process from a second thread when the main one no longer can. It hears no signals then, because a signal is
 * told to JavaScript by the loop of events, and no other thread is told of it at all. So a main thread that computes
 * without a pause is ended whether or not a signal has come: it answers nobody any more, and whatever started the
 * process can start it again. Time in which it waits, for example for a disk, or stands still does not count.
 */
export class Watchdog {
  readonly #thread: Worker;
  readonly #beats = new Int32Array(new SharedArrayBuffer(4));

  private constructor(stallMs: number) {
    const workerData = { beats: this.#beats, stallMs, beatMs: BEAT_MS };
    this.#thread = new Worker(THREAD, { eval: true, workerData, resourceLimits: { maxOldGenerationSizeMb: 16 } });
    this.#thread.unref();
    // Without the thread, the process continues as if it had none.
    this.#thread.on("error", () => {});
    setInterval(() => Atomics.add(this.#beats, 0, 1), BEAT_MS).unref();
  }

  /** Watches this process, which gives running calls this much time when it stops. */
  static start(shutdownMs: number): Watchdog {
    const stallMs = Math.min(MOST_STALL_MS, Math.max(LEAST_STALL_MS, shutdownMs + 1000));
    return new Watchdog(stallMs - NOTICE_MS);
  }

  /** Ends the process soon after this time, whatever the main thread does then. */
  endAfter(ms: number): void {
    this.#thread.postMessage(ms + GRACE_MS);
  }
}

/**
 * Watches a process that works on a database server and listens to signals itself, because what the driver makes of a
 * server's answers is not in our hands. SQLite works in the main thread, and may take its time, for example to upgrade
 * a large file.
 */
export function watchStore({ storage, shutdownMs }: Pick<ServeConfig, "storage" | "shutdownMs">): Watchdog | undefined {
  return /^(mongodb|postgres)/.test(storage) ? Watchdog.start(shutdownMs) : undefined;
}

const THREAD = `
const { workerData: { beats, stallMs, beatMs }, parentPort } = require("node:worker_threads");
const { write } = require("node:fs");

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function end(msg) {
  const line = JSON.stringify({ level: 60, time: Date.now(), pid: process.pid, msg }) + "\\n";
  const kill = () => process.kill(process.pid, "SIGKILL");
  write(2, line, kill);
  // Nobody may be reading the log.
  setTimeout(kill, beatMs);
}

let beat;
let sinceMs;
let cpuBeforeMs;
const timer = setInterval(() => {
  const current = Atomics.load(beats, 0);
  if (current !== beat) {
    beat = current;
    sinceMs = performance.now();
    cpuBeforeMs = cpuMs();
  } else if (performance.now() - sinceMs >= stallMs && cpuMs() - cpuBeforeMs >= stallMs / 2) {
    clearInterval(timer);
    end("The process has computed without a pause for too long, and is ended");
  }
}, beatMs);

parentPort.on("message", (ms) => setTimeout(end, ms, "The process could not stop in time, and is ended"));
`;
