import { setImmediate } from "node:timers/promises";
import { type ClockKind, type ClockWeather, SimClock } from "./clocks.js";
import type { Random } from "./random.js";
import { unavailable } from "./sim-store.js";
import type { Steps } from "./steps.js";

/** How often something goes wrong in the run of one seed. Probabilities are for each step. */
export interface Weather {
  /** The most milliseconds by which the virtual clock advances at a step. */
  readonly tickMs: number;
  /** Large jumps of the virtual clock. */
  readonly leap: number;
  /** The probability that a process stops for one of `stopsMs`. */
  readonly stop: number;
  readonly stopsMs: readonly number[];
  /**
   * The probability that an answer arrives late: after some steps or after one of `stopsMs`, while its process
   * continues or stops.
   */
  readonly lateAnswer: number;
  /** The probability that the answer to the creation of a record arrives late or is lost. */
  readonly lateBirth: number;
  readonly lostBirth: number;
  readonly clocks: ClockWeather;
  /** The probability that a process dies before or after the effect. At most `deaths` of them die. */
  readonly death: number;
  readonly deaths: number;
  /** The probability that an answer is lost. At most `losses` of them are. */
  readonly loss: number;
  readonly losses: number;
}

/** One simulated process with its own clocks. It may stop, and it may die. */
export class SimProcess {
  readonly name: string;
  readonly steady: SimClock;
  readonly wall: SimClock;
  readonly died: Promise<"died">;
  dead = false;
  /** The process sleeps until this virtual moment. */
  untilMs = 0;
  /** How often the process gets a turn, compared with others. */
  weight = 1;
  #tellDeath: (word: "died") => void = () => {};

  constructor(name: string, steady: SimClock, wall: SimClock) {
    this.name = name;
    this.steady = steady;
    this.wall = wall;
    this.died = new Promise((resolve) => {
      this.#tellDeath = resolve;
    });
  }

  kill(): void {
    this.dead = true;
    this.#tellDeath("died");
  }
}

interface Pending {
  /** Null: the database does this work by itself. */
  readonly process: SimProcess | null;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly atMs: number;
  /** Absent: only time passes. */
  readonly effect?: (() => unknown) | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_STEPS = 20_000;
const MAX_IDLE_TURNS = 10;
const WEIGHTS = [1, 1, 0.3, 0.02, 0.003];

/** Carries out the requests of all processes one by one on a virtual clock. A seed decides their order and times. */
export class Scheduler {
  readonly trace: string[] | null;
  nowMs = 1;
  steps = 0;
  deaths = 0;
  losses = 0;
  readonly #random: Random;
  readonly #weather: Weather;
  readonly #pending: Pending[] = [];
  readonly #clocks: SimClock[] = [];
  readonly #deadlines = new Set<{ readonly atMs: number; readonly miss: () => void }>();

  constructor(random: Random, weather: Weather, trace: boolean) {
    this.#random = random;
    this.#weather = weather;
    this.trace = trace ? [] : null;
  }

  /** A clock that goes wrong as the weather of this run says. */
  clock(kind: ClockKind, offsetMs: number): SimClock {
    const clock = new SimClock(kind, () => this.nowMs, offsetMs);
    this.#clocks.push(clock);
    return clock;
  }

  spawn(name: string, skewMs: number): SimProcess {
    const process = new SimProcess(name, this.clock("steady", this.#random.int(1_000_000)), this.clock("wall", skewMs));
    process.weight = this.#random.pick(WEIGHTS);
    return process;
  }

  stepsOf(process: SimProcess): Steps {
    return {
      run: <T>(name: string, args: readonly unknown[], effect: () => T) =>
        new Promise<T>((resolve, reject) => {
          const settle = resolve as (value: unknown) => void;
          this.#pending.push({ process, name, args, atMs: 0, effect, resolve: settle, reject });
        }),
      leave: (effects) => this.#leave(effects),
      wallMs: () => process.wall.read(),
    };
  }

  /** Resolves when this time has passed for the process, or the signal was aborted. */
  pause(process: SimProcess, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const waiting = { process, name: "pause", args: [ms], atMs: this.nowMs + ms, resolve: done, reject: done };
      const leave = (): void => {
        const place = this.#pending.indexOf(waiting);
        if (place >= 0) this.#pending.splice(place, 1);
        done();
      };
      if (signal?.aborted) return resolve();
      this.#pending.push(waiting);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Calls `work` when this time has passed for the process, unless it is canceled before. */
  startTimer(process: SimProcess, ms: number, work: () => void): () => void {
    const canceling = new AbortController();
    void this.pause(process, ms, canceling.signal).then(() => {
      if (!canceling.signal.aborted) work();
    });
    return () => canceling.abort();
  }

  /**
   * Calls `miss` before the first step after this time, unless it is canceled before. Unlike a timer it does not make
   * time pass: a call that waits for nothing is still found to be stuck.
   */
  setDeadline(ms: number, miss: () => void): () => void {
    const deadline = { atMs: this.nowMs + ms, miss };
    this.#deadlines.add(deadline);
    return () => this.#deadlines.delete(deadline);
  }

  /** Runs until `done` returns true. `onDeath` replaces a process that has died. */
  async run(done: () => boolean, onDeath: (process: SimProcess) => void): Promise<void> {
    for (let idle = 0; ; ) {
      await setImmediate();
      if (done()) return;
      this.#missDeadlines();
      if (this.#pending.length === 0) {
        // A process may yield to others for one or a few turns of the event loop.
        if (++idle > MAX_IDLE_TURNS) throw new Error("Stuck: nobody waits for anything, and not all are done");
        continue;
      }
      idle = 0;
      if (++this.steps > MAX_STEPS) throw new Error(`No end after ${MAX_STEPS} steps`);
      this.#passTime();
      const died = this.#step(this.#choose());
      if (died) onDeath(died);
    }
  }

  #missDeadlines(): void {
    for (const deadline of this.#deadlines) {
      if (deadline.atMs > this.nowMs) continue;
      this.#deadlines.delete(deadline);
      deadline.miss();
    }
  }

  #passTime(): void {
    const { tickMs, leap, stopsMs } = this.#weather;
    if (tickMs > 0) this.nowMs += this.#random.int(tickMs + 1);
    if (this.#random.chance(leap)) this.nowMs += this.#random.pick(stopsMs);
    const { clocks } = this.#weather;
    if (this.#random.chance(clocks.fault)) this.#random.pick(this.#clocks).fail(this.#random, clocks);
  }

  #choose(): Pending {
    const readyAt = (p: Pending): number => Math.max(p.atMs, p.process?.untilMs ?? 0);
    let ready = this.#pending.filter((p) => readyAt(p) <= this.nowMs);
    if (ready.length === 0) {
      this.nowMs = Math.min(...this.#pending.map(readyAt));
      ready = this.#pending.filter((p) => readyAt(p) <= this.nowMs);
    }
    const weights = ready.map((p) => p.process?.weight ?? 0.3);
    let place = this.#random.next() * weights.reduce((sum, w) => sum + w, 0);
    let i = 0;
    while (i < ready.length - 1 && place > (weights[i] as number)) place -= weights[i++] as number;
    const chosen = ready[i] as Pending;
    this.#pending.splice(this.#pending.indexOf(chosen), 1);
    return chosen;
  }

  /** Returns the process that died at this step. */
  #step(p: Pending): SimProcess | null {
    const { process } = p;
    const random = this.#random;
    const weather = this.#weather;
    if (!process) {
      p.effect?.();
      this.#note(p, "by itself");
      return null;
    }
    if (process.dead) return null;
    if (random.chance(0.02)) process.weight = random.pick(WEIGHTS);
    if (random.chance(weather.stop)) {
      this.#stop(process);
      this.#pending.push(p);
      return null;
    }
    if (this.deaths < weather.deaths && random.chance(weather.death)) return this.#die(process, p);
    if (!p.effect) {
      p.resolve(undefined);
      return null;
    }
    const loss = p.name === "createRecord" ? weather.lostBirth : weather.loss;
    if (this.losses < weather.losses && random.chance(loss)) {
      this.#lose(p, p.effect);
      return null;
    }
    const value = p.effect();
    this.#note(p, value);
    if (random.chance(p.name === "createRecord" ? weather.lateBirth : weather.lateAnswer))
      this.#answerLater(process, p, value);
    else p.resolve(value);
    return null;
  }

  /** When a machine is suspended, the steady clock stops together with the process. */
  #stop(process: SimProcess): void {
    const { stopsMs, clocks } = this.#weather;
    process.untilMs = this.nowMs + this.#random.pick(stopsMs);
    if (this.#random.chance(clocks.suspended)) process.steady.standUntil(process.untilMs);
  }

  #answerLater(process: SimProcess, p: Pending, value: unknown): void {
    const how = this.#random.pick(["some steps", "long", "long", "process stops"] as const);
    if (how === "process stops") this.#stop(process);
    const atMs = how === "long" ? this.nowMs + this.#random.pick(this.#weather.stopsMs) : 0;
    this.#pending.push({ ...p, name: "answer", atMs, effect: undefined, resolve: () => p.resolve(value) });
  }

  #die(process: SimProcess, p: Pending): SimProcess {
    const happens = p.effect !== undefined && this.#random.chance(0.5);
    const value = happens ? p.effect?.() : undefined;
    this.deaths++;
    process.kill();
    this.#note(p, happens ? value : "not done", "DIED");
    return process;
  }

  /** The effect happens now, later or never, and the process does not learn which. */
  #lose(p: Pending, effect: () => unknown): void {
    this.losses++;
    const when = this.#random.pick(["now", "later", "never"] as const);
    const value = when === "now" ? effect() : undefined;
    this.#note(p, value, `LOST, done ${when}`);
    if (when === "later") this.#byItself(p.name, p.args, effect, this.nowMs + this.#random.pick([0, 0, 20, 200]));
    p.reject(unavailable());
  }

  #leave(effects: readonly (() => boolean)[]): void {
    const [first, ...rest] = effects;
    if (!first || this.#random.chance(0.5)) return;
    const effect = (): void => {
      if (first()) this.#leave(rest);
    };
    this.#byItself("left over", [], effect, this.nowMs + this.#random.pick([0, 0, 20, 200]));
  }

  #byItself(name: string, args: readonly unknown[], effect: () => unknown, atMs = 0): void {
    const nothing = (): void => {};
    this.#pending.push({ process: null, name, args, atMs, effect, resolve: nothing, reject: nothing });
  }

  #note(p: Pending, value: unknown, mark = ""): void {
    if (!this.trace) return;
    const who = p.process?.name ?? "-";
    this.trace.push(`${this.nowMs} ${who} ${p.name} ${short(p.args, 400)} -> ${short(value, 300)} ${mark}`.trimEnd());
  }
}

function short(value: unknown, length: number): string {
  return (JSON.stringify(value) ?? "").slice(0, length);
}
