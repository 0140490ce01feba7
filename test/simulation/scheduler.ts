import { setImmediate } from "node:timers/promises";
import type { Random } from "./random.js";
import { unavailable } from "./sim-store.js";
import type { Steps } from "./steps.js";

/** How rough the world of one seed is. Probabilities are for each step. */
export interface Weather {
  /** Most milliseconds that the virtual clock goes on at a step. */
  readonly tickMs: number;
  /** Leaps of the clock. */
  readonly leap: number;
  /** A process stops for one of `stopsMs`. */
  readonly stop: number;
  readonly stopsMs: readonly number[];
  /** An answer arrives late. */
  readonly lateAnswer: number;
  /** A process dies, before or after the effect; `deaths` at most. */
  readonly death: number;
  readonly deaths: number;
  /** An answer is lost; `losses` at most. */
  readonly loss: number;
  readonly losses: number;
}

/** One simulated process: it may stop, and it may die. */
export class SimProcess {
  readonly name: string;
  readonly skewMs: number;
  readonly died: Promise<"died">;
  dead = false;
  /** Sleeps until this virtual moment. */
  untilMs = 0;
  /** How often it gets its turn, compared with others. */
  weight = 1;
  #tellDeath: (word: "died") => void = () => {};

  constructor(name: string, skewMs: number) {
    this.name = name;
    this.skewMs = skewMs;
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
  /** Null: the database goes on by itself. */
  readonly process: SimProcess | null;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly atMs: number;
  /** Absent: nothing but time passes. */
  readonly effect?: (() => unknown) | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_STEPS = 20_000;
const MAX_IDLE_TURNS = 10;
const WEIGHTS = [1, 1, 0.3, 0.02, 0.003];

/** Carries out the requests of all processes one by one, in an order and at times that a seed decides, on a virtual clock. */
export class Scheduler {
  readonly trace: string[] | null;
  nowMs = 1;
  steps = 0;
  deaths = 0;
  losses = 0;
  readonly #random: Random;
  readonly #weather: Weather;
  readonly #pending: Pending[] = [];

  constructor(random: Random, weather: Weather, trace: boolean) {
    this.#random = random;
    this.#weather = weather;
    this.trace = trace ? [] : null;
  }

  spawn(name: string, skewMs: number): SimProcess {
    const process = new SimProcess(name, skewMs);
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
      wallMs: () => this.nowMs + process.skewMs,
    };
  }

  /** Resolves when this time has passed for the process, or the signal was aborted. */
  pause(process: SimProcess, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener("abort", done);
        resolve();
      };
      this.#pending.push({ process, name: "pause", args: [ms], atMs: this.nowMs + ms, resolve: done, reject: done });
      signal?.addEventListener("abort", done, { once: true });
    });
  }

  /** Goes on until `done` says so; `onDeath` puts another process in the place of one that died. */
  async run(done: () => boolean, onDeath: (process: SimProcess) => void): Promise<void> {
    for (let idle = 0; ; ) {
      await setImmediate();
      if (done()) return;
      if (this.#pending.length === 0) {
        // A process may give way to others for a turn of the event loop, or a few.
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

  #passTime(): void {
    const { tickMs, leap, stopsMs } = this.#weather;
    if (tickMs > 0) this.nowMs += this.#random.int(tickMs + 1);
    if (this.#random.chance(leap)) this.nowMs += this.#random.pick(stopsMs);
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

  /** Answers the process that died at this step. */
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
      process.untilMs = this.nowMs + random.pick(weather.stopsMs);
      this.#pending.push(p);
      return null;
    }
    if (this.deaths < weather.deaths && random.chance(weather.death)) return this.#die(process, p);
    if (!p.effect) {
      p.resolve(undefined);
      return null;
    }
    if (this.losses < weather.losses && random.chance(weather.loss)) {
      this.#lose(p, p.effect);
      return null;
    }
    const value = p.effect();
    this.#note(p, value);
    if (random.chance(weather.lateAnswer)) {
      this.#pending.push({ ...p, name: "answer", effect: undefined, resolve: () => p.resolve(value) });
    } else p.resolve(value);
    return null;
  }

  #die(process: SimProcess, p: Pending): SimProcess {
    const happens = p.effect !== undefined && this.#random.chance(0.5);
    const value = happens ? p.effect?.() : undefined;
    this.deaths++;
    process.kill();
    this.#note(p, happens ? value : "not done", "DIED");
    return process;
  }

  /** The effect happens now, later, or never; the process learns nothing. */
  #lose(p: Pending, effect: () => unknown): void {
    this.losses++;
    const when = this.#random.pick(["now", "later", "never"] as const);
    const value = when === "now" ? effect() : undefined;
    this.#note(p, value, `LOST, done ${when}`);
    if (when === "later") this.#byItself(p.name, p.args, effect);
    p.reject(unavailable());
  }

  #leave(effects: readonly (() => boolean)[]): void {
    const [first, ...rest] = effects;
    if (!first || this.#random.chance(0.5)) return;
    this.#byItself("left over", [], () => {
      if (first()) this.#leave(rest);
    });
  }

  #byItself(name: string, args: readonly unknown[], effect: () => unknown): void {
    const nothing = (): void => {};
    this.#pending.push({ process: null, name, args, atMs: 0, effect, resolve: nothing, reject: nothing });
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
