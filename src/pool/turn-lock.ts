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

/** A fair lock for each session that is being changed. An idle session has no lock. */
export class TurnLock {
  readonly #locks = new Map<string, SessionLock>();

  /** The number of sessions that are being changed. */
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
    const known = this.#locks.get(sessionId);
    const lock = known ?? this.#newLock(sessionId);
    lock.users += 1;
    const release = () => this.#release(sessionId, lock);
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

  #newLock(sessionId: string): SessionLock {
    const lock = { turns: new Semaphore(0), users: 0 };
    this.#locks.set(sessionId, lock);
    return lock;
  }

  #release(sessionId: string, lock: SessionLock): void {
    lock.users -= 1;
    if (lock.users === 0) this.#locks.delete(sessionId);
    else lock.turns.release();
  }
}
