import { Semaphore } from "async-mutex";
import type { Call } from "../domain/call.js";
import { checkCall } from "../domain/call.js";
import { untilCallEnd } from "./call-end.js";

interface SessionLock {
  /** Begins with none: who makes the lock has its turn. */
  readonly turns: Semaphore;
  /** Who holds it or waits for it. */
  users: number;
}

/** One fair lock for each session that is being changed; an idle session has none. */
export class TurnLock {
  readonly #locks = new Map<string, SessionLock>();

  /** Number of sessions that are being changed. */
  get size(): number {
    return this.#locks.size;
  }

  isLocked(sessionId: string): boolean {
    return this.#locks.has(sessionId);
  }

  /** Does the work when it is this caller's turn. Waiting ends with the call, and then the work is not done. */
  async run<T>(sessionId: string, call: Call | undefined, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(sessionId, call);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves when it is this caller's turn, to the function that ends the turn: call it once. */
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
      // Its place in the queue cannot be taken back: the turn is passed on when it comes.
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
