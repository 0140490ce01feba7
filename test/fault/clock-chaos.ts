import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type Random, seededRandom } from "../simulation/random.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { type ChaosSizes, PROCESSES, runChaos } from "./chaos.js";
import { Fleet } from "./chaos-fleet.js";
import { type Ages, bundleClockChild, ClockService } from "./clock-service.js";

export interface ClockChaosSizes extends ChaosSizes, Ages {
  readonly durationMs: number;
  /** The longest time of undisturbed work between two faults. */
  readonly restMs: number;
  /** How long processes are frozen. Some of these times are longer than `sweepAgeMs`. */
  readonly freezesMs: readonly number[];
}

const MINUTE_MS = 60_000;
const JUMPS_MS = [2, 11, 60, 300].map((minutes) => minutes * MINUTE_MS);

/**
 * Runs several services on one database with clocks that jump, freeze and disagree. Each is also frozen for longer than
 * the age at which a sweep removes what it has marked.
 */
export function describeClockChaos(kind: "sqlite" | "mongodb" | "postgresql", sizes: ClockChaosSizes): void {
  describe(`services on ${kind} whose clocks disagree, ${sizes.durationMs / 1000} s`, async () => {
    const mongo = kind === "mongodb" ? await startMongoServer() : null;
    const postgres = kind === "postgresql" ? await startPostgresServer({ fast: true }) : null;
    const server = mongo ?? postgres;
    const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
    let bundle: Awaited<ReturnType<typeof bundleClockChild>>;
    beforeAll(async () => {
      bundle = await bundleClockChild();
    });
    afterAll(async () => {
      bundle.remove();
      rmSync(folder, { recursive: true });
      await server?.stop();
    });

    const timeout = 2 * sizes.durationMs + 1_200_000;
    it.skipIf(kind !== "sqlite" && !server)("neither lose, double nor move messages", { timeout }, async () => {
      const seed = Number(process.env.SEED) || Date.now() % 100_000;
      console.info(`clock chaos on ${kind}: SEED=${seed}`);
      const file = `sqlite:${join(folder, "chaos.db")}`;
      const storage = (mongo && freshDatabaseUrl(mongo)) ?? (postgres && freshSchemaUrl(postgres)) ?? file;
      const fleet = new Fleet(() => ClockService.start(bundle.script, storage, sizes));
      try {
        await fleet.start(PROCESSES);
        await runChaos(fleet, sizes, seed, () => disturb(fleet, seededRandom(seed), sizes));
      } finally {
        await fleet.stop();
      }
    });
  });
}

/**
 * Picks a process at random, again and again, and kills it, freezes it, suspends it as with its machine, or changes its
 * clocks.
 */
async function disturb(fleet: Fleet<ClockService>, random: Random, sizes: ClockChaosSizes): Promise<void> {
  const counts = new Map<string, number>();
  const endMs = performance.now() + sizes.durationMs;
  while (performance.now() < endMs) {
    await sleep(sizes.restMs * random.next());
    const index = random.int(PROCESSES);
    const fault = random.pick(["kill", "stop", "suspend", "wall", "wall", "still"] as const);
    counts.set(fault, (counts.get(fault) ?? 0) + 1);
    await FAULTS[fault](fleet, index, random, sizes);
  }
  console.info(`clock chaos: ${[...counts].map(([fault, count]) => `${fault} ${count}`).join(", ")}`);
}

type Fault = (fleet: Fleet<ClockService>, index: number, random: Random, sizes: ClockChaosSizes) => Promise<void>;

const FAULTS: Record<"kill" | "stop" | "suspend" | "wall" | "still", Fault> = {
  kill: (fleet, index) => fleet.killAndRestart(index),
  stop: (fleet, index, random, { freezesMs }) => fleet.freeze(index, random.pick(freezesMs)),
  /** Freezes a process like a suspended machine, so that its steady clock does not count that time. */
  suspend: async (fleet, index, random, { freezesMs }) => {
    const service = fleet.at(index);
    const ms = random.pick(freezesMs);
    service.child.kill("SIGSTOP");
    await sleep(ms);
    // The process reads the shift before the calls that waited for it to continue, or shortly after them.
    service.shift({ wallMs: 0, steadyMs: -ms });
    service.child.kill("SIGCONT");
  },
  wall: async (fleet, index, random) => {
    const ms = random.pick(JUMPS_MS);
    fleet.at(index).shift({ wallMs: random.chance(0.5) ? ms : -ms, steadyMs: 0 });
  },
  /** Sets the steady clock back as if it had stood still for about as long as a sweep waits. */
  still: async (fleet, index, random, { sweepAgeMs }) => {
    const ms = sweepAgeMs * (0.5 + random.next());
    await sleep(ms);
    fleet.at(index).shift({ wallMs: 0, steadyMs: -ms });
  },
};
