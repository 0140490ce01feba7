import { describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { callOf, KINDS, prepare, type RivalTask, shownBy } from "../fault/rival-calls.js";
import { AtomicSimStore } from "./atomic-sim-store.js";
import { seededRandom } from "./random.js";
import { SimDatabase } from "./sim-database.js";
import type { StoreKind } from "./sim-run.js";
import type { Steps } from "./steps.js";
import { VirtualTime } from "./virtual-time.js";
import { WeakSimStore } from "./weak-sim-store.js";

const NOW_MICROS = 1_800_000_000_000_000;
/** How long a request to the store takes at most, in virtual milliseconds. */
const LATENCY_MS = 6;
/** How long any call may take, in virtual milliseconds. A call that starves never ends, and takes any time. */
const MOST_MS = 10_000;
const ROUNDS = 4;

/** Several processes on one database, each with latencies of its own. */
class Rivals {
  readonly time = new VirtualTime();
  readonly #random;
  readonly #kind: StoreKind;
  readonly #db = new SimDatabase(() => this.time.nowMs);
  #names = 0;
  #latencyMs = 0;

  constructor(seed: number, kind: StoreKind) {
    this.#random = seededRandom(seed);
    this.#kind = kind;
  }

  process(): LogHistoryProvider {
    const { time } = this;
    const steps: Steps = {
      run: async (name, _args, effect) => {
        // The entries of a batch go to the store in one request.
        const latencyMs = name === "insert" ? this.#latencyMs / 10 : this.#latencyMs;
        await time.sleep(this.#random.next() * latencyMs);
        const answer = effect();
        await time.sleep(this.#random.next() * latencyMs);
        return answer;
      },
      leave: () => {},
      wallMs: () => time.nowMs,
    };
    const isAtomic = this.#kind === "atomic";
    const store = isAtomic
      ? new AtomicSimStore(this.#db, steps)
      : new WeakSimStore(this.#db, steps, { block: 2, wall: 16 }).connect();
    const name = () => `u${String(++this.#names).padStart(5, "0")}`;
    return new LogHistoryProvider(store, {
      nowMicros: () => NOW_MICROS,
      clockMs: () => time.nowMs,
      pause: (ms) => time.sleep(ms),
      startTimer: () => () => {},
      random: () => this.#random.next(),
      newUid: name,
      newMessageId: name,
      touchDelayMs: Number.POSITIVE_INFINITY,
      maxSegments: 32,
      chunk: 10,
    });
  }

  /** Runs one process for each task. Resolves to the longest time that a call has taken, and what the session shows. */
  async run(tasks: readonly RivalTask[]) {
    const quiet = this.process();
    const expected = await this.time.run(prepare(quiet, tasks));
    this.#latencyMs = LATENCY_MS / 2;
    let longestMs = 0;
    const work = tasks.map(async (task) => {
      const provider = this.process();
      for (let round = 0; round < task.rounds; round++) {
        const sinceMs = this.time.nowMs;
        await callOf(provider, { ...task, round }, {});
        longestMs = Math.max(longestMs, this.time.nowMs - sinceMs);
      }
    });
    await this.time.run(Promise.all(work));
    this.#latencyMs = 0;
    return { longestMs, expected, shown: await this.time.run(shownBy(this.process())) };
  }
}

async function expectNoneStarves(kind: StoreKind, seed: number, tasks: readonly RivalTask[]): Promise<void> {
  const { longestMs, expected, shown } = await new Rivals(seed, kind).run(tasks);
  expect(longestMs, `seed ${seed}`).toBeLessThan(MOST_MS);
  const { ids, times, texts } = shown;
  expect(ids).toHaveLength(expected.size);
  expect(new Map(ids.map((id, i) => [id, texts[i]]))).toEqual(new Map(expected));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
}

const tasksOf = (kind: string, writers: number): RivalTask[] =>
  Array.from({ length: writers }, (_, writer) => ({ kind, writer, rounds: ROUNDS, size: 25 }));

const CASES = (["atomic", "weak"] as const).flatMap((store) => [2, 4, 8].map((writers) => [writers, store] as const));

describe.each(CASES)("%i processes that change one session on the %s store", (writers, store) => {
  it.each(KINDS)("are all answered before long: %s", async (kind) => {
    for (let seed = 1; seed <= 2; seed++) await expectNoneStarves(store, seed, tasksOf(kind, writers));
  });
});

describe.each(["atomic", "weak"] as const)(
  "processes of all kinds that change one session on the %s store",
  (store) => {
    it.each([1, 2])("are all answered before long, %i of each kind", async (each) => {
      for (let seed = 1; seed <= 2; seed++) {
        await expectNoneStarves(
          store,
          seed,
          KINDS.flatMap((kind) => tasksOf(kind, each)),
        );
      }
    });
  },
);
