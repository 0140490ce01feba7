import { checkCall } from "../domain/call.js";
import { DomainError } from "../domain/errors.js";
import type { Limits } from "../domain/limits.js";
import { messageSize } from "../domain/message-size.js";
import type { LogResult, TurnAppend, TurnOutcome } from "../storage/storage-provider.js";
import { onCallEnd } from "./call-end.js";
import type { TurnLock } from "./turn-lock.js";

interface Waiting {
  readonly append: TurnAppend;
  readonly resolve: (result: LogResult) => void;
  readonly reject: (error: unknown) => void;
  stopWatching: (() => void) | undefined;
}

type StoreTurn = (sessionId: string, appends: readonly TurnAppend[]) => Promise<readonly TurnOutcome[]>;

/** Appends wait here for their session's turn; who gets it stores all that wait, in one write. */
export class AppendQueue {
  readonly #turnLock: TurnLock;
  readonly #limits: Limits;
  readonly #storeTurn: StoreTurn;
  /** Of a session that is here, somebody is waiting for the turn and will take these. */
  readonly #queues = new Map<string, Waiting[]>();

  constructor(turnLock: TurnLock, limits: Limits, storeTurn: StoreTurn) {
    this.#turnLock = turnLock;
    this.#limits = limits;
    this.#storeTurn = storeTurn;
  }

  append(sessionId: string, append: TurnAppend): Promise<LogResult> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { append, resolve, reject, stopWatching: undefined };
      const known = this.#queues.get(sessionId);
      const queue = known ?? [];
      if (this.#turnLock.isLocked(sessionId)) leaveAtCallEnd(queue, waiting);
      queue.push(waiting);
      if (known === undefined) {
        this.#queues.set(sessionId, queue);
        void this.#takeTurns(sessionId, queue);
      }
    });
  }

  /** Takes turns, one a write so that edits get theirs in between, until nobody waits. */
  async #takeTurns(sessionId: string, queue: Waiting[]): Promise<void> {
    do {
      const release = await this.#turnLock.acquire(sessionId);
      const turn = takeTurn(queue, this.#limits);
      if (queue.length === 0) this.#queues.delete(sessionId);
      if (turn.length > 0) await this.#store(sessionId, turn);
      release();
    } while (queue.length > 0);
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
    }
  }
}

/** Removes from the queue those that the next write takes, and answers those of them that still want it. */
function takeTurn(queue: Waiting[], limits: Limits): readonly Waiting[] {
  const taken = queue.splice(0, turnLength(queue, limits));
  return taken.filter((waiting) => {
    waiting.stopWatching?.();
    try {
      checkCall(waiting.append.options);
      return true;
    } catch (error) {
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

function leaveAtCallEnd(queue: Waiting[], waiting: Waiting): void {
  waiting.stopWatching = onCallEnd(waiting.append.options, (error) => {
    queue.splice(queue.indexOf(waiting), 1);
    waiting.reject(error);
  });
}

function settle(waiting: Waiting, outcome: TurnOutcome | undefined): void {
  if (outcome === undefined)
    waiting.reject(new DomainError("internal", "The storage provider gave no outcome for an append"));
  else if (outcome.ok) waiting.resolve(outcome.result);
  else waiting.reject(outcome.error);
}
