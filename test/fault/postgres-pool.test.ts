import pg from "pg";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { PostgresPool } from "../../src/storage/postgres/postgres-pool.js";
import { freePort } from "../support/free-port.js";
import { poll } from "../support/poll.js";
import { startPostgresServer } from "../support/postgres-server.js";

const CALLERS = 20;
/** More than the promises between the driver's pool and a statement. */
const MOST_STEPS = 12;

const server = await startPostgresServer({ fast: true });
afterAll(() => server?.stop());
afterEach(() => vi.restoreAllMocks());

describe.skipIf(!server)("PostgresPool", () => {
  const open = (url: string, timeoutMs = 30_000) =>
    new PostgresPool(url, { connections: 1, prepare: false, timeoutMs });

  it("loses no connection to calls that end at the moment when they get one", async () => {
    const pool = open(server?.url ?? "");
    await pool.run("SELECT 1", [], undefined);
    const connect = pg.Pool.prototype.connect as () => Promise<pg.PoolClient>;
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      const controller = new AbortController();
      vi.spyOn(pg.Pool.prototype, "connect").mockImplementationOnce(function (this: pg.Pool) {
        const connecting = connect.call(this);
        void connecting.then(async () => {
          for (let step = 0; step < steps; step++) await null;
          controller.abort();
        });
        return connecting as never;
      });
      await expect(pool.run("SELECT 1", [], { signal: controller.signal })).rejects.toMatchObject({ code: "canceled" });
      expect(await pool.run("SELECT 2", [], undefined), `after ${steps} steps`).toEqual([[2]]);
    }
    await pool.close();
  });

  it("rejects calls that wait for a connection when it closes, and waits for the one that runs", async () => {
    const pool = open(server?.url ?? "");
    const admin = new pg.Client(server?.url);
    await admin.connect();
    await admin.query("SELECT pg_advisory_lock(38)");
    const running = pool.run("SELECT 1 FROM pg_advisory_xact_lock(38)", [], undefined);
    const isRunning = async () => (await admin.query("SELECT FROM pg_locks WHERE NOT granted")).rowCount === 1;
    await poll(isRunning, "the statement waits for the lock");
    const waiting = [undefined, { signal: new AbortController().signal }].map((call) =>
      pool.read("SELECT 2", [], call),
    );
    const closing = pool.close();
    for (const { reason } of await rejected(waiting)) expect(reason.message).toBe("The store is closed");
    await admin.end();
    expect(await running).toEqual([[1]]);
    await closing;
    await expect(pool.run("SELECT 3", [], undefined)).rejects.toThrow("The store is closed");
  });

  it("warns of no leak when many calls wait for a server", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const pool = open(`postgres://127.0.0.1:${await freePort()}/none`, 200);
    const calls = Array.from({ length: CALLERS }, () => pool.read("SELECT 1", [], undefined));
    for (const { reason } of await rejected(calls)) expect(reason.code).toBe("unavailable");
    await pool.close();
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });
});

async function rejected(calls: readonly Promise<unknown>[]): Promise<readonly PromiseRejectedResult[]> {
  const outcomes = await Promise.allSettled(calls);
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") return outcome;
    throw new Error("A call was answered");
  });
}
