import type { Usage } from "./log-store.js";

/** How old what was read may be, far from the limit and near it. */
const FRESH_MS = 10_000;
const FRESH_NEAR_LIMIT_MS = 1000;
/** From which share of the limit on a use counts as near it. */
const NEAR = 0.9;
/** Reading may take one part of this many of the time, however many are refused. */
const READ_SHARE = 20;

type Kind = "sessions" | "bytes";

interface Reading extends Usage {
  readonly begunMs: number;
  readonly tookMs: number;
  /** How many sessions were made while it was read, which may be in it or not. */
  readonly doubtful: number;
}

/** What an owner, a key or a namespace uses: as it was read last, and what this process has added since. */
export class QuotaUse {
  readonly #clockMs: () => number;
  readonly #readUsage: () => Promise<Usage>;
  #last: Reading | null = null;
  #reading: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  /** What was added since the last reading began. A part of it may be in the reading, too. */
  readonly #added = { sessions: 0, bytes: 0 };
  #isLess = false;
  /** Sessions that are being made now. */
  readonly #making = new Set<Promise<void>>();

  constructor(clockMs: () => number, readUsage: () => Promise<Usage>) {
    this.#clockMs = clockMs;
    this.#readUsage = readUsage;
  }

  get isMaking(): boolean {
    return this.#making.size > 0;
  }

  /** Counts a session from now on, unless it turns out not to be made. */
  countWhile(making: Promise<boolean>): void {
    const settled = making
      // After an error, it may have been made.
      .catch(() => true)
      .then((isMade) => {
        this.#making.delete(settled);
        if (isMade) this.#added.sessions++;
      });
    this.#making.add(settled);
  }

  addBytes(bytes: number): void {
    this.#added.bytes += bytes;
  }

  /** Has the use read again before anything is refused, because it has become less. */
  expectLess(): void {
    this.#isLess = true;
  }

  /** Whether there is room, by what is known; false also when that is too old. */
  hasRoom(kind: Kind, more: number, limit = Number.POSITIVE_INFINITY, nowMs = this.#clockMs()): boolean {
    const last = this.#last;
    if (last === null) return false;
    const used = this.#usedOf(kind, last) + more;
    if (used > limit) return false;
    const freshMs = used > NEAR * limit ? FRESH_NEAR_LIMIT_MS : FRESH_MS;
    return nowMs - last.begunMs <= Math.max(freshMs, pauseAfter(last));
  }

  /** Whether there is room, by a reading that began after this call unless readings take long. */
  async findRoom(kind: Kind, more: number, limit?: number): Promise<boolean> {
    for (;;) {
      if (this.hasRoom(kind, more, limit)) return true;
      if (!this.#isPausing() || this.#isDoubtful(kind)) await this.#readAnew();
      if (this.hasRoom(kind, more, limit)) return true;
      // What is being made may turn out to exist already.
      if (kind === "sessions" && this.#making.size > 0) await Promise.race(this.#making);
      else if (!this.#isDoubtful(kind)) return false;
    }
  }

  #usedOf(kind: Kind, last: Reading): number {
    const used = last[kind] + this.#added[kind];
    return kind === "sessions" ? used + this.#making.size : used;
  }

  #isPausing(): boolean {
    if (this.#last === null || this.#isLess) return false;
    return this.#clockMs() - this.#last.begunMs < pauseAfter(this.#last);
  }

  #isDoubtful(kind: Kind): boolean {
    return kind === "sessions" && this.#last !== null && this.#last.doubtful > 0;
  }

  /** Resolves after a reading that began after this call. Those who call during one share the next. */
  #readAnew(): Promise<void> {
    if (this.#reading === null) return this.#begin();
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.#reading ?? this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<void> {
    const reading = this.#read().finally(() => {
      if (this.#reading === reading) this.#reading = null;
    });
    this.#reading = reading;
    return reading;
  }

  async #read(): Promise<void> {
    const begunMs = this.#clockMs();
    const { sessions, bytes } = this.#added;
    this.#isLess = false;
    const usage = await this.#readUsage();
    // What had been added when the reading began is in it.
    this.#added.sessions -= sessions;
    this.#added.bytes -= bytes;
    this.#last = { ...usage, begunMs, tookMs: this.#clockMs() - begunMs, doubtful: this.#added.sessions };
  }
}

/** How long after the beginning of a reading no other one begins. */
function pauseAfter({ tookMs }: Reading): number {
  return READ_SHARE * tookMs;
}
