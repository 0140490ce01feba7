import { Child, type Served } from "../support/child.js";
import { type ChaosSizes, PROCESSES, runChaos } from "./chaos.js";
import { Fleet } from "./chaos-fleet.js";

/**
 * Runs services on one database, lets clients work on them while `disturb` causes faults, and checks what is stored.
 */
export async function runServices(
  storage: string,
  sizes: ChaosSizes,
  disturb: (fleet: Fleet<Served>, seed: number) => Promise<void>,
): ReturnType<typeof runChaos> {
  const seed = Number(process.env.SEED) || Date.now() % 100_000;
  console.info(`chaos: SEED=${seed}`);
  const children: Child[] = [];
  const fleet = new Fleet(async () => {
    const served = await Child.serve("--storage", storage, "--log-level", "error");
    children.push(served.child);
    return served;
  });
  try {
    await fleet.start(PROCESSES);
    return await runChaos(fleet, sizes, seed, () => disturb(fleet, seed));
  } catch (error) {
    // A service may write its log of a call after the answer, so each service must end before its log is read.
    for (const child of children) child.kill("SIGTERM");
    await Promise.all(children.map((child) => child.ended()));
    for (const { stderr } of children) if (stderr !== "") console.error("A service has logged:", stderr.slice(-10_000));
    throw error;
  } finally {
    await fleet.stop();
  }
}
