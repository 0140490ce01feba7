import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { closeUntaken } from "../../../src/commands/untaken-connections.js";

/** Each case takes milliseconds. When it takes this long, a connection hangs. */
const HANGS_AFTER_MS = 60_000;

beforeAll(() => cluster.setupPrimary({ exec: fileURLToPath(new URL("listening-worker.mjs", import.meta.url)) }));
afterEach(async () => {
  const left = (Object.values(cluster.workers ?? {}) as Worker[]).filter((worker) => !worker.isDead());
  const ends = left.map((worker) => once(worker.process, "close"));
  for (const worker of left) worker.process.kill("SIGKILL");
  await Promise.all(ends);
});

describe("a worker that was given a connection and dies before it has taken it", { timeout: HANGS_AFTER_MS }, () => {
  it("leaves the connection closed", async () => {
    const { worker, ports, given } = await start();
    worker.process.kill("SIGSTOP");
    const client = connect(ports[0], "127.0.0.1");
    client.on("error", () => {});
    await vi.waitUntil(() => given() === 1);
    worker.process.kill("SIGKILL");
    await once(client, "close");
    expect(client.bytesRead).toBe(0);
  });

  it("is given no connection of another port any more, even if its end is known before that of its channel", async () => {
    const { worker, ports, given, holder } = await start({ HOLDS_CHANNEL: "1" });
    const other = await start();
    worker.process.kill("SIGSTOP");
    // Connections go to the workers in turn, but to each only when it has taken the last one.
    const clients = Array.from({ length: 4 }, () => connect(ports[0], "127.0.0.1"));
    for (const client of clients) client.on("error", () => {});
    await vi.waitUntil(() => given() === 1);
    const closed = once(worker.process, "close");
    const exited = once(worker.process, "exit");
    worker.process.kill("SIGKILL");
    await exited;
    process.kill(holder as number, "SIGKILL");
    await closed;
    const answers = Array.from({ length: 4 }, () => text(connect(ports[1], "127.0.0.1")));
    expect(await Promise.all(answers)).toEqual(Array(4).fill(`${other.worker.process.pid}`));
  });
});

it("leaves a connection that was taken to its worker", { timeout: HANGS_AFTER_MS }, async () => {
  const { worker, ports } = await start();
  expect(await text(connect(ports[0], "127.0.0.1"))).toBe(`${worker.process.pid}`);
});

/** Starts a worker that listens. `given` counts the connections that Node has passed to it. */
async function start(env: Readonly<Record<string, string>> = {}) {
  const worker = cluster.fork(env);
  const send = vi.spyOn(worker.process, "send" as never) as unknown as { mock: { calls: [{ act?: string }][] } };
  closeUntaken(worker);
  const [{ ports, holder }] = (await once(worker, "message")) as [{ ports: [number, number]; holder?: number }];
  return { worker, ports, holder, given: () => send.mock.calls.filter(([{ act }]) => act === "newconn").length };
}
