import type { Call } from "../../domain/call.js";
import { pause } from "./pause.js";

/** Texts that the processes of a store share, by name, as `LogDatabase` keeps them. */
export interface Registers {
  read(name: string, call?: Call): Promise<{ readonly text: string; readonly revision: number } | null>;
  replace(name: string, text: string, ifRevision: number, call?: Call): Promise<boolean>;
}

/** How often the lease is renewed, or looked at by those that do not hold it. */
const RENEW_MS = 3000;
/** After how long without a renewal others take the lease. */
const EXPIRE_MS = 15_000;
const RELEASED = "";

export interface LeaseTimes {
  readonly renewMs: number;
  readonly expireMs: number;
}

export interface LeaseOptions {
  readonly registers: Registers;
  /** The name of its register. */
  readonly name: string;
  /** Names this process, and no other one. */
  readonly holder: string;
  /** Is told why the lease could not be read or renewed. */
  readonly onFailure: (error: unknown) => void;
  readonly times?: LeaseTimes | undefined;
}

/**
 * Lets one of several processes work at a time. The one that holds the lease replaces its register every few seconds.
 * Another one takes it when the register has stayed the same for a while by its own steady clock, so that the clocks of
 * two machines are never compared. A process that was suspended may go on working for a moment after it has lost the
 * lease, so what it does must be safe even then.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #times: LeaseTimes;
  /** The register of another holder, and when it was first seen like this. */
  #seen = { revision: 0, sinceMs: 0 };

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#times = options.times ?? { renewMs: RENEW_MS, expireMs: EXPIRE_MS };
  }

  /**
   * Runs `work` whenever this process holds the lease, until `stopping` is aborted. `work` must end soon after
   * `stopping`, and after its own signal, which says that the lease is lost. Resolves once `work` has ended and the
   * lease is free for others.
   */
  async run(work: (lost: AbortSignal) => Promise<void>, stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const revision = await this.#tried(this.#take());
      if (revision !== undefined) await this.#hold(revision, work);
      else await pause(this.#times.renewMs, stopping);
    }
  }

  /** Resolves to the revision of the register if the lease could be taken, and otherwise to undefined. */
  async #take(): Promise<number | undefined> {
    const { registers, name, holder } = this.#options;
    const { text, revision } = (await registers.read(name, this.#call())) ?? { text: RELEASED, revision: 0 };
    // It may be this process's own, taken by a replacement whose answer was lost.
    const isFree = text === RELEASED || text === holder || this.#hasExpired(revision);
    if (!isFree || !(await registers.replace(name, holder, revision, this.#call()))) return undefined;
    return revision + 1;
  }

  #hasExpired(revision: number): boolean {
    const nowMs = performance.now();
    if (revision !== this.#seen.revision) this.#seen = { revision, sinceMs: nowMs };
    return nowMs - this.#seen.sinceMs >= this.#times.expireMs;
  }

  async #hold(taken: number, work: (lost: AbortSignal) => Promise<void>): Promise<void> {
    const lost = new AbortController();
    const ended = new AbortController();
    const expiry = setTimeout(() => lost.abort(), this.#times.expireMs).unref();
    const working = work(lost.signal).finally(() => ended.abort());
    const over = AbortSignal.any([lost.signal, ended.signal]);
    let revision = taken;
    for (;;) {
      await pause(this.#times.renewMs, over);
      if (over.aborted) break;
      const renewed = await this.#tried(this.#renew(revision));
      if (renewed === null) lost.abort();
      if (typeof renewed !== "number") continue;
      revision = renewed;
      expiry.refresh();
    }
    clearTimeout(expiry);
    await working;
    if (!lost.signal.aborted) await this.#tried(this.#release(revision));
  }

  /** Resolves to the new revision; null when another process has the lease. */
  async #renew(revision: number): Promise<number | null> {
    const { registers, name, holder } = this.#options;
    if (await registers.replace(name, holder, revision, this.#call())) return revision + 1;
    // An earlier renewal may have been stored although its answer was lost.
    const found = await registers.read(name, this.#call());
    return found?.text === holder ? found.revision : null;
  }

  async #release(revision: number): Promise<void> {
    const { registers, name } = this.#options;
    await registers.replace(name, RELEASED, revision, this.#call());
  }

  /** Resolves to undefined after a failure, which is reported. */
  async #tried<T>(attempt: Promise<T>): Promise<T | undefined> {
    try {
      return await attempt;
    } catch (error) {
      this.#options.onFailure(error);
      return undefined;
    }
  }

  /** A store that does not answer must not keep the lease from being tried again. */
  #call(): Call {
    return { deadlineMs: Date.now() + this.#times.renewMs };
  }
}
