import { Semaphore } from "async-mutex";
import type { Call } from "../domain/call.js";
import { checkCall } from "../domain/call.js";
import { untilCallEnd } from "../domain/call-end.js";

interface SessionLock {
  /** Starts at 0 permits: the creator holds the first turn. */
  readonly turns: Semaphore;
  /** How many callers hold the lock or wait for it. */
  users: number;
}

/**
 * A fair lock for each session that is being changed. An idle session has no lock. Callers with different access do not
 * wait for each other: from the wait, one could learn that there is a session which it may not see, and could hold up
 * those who change it. The store keeps their changes apart, as it does those of several processes.
 */
export class TurnLock {
  readonly #locks = new Map<string, SessionLock>();

  /** The number of locks. */
  get size(): number {
    return this.#locks.size;
  }

  isLocked(sessionId: string): boolean {
    return this.#locks.has(sessionId);
  }

  /** Runs the work when it is this caller's turn. If the call ends before that, the work never runs. */
  async run<T>(sessionId: string, call: Call | undefined, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(sessionId, call);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Waits for this caller's turn. Resolves to a function that ends the turn and must be called once. */
  async acquire(sessionId: string, call?: Call): Promise<() => void> {
    checkCall(call);
    const turn = turnOf(sessionId, call);
    const known = this.#locks.get(turn);
    const lock = known ?? this.#newLock(turn);
    lock.users += 1;
    const release = () => this.#release(turn, lock);
    if (known === undefined) return release;
    const acquired = lock.turns.acquire();
    try {
      await untilCallEnd(acquired, call);
      return release;
    } catch (error) {
      // A place in the queue cannot be given up, so the turn is passed on when it comes.
      void acquired.then(release);
      throw error;
    }
  }

  #newLock(turn: string): SessionLock {
    const lock = { turns: new Semaphore(0), users: 0 };
    this.#locks.set(turn, lock);
    return lock;
  }

  #release(turn: string, lock: SessionLock): void {
    lock.users -= 1;
    if (lock.users === 0) this.#locks.delete(turn);
    else lock.turns.release();
  }
}

/** The name of the turns for which a caller waits: those of the session, by callers with the same access. */
export function turnOf(sessionId: string, call: Call | undefined): string {
  return call?.access === undefined ? sessionId : JSON.stringify([sessionId, call.access]);
}
