import { checkCall } from "../domain/call.js";
import { onCallEnd } from "../domain/call-end.js";
import { noAnswer } from "../domain/errors.js";
import type { Limits } from "../domain/limits.js";
import { messageSize } from "../domain/message-size.js";
import type { LogResult, TurnOutcome } from "../storage/storage-provider.js";
import type { QueuedAppend } from "./session-pool-types.js";
import { type TurnLock, turnOf } from "./turn-lock.js";

interface Waiting {
  readonly append: QueuedAppend;
  readonly resolve: (result: LogResult) => void;
  readonly reject: (error: unknown) => void;
  stopWatching: (() => void) | undefined;
}

type StoreTurn = (sessionId: string, appends: readonly QueuedAppend[]) => Promise<readonly TurnOutcome[]>;

/** Holds appends until it is their session's turn. One turn stores all waiting appends in one write. */
export class AppendQueue {
  readonly #turnLock: TurnLock;
  readonly #limits: Limits;
  readonly #storeTurn: StoreTurn;
  /** Maps the name of a session's turns to its queue. For every key, a task is running that will drain the queue. */
  readonly #queues = new Map<string, Waiting[]>();

  constructor(turnLock: TurnLock, limits: Limits, storeTurn: StoreTurn) {
    this.#turnLock = turnLock;
    this.#limits = limits;
    this.#storeTurn = storeTurn;
  }

  append(sessionId: string, append: QueuedAppend): Promise<LogResult> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { append, resolve, reject, stopWatching: undefined };
      const turn = turnOf(sessionId, append.options);
      const known = this.#queues.get(turn);
      const queue = known ?? [];
      if (this.#turnLock.isLocked(turn)) answerAtCallEnd(queue, waiting);
      queue.push(waiting);
      if (known === undefined) {
        this.#queues.set(turn, queue);
        void this.#takeTurns(sessionId, turn, queue);
      }
    });
  }

  /** Takes turns until the queue is empty. Each write is a turn of its own, so that edits get a turn in between. */
  async #takeTurns(sessionId: string, turn: string, queue: Waiting[]): Promise<void> {
    do {
      const release = await this.#turnLock.acquire(turn);
      const taken = takeTurn(queue, this.#limits);
      if (queue.length === 0) this.#queues.delete(turn);
      // A shared write runs as long as its most patient caller waits, so the other callers are answered here. The
      // provider answers a single caller in time.
      if (taken.length > 1) for (const waiting of taken) answerAtCallEnd(queue, waiting);
      if (taken.length > 0) await this.#store(sessionId, taken);
      release();
    } while (queue.length > 0);
    // Those that were left for another turn may all have given up. Later appends need a task that drains their queue.
    if (this.#queues.get(turn) === queue) this.#queues.delete(turn);
  }

  async #store(sessionId: string, turn: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#storeTurn(
        sessionId,
        turn.map(({ append }) => append),
      );
      turn.forEach((waiting, i) => {
        settle(waiting, outcomes[i]);
      });
    } catch (error) {
      for (const { reject } of turn) reject(error);
    } finally {
      for (const { stopWatching } of turn) stopWatching?.();
    }
  }
}

/** Removes the appends of the next write from the queue, and returns those whose calls have not ended. */
function takeTurn(queue: Waiting[], limits: Limits): readonly Waiting[] {
  const taken = queue.splice(0, turnLength(queue, limits));
  return taken.filter((waiting) => {
    try {
      checkCall(waiting.append.options);
      return true;
    } catch (error) {
      waiting.stopWatching?.();
      waiting.reject(error);
      return false;
    }
  });
}

function turnLength(queue: readonly Waiting[], limits: Limits): number {
  if (queue.length <= 1) return queue.length;
  let messages = 0;
  let bytes = 0;
  const next = queue.findIndex(({ append }, i) => {
    messages += append.messages.length;
    bytes += append.messages.reduce((sum, message) => sum + messageSize(message), 0);
    return i > 0 && (messages > limits.batchMessages || bytes > limits.batchBytes);
  });
  return next < 0 ? queue.length : next;
}

/**
 * Rejects an append when its call ends. If it is still waiting, it is removed and never stored; if it is being stored,
 * it may or may not be stored.
 */
function answerAtCallEnd(queue: Waiting[], waiting: Waiting): void {
  waiting.stopWatching ??= onCallEnd(waiting.append.options, (error) => {
    const place = queue.indexOf(waiting);
    if (place >= 0) queue.splice(place, 1);
    waiting.reject(error);
  });
}

function settle(waiting: Waiting, outcome: TurnOutcome | undefined): void {
  if (outcome?.ok === true) waiting.resolve(outcome.result);
  else waiting.reject(outcome?.ok === false ? outcome.error : noAnswer("whether an append was stored"));
}
