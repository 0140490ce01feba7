import { setImmediate } from "node:timers/promises";

const IDLE_TURNS = 20;

/** A clock that moves on to the next moment at which somebody wants to continue, once nobody has anything to do. */
export class VirtualTime {
  nowMs = 0;
  readonly #waiting: { readonly atMs: number; readonly resume: () => void }[] = [];

  sleep(ms: number): Promise<void> {
    return new Promise((resume) => this.#waiting.push({ atMs: this.nowMs + ms, resume }));
  }

  /** Resolves with the work's result. Rejects when nobody waits for anything and the work has not ended. */
  async run<T>(work: Promise<T>): Promise<T> {
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
    };
    work.then(end, end);
    for (let idle = 0; !hasEnded; ) {
      await setImmediate();
      const next = this.#waiting.sort((a, b) => a.atMs - b.atMs).shift();
      if (!next && ++idle > IDLE_TURNS) throw new Error("Nobody waits for anything, and the work has not ended");
      if (!next) continue;
      idle = 0;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.resume();
    }
    return work;
  }
}
