import { spawnSync } from "node:child_process";
import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { startWorkers } from "../../../src/commands/workers.js";
import { TestLogger } from "../../support/test-logger.js";

const STARTED = { kind: "started", startLine: "ready", grpcPort: 1, httpPort: 2 };
/** Stopping takes milliseconds. When it takes this long, it waits for a worker that is gone. */
const HANGS_AFTER_MS = 60_000;

beforeAll(() => cluster.setupPrimary({ exec: fileURLToPath(new URL("fake-worker.mjs", import.meta.url)) }));

describe("startWorkers", () => {
  it("replaces a worker that dies while another is still starting", async () => {
    const {
      service: starting,
      workers: [one, two],
    } = await start(2);
    await send(one, STARTED);
    one.process.kill("SIGKILL");
    // The other worker starts only once the first one is known to have died.
    await once(one, "exit");
    await send(two, STARTED);
    const replaced = once(cluster, "fork");
    const service = await starting;
    const [replacement] = (await replaced) as [Worker];
    expect(workers().map(({ id }) => id)).toEqual([two.id, replacement.id]);
    await service.stop();
  });

  it("replaces a worker whose replacement dies at its start, too", async () => {
    const { service, one } = await startOne();
    for (let dying = one; dying.id < one.id + 2; ) {
      const replaced = once(cluster, "fork");
      dying.process.kill("SIGKILL");
      [dying] = (await replaced) as [Worker];
    }
    expect(workers()).toHaveLength(1);
    await service.stop();
  });

  it("logs why a replacement cannot start", async () => {
    const { service, one, log } = await startOne();
    const replaced = once(cluster, "fork");
    one.process.kill("SIGKILL");
    const [replacement] = (await replaced) as [Worker];
    await once(replacement, "message");
    await send(replacement, { kind: "failed", text: "The disk is full" });
    const worker = replacement.process.pid;
    expect(log.at(-1)).toMatchObject({ msg: "A worker cannot start", worker, reason: "The disk is full" });
    await service.stop();
  });

  it("tells whether all workers have stopped as they should", async () => {
    const good = await startOne();
    expect(await good.service.stop()).toBe(true);
    const bad = await startOne();
    // A running worker may hear that it is to stop, and end as it should, before it is killed.
    bad.one.process.kill("SIGSTOP");
    const stopped = bad.service.stop();
    bad.one.process.kill("SIGKILL");
    expect(await stopped).toBe(false);
    expect(bad.log).toMatchObject([{ msg: "A worker ended before it had stopped", signal: "SIGKILL" }]);
  });

  it("goes on when it tells something to a worker of whose end it does not know yet", async () => {
    const { service, one } = await startOne();
    const replaced = once(cluster, "fork");
    one.process.kill("SIGKILL");
    // Until this loop ends, this process hears of nothing.
    while (!/^(Z.*)?$/.test(stateOf(one)));
    service.reload();
    await replaced;
    await service.stop();
  });

  it("stops while a worker that has died is still listed", { timeout: HANGS_AFTER_MS }, async () => {
    const { service, one } = await startOne();
    const replaced = once(cluster, "fork");
    one.process.kill("SIGKILL");
    await replaced;
    // As if its channel had not been closed yet.
    const listed = cluster.workers as Record<number, Worker>;
    listed[one.id] = one;
    await service.stop();
    delete listed[one.id];
  });

  it.each([
    ["reports why it cannot start", (worker: Worker) => send(worker, { kind: "failed", text: "The port is in use" })],
    ["dies", (worker: Worker) => Promise.resolve(worker.process.kill("SIGKILL"))],
  ])("rejects and replaces none when one of the first workers %s", async (_what, fail) => {
    const {
      service: starting,
      workers: [one, two],
      log,
    } = await start(3);
    await send(one, STARTED);
    const ends = workers().map((worker) => once(worker, "exit"));
    await Promise.all([expect(starting).rejects.toThrow(/The port is in use|A worker ended at its start/), fail(two)]);
    await Promise.all(ends);
    expect(log).toEqual([]);
  });
});

/** Resolves when all workers listen to what the test tells them. None of them has started by then. */
async function start(count: number) {
  const logger = new TestLogger();
  const starting = startWorkers(count, logger.pino);
  const forked = workers() as [Worker, Worker];
  await Promise.all(forked.map((worker) => once(worker, "message")));
  return { service: starting, workers: forked, log: logger.lines };
}

/** Resolves when a service with one worker has started. */
async function startOne() {
  const {
    service: starting,
    workers: [one],
    log,
  } = await start(1);
  await send(one, STARTED);
  return { service: await starting, one, log };
}

function workers(): Worker[] {
  const listed = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  return listed.filter((worker) => !worker.isDead());
}

/** What `ps` says of the worker's process: `Z` after its end, or nothing if it is unknown. */
function stateOf({ process: { pid } }: Worker): string {
  return spawnSync("ps", ["-o", "stat=", "-p", `${pid}`], { encoding: "utf8" }).stdout.trim();
}

/** Makes the worker send a message, and resolves when it has arrived. */
async function send(worker: Worker, message: object): Promise<void> {
  const arrived = once(worker, "message");
  worker.send(message);
  await arrived;
}
