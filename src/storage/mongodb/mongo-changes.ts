import { setTimeout as sleep } from "node:timers/promises";
import { type Db, MongoServerError, type ObjectId, type ResumeToken, type Timestamp } from "mongodb";
import { isUnknownOutcome, mongoError } from "./mongo-errors.js";
import type { WriteIds } from "./write-ids.js";

type Listener = (uid: string) => void;

/** The fields of a change that the pipeline keeps. */
interface Change {
  readonly _id: ResumeToken;
  readonly ns: { readonly coll: string };
  readonly documentKey: { readonly _id: ObjectId | string };
  readonly fullDocument?: { readonly log?: string; readonly write?: ObjectId };
  readonly updateDescription?: { readonly updatedFields?: { readonly write?: ObjectId } };
}

const PIPELINE = [
  {
    $match: {
      "ns.coll": { $in: ["messages", "sessions"] },
      // Records are also updated for their forks and times, which do not concern followers.
      $or: [
        { operationType: { $in: ["insert", "replace"] } },
        { "updateDescription.updatedFields.write": { $exists: true } },
      ],
    },
  },
  {
    $project: {
      operationType: 1,
      "ns.coll": 1,
      "documentKey._id": 1,
      "fullDocument.log": 1,
      "fullDocument.write": 1,
      "updateDescription.updatedFields.write": 1,
    },
  },
];
const AWAIT_MS = 1000;
const FIRST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 30_000;
/** ChangeStreamFatalError, InvalidResumeToken, CappedPositionLost, ChangeStreamHistoryLost. */
const PLACE_LOST: ReadonlySet<number> = new Set([280, 260, 136, 286]);

/** Receives what an operator should know; `error` is the cause of a failure. */
export type Notify = (text: string, error?: unknown) => void;

interface StartFrom {
  readonly startAtOperationTime?: Timestamp;
  readonly resumeAfter?: ResumeToken;
}

/**
 * Whether the server has change streams. Only trying tells: DocumentDB calls itself a router and refuses them, and a
 * user may lack the right.
 */
export async function hasChangeStreams(db: Db): Promise<boolean> {
  const stream = db.watch([], { maxAwaitTimeMS: 1 });
  try {
    await stream.tryNext();
    return true;
  } catch (error) {
    if (isUnknownOutcome(mongoError(error))) throw error;
    return false;
  } finally {
    await stream.close().catch(() => {});
  }
}

/**
 * One change stream for all listeners of this process. It runs while there are any, and continues where it was when the
 * connection is lost.
 */
export class MongoChanges {
  readonly #db: Db;
  readonly #ids: WriteIds;
  readonly #onFailure: Notify;
  readonly #listeners = new Set<Listener>();
  #running: { readonly stop: AbortController; readonly done: Promise<void> } | null = null;

  /** `onFailure` is called once when the stream fails, and again only after the stream has worked in between. */
  constructor(db: Db, ids: WriteIds, onFailure: Notify) {
    this.#db = db;
    this.#ids = ids;
    this.#onFailure = onFailure;
  }

  /** Reports all changes that other processes write after it has resolved. */
  async subscribe(listener: Listener): Promise<() => Promise<void>> {
    const own: Listener = (uid) => listener(uid);
    this.#listeners.add(own);
    if (!this.#running) await this.#start(own);
    return async () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) await this.close();
    };
  }

  async #start(first: Listener): Promise<void> {
    try {
      const { operationTime } = await this.#db.command({ ping: 1 });
      const stop = new AbortController();
      this.#running ??= { stop, done: this.#run(stop.signal, operationTime) };
    } catch (error) {
      this.#listeners.delete(first);
      throw mongoError(error);
    }
  }

  async close(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    running?.stop.abort();
    await running?.done;
  }

  async #run(signal: AbortSignal, startAtOperationTime: Timestamp): Promise<void> {
    let from: StartFrom = { startAtOperationTime };
    let failures = 0;
    const onAnswer = () => {
      failures = 0;
    };
    while (!signal.aborted) {
      let failure: unknown;
      try {
        for await (const change of this.#changes(from, signal, onAnswer)) {
          this.#tell(change);
          from = { resumeAfter: change._id };
        }
      } catch (error) {
        failure = error;
        // The server's log may no longer reach back to where it was. Then the stream starts at the present, and
        // followers find out by themselves what it missed.
        if (error instanceof MongoServerError && PLACE_LOST.has(Number(error.code))) from = {};
      }
      if (signal.aborted) return;
      if (failures === 0) this.#onFailure("The change stream has ended; watchers poll until it is back", failure);
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures++, MOST_PAUSE_MS);
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  /**
   * Runs until the signal or the server ends it. `onAnswer` is called whenever the server has answered, with or without
   * changes.
   */
  async *#changes(from: StartFrom, signal: AbortSignal, onAnswer: () => void): AsyncGenerator<Change> {
    const stream = this.#db.watch(PIPELINE, { ...from, maxAwaitTimeMS: AWAIT_MS });
    // Opening proves little: only an answer to a later request shows that the stream works.
    stream.on("more", onAnswer);
    // A stream whose connection is gone cannot be closed at the server, which ends it by itself.
    const close = () => stream.close().catch(() => {});
    signal.addEventListener("abort", close, { once: true });
    try {
      for await (const change of stream as AsyncIterable<unknown>) {
        onAnswer();
        yield change as Change;
      }
    } finally {
      signal.removeEventListener("abort", close);
      await close();
    }
  }

  #tell({ ns, documentKey, fullDocument, updateDescription }: Change): void {
    if (ns.coll === "messages") {
      const log = fullDocument?.log;
      if (log === undefined || this.#ids.isOurs(documentKey._id as ObjectId)) return;
      this.#tellAll(log.slice(0, log.indexOf(".")));
    } else {
      const write = fullDocument?.write ?? updateDescription?.updatedFields?.write;
      if (write && !this.#ids.isOurs(write)) this.#tellAll(documentKey._id as string);
    }
  }

  #tellAll(uid: string): void {
    for (const listener of this.#listeners) listener(uid);
  }
}
