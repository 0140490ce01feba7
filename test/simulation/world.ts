import { setImmediate } from "node:timers/promises";
import { DomainError } from "../../src/domain/errors.js";
import { HistoryContext } from "../../src/storage/history/heads.js";
import type { EngineOptions } from "../../src/storage/history/history-options.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { AtomicSimStore } from "./atomic-sim-store.js";
import { SimDatabase } from "./sim-database.js";
import type { StoreKind } from "./sim-run.js";
import { type SimStore, unavailable } from "./sim-store.js";
import type { Steps } from "./steps.js";
import { WeakSimStore } from "./weak-sim-store.js";

/** The minute and the ten minutes that histories use. Only schedules move the clock. */
const MINUTE_MS = 60_000;
export const TEN_MINUTES_MS = 600_000;

const SETTLE_TURNS = 60;
const HANG_TURNS = 600;

interface ProcessOptions extends EngineOptions {
  /** How far its wall clock is ahead. */
  readonly skewMs?: number;
  /** Whether its store reads a session and its newest messages by one request. */
  readonly readsNewest?: boolean;
}

/**
 * A world for schedules written by hand: one database, a clock, and processes whose single store requests can be held
 * up. Everything that is not held up happens at once.
 */
export class World {
  readonly db: SimDatabase;
  nowMs = 10 * TEN_MINUTES_MS;
  readonly #kind: StoreKind;
  #names = 0;

  constructor(kind: StoreKind) {
    this.#kind = kind;
    this.db = new SimDatabase(() => this.nowMs);
  }

  /** Makes a process with its own cache. */
  process(options: ProcessOptions = {}): Process {
    const gates = new Gates();
    const { skewMs = 0, readsNewest = false, ...more } = options;
    const steps: Steps = {
      run: async (name, args, effect) => {
        await gates.pass(name, args);
        if (gates.isDelayed(name, effect)) throw unavailable();
        const answer = effect();
        await gates.pass(`answer of ${name}`, args);
        if (gates.isLost(name)) throw unavailable();
        return answer;
      },
      leave: () => {},
      wallMs: () => this.nowMs + skewMs,
    };
    const store = this.#kind === "atomic" ? new AtomicSimStore(this.db, steps) : this.#weak(steps);
    if (readsNewest) store.withNewest();
    const name = () => `u${String(++this.#names).padStart(4, "0")}`;
    const all: EngineOptions = {
      nowMicros: () => 5,
      clockMs: () => this.nowMs,
      pause: async (ms) => {
        await setImmediate();
        this.nowMs += ms;
      },
      random: () => 0.5,
      newUid: name,
      newMessageId: name,
      editorWaitMs: 4,
      staleMs: MINUTE_MS,
      sweepAgeMs: TEN_MINUTES_MS,
      touchDelayMs: Number.POSITIVE_INFINITY,
      ...more,
    };
    return new Process(store, gates, all);
  }

  /** The record of a living session. */
  record(sessionId: string) {
    const record = this.db.readRecord(sessionId);
    if (!record) throw new Error(`No session ${sessionId}`);
    return record;
  }

  #weak(steps: Steps): WeakSimStore {
    return new WeakSimStore(this.db, steps, { block: 2, wall: 16 }).connect();
  }
}

/** One process of a World. */
export class Process extends LogHistoryProvider {
  readonly simStore: SimStore;
  readonly gates: Gates;
  readonly context: HistoryContext;

  constructor(store: SimStore, gates: Gates, options: EngineOptions) {
    super(store, options);
    this.simStore = store;
    this.gates = gates;
    this.context = new HistoryContext(store, options);
  }

  /** Appends messages that are given by their ids; `id@5` also has a timestamp. */
  say(sessionId: string, ...names: string[]): Promise<string> {
    const messages = names.map((name) => {
      const [id, at] = name.split("@");
      const timestamp = at === undefined ? {} : { timestampMicros: Number(at) };
      return { id: id as string, role: "user", parts: [], ...timestamp };
    });
    return told(this.logMessages(sessionId, messages).then(({ position }) => `at ${position}`));
  }

  /** The ids of the whole history, or the code of the error with which the read failed. */
  ids(sessionId: string): Promise<string> {
    return told(
      this.getSessionMessages(sessionId, { includeAncestors: true }).then((all) => all.map(({ id }) => id).join(" ")),
    );
  }
}

/** Holds up requests by name until they are let through. */
export class Gates {
  readonly #closed = new Map<string, (args: readonly unknown[]) => boolean>();
  readonly #lost = new Set<string>();
  readonly #delayed = new Map<string, (() => unknown) | null>();
  readonly #waiting: { readonly name: string; readonly go: () => void }[] = [];
  /** The closed gates that have held up a request. */
  readonly #reached = new Set<string>();

  /**
   * From now on requests with this name wait; with "answer of name", their answers do. `which` picks requests by their
   * arguments.
   */
  close(name: string, which: (args: readonly unknown[]) => boolean = () => true): void {
    this.#closed.set(name, which);
    this.#reached.delete(name);
  }

  /** The next request with this name is carried out, but its answer never arrives. */
  loseNext(name: string): void {
    this.#lost.add(name);
  }

  /** The next request with this name gets no answer. It is carried out only by `carryOut`. */
  delayNext(name: string): void {
    this.#delayed.set(name, null);
  }

  isDelayed(name: string, effect: () => unknown): boolean {
    if (this.#delayed.get(name) !== null) return false;
    this.#delayed.set(name, effect);
    return true;
  }

  carryOut(name: string): void {
    const effect = this.#delayed.get(name);
    if (!effect) throw new Error(`No ${name} was delayed`);
    effect();
  }

  isLost(name: string): boolean {
    return this.#lost.delete(name);
  }

  /** How many requests with this name wait. */
  waiting(name: string): number {
    return this.#waiting.filter((waiting) => waiting.name === name).length;
  }

  /** Lets the first waiting request with this name through; the gate stays closed. */
  async letOne(name: string): Promise<void> {
    const i = this.#waiting.findIndex((waiting) => waiting.name === name);
    if (i < 0) throw new Error(`No ${name} is waiting`);
    this.#waiting.splice(i, 1)[0]?.go();
    await settle();
  }

  /**
   * Lets all requests with these names through, and opens the gates. Throws when none of the gates has held up a
   * request, because a schedule in which nothing has waited shows nothing.
   */
  async open(...names: readonly string[]): Promise<void> {
    if (!names.some((name) => this.#reached.has(name))) throw new Error(`No ${names.join(" or ")} was held up`);
    for (const name of names) {
      this.#closed.delete(name);
      while (this.waiting(name) > 0) await this.letOne(name);
    }
    await settle();
  }

  async pass(name: string, args: readonly unknown[]): Promise<void> {
    if (!this.#closed.get(name)?.(args)) return;
    this.#reached.add(name);
    await new Promise<void>((go) => this.#waiting.push({ name, go }));
  }
}

/** Waits until nothing runs any more except requests that are held up. */
export async function settle(): Promise<void> {
  for (let i = 0; i < SETTLE_TURNS; i++) await setImmediate();
}

/** The outcome of a call: its answer, the code of its error, or that it never ends. */
export async function told(answer: Promise<unknown>): Promise<string> {
  const hangs = (async () => {
    for (let i = 0; i < HANG_TURNS; i++) await setImmediate();
    return "hangs";
  })();
  const settled = answer.then(
    (value) => (typeof value === "string" ? value : JSON.stringify(value)),
    (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
  );
  return Promise.race([settled, hangs]);
}
