/**
 * Lets a fixed number of tasks run at a time. When one ends, the task that has waited longest begins. A task that is no
 * longer wanted leaves the queue at once, unlike one that waits for a Semaphore of async-mutex: a client that begins
 * and cancels calls would otherwise fill the memory.
 */
export class TaskLimit {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Runs a task as soon as fewer than the limit are running. Returns a function that must be called once, when the task
   * has ended or is no longer wanted.
   */
  start(run: () => void): () => void {
    if (this.#running < this.#limit) {
      this.#running += 1;
      // Not run at once, because the task may end itself by the function that is returned here.
      queueMicrotask(run);
    } else {
      this.#waiting.add(run);
    }
    return () => {
      if (!this.#waiting.delete(run)) this.#next();
    };
  }

  /**
   * Waits for the next iteration of the event loop first, so that calls which one client sent all at once are not also
   * answered all at once.
   */
  #next(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    setImmediate(next);
  }
}
