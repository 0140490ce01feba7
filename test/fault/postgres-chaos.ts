import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { type Random, seededRandom } from "../simulation/random.js";
import { schemaOf } from "../support/postgres-database.js";
import { freshSchemaUrl, type OwnPostgresServer, query, startOwnPostgresServer } from "../support/postgres-server.js";
import { type ChaosSizes, PROCESSES } from "./chaos.js";
import type { Fleet } from "./chaos-fleet.js";
import { runServices } from "./chaos-services.js";

export interface PostgresChaosSizes extends ChaosSizes {
  readonly durationMs: number;
  /** The longest time of undisturbed work between two faults. */
  readonly restMs: number;
  readonly freezesMs: readonly number[];
}

/** Each connection of a service is ended with a probability of one half, whatever it is doing. */
const END_BACKENDS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name LIKE 'session-pool%' AND random() < 0.5`;

/**
 * Runs several services on one database with many clients, while services are killed and frozen, connections are ended
 * by the server, and the server itself is frozen, or killed and started again.
 */
export function describeChaos(sizes: PostgresChaosSizes): void {
  describe(`three services on one PostgreSQL database, ${sizes.durationMs / 1000} s`, async () => {
    const server = await startOwnPostgresServer();
    afterAll(() => server?.stop());

    const timeout = 2 * sizes.durationMs + 1_200_000;
    it.skipIf(!server)("lose, double and move nothing that was acknowledged", { timeout }, async () => {
      const own = server as OwnPostgresServer;
      const url = freshSchemaUrl(own);
      const uploaders = await runServices(url, sizes, (fleet, seed) => disturb(fleet, own, seededRandom(seed), sizes));
      await expectNothingLeft(url, uploaders);
    });
  });
}

/** Expects that sweeps leave the attachments that messages name, and neither rows, pieces nor namings of others. */
async function expectNothingLeft(url: string, uploaders: Awaited<ReturnType<typeof runServices>>): Promise<void> {
  const database = await PostgresLogDatabase.connect(url);
  const provider = new LogHistoryProvider(database.namespace("default"), { sweepAgeMs: 0, attachmentIdleMs: 0 });
  const s = schemaOf(database);
  const leftAfterSweep = async () => {
    await provider.sweep({});
    const rows = await query(url, `SELECT attachment_id AS id FROM ${s}.attachments ORDER BY attachment_id`);
    const [stray] = await query(
      url,
      `SELECT
        (SELECT count(*)::int FROM ${s}.attachment_pieces AS p
          WHERE NOT EXISTS (SELECT 1 FROM ${s}.attachments AS a WHERE (a.uid, a.log) = (p.uid, p.log))) AS pieces,
        (SELECT count(*)::int FROM ${s}.attachment_names AS n
          WHERE NOT EXISTS (SELECT 1 FROM ${s}.messages AS m WHERE (m.uid, m.log, m.seq) = (n.uid, n.log, n.seq))
        ) AS namings`,
    );
    return { named: rows.map(({ id }) => id as string).sort(), stray };
  };
  try {
    const named = uploaders.flatMap((one) => one.named).sort();
    expect(named.length).toBeGreaterThan(0);
    await expect.poll(leftAfterSweep).toEqual({ named, stray: { pieces: 0, namings: 0 } });
  } finally {
    await provider.close();
    await database.close();
  }
}

/** Causes faults in a random order, each at least once and then again and again. */
async function disturb(
  fleet: Fleet,
  server: OwnPostgresServer,
  random: Random,
  sizes: PostgresChaosSizes,
): Promise<void> {
  const left: (keyof typeof FAULTS)[] = [];
  const counts = new Map<string, number>();
  const endMs = performance.now() + sizes.durationMs;
  while (performance.now() < endMs || counts.size < NAMES.length) {
    if (left.length === 0) left.push(...NAMES);
    const [fault] = left.splice(random.int(left.length), 1) as [keyof typeof FAULTS];
    await sleep(sizes.restMs * random.next());
    counts.set(fault, (counts.get(fault) ?? 0) + 1);
    await FAULTS[fault](fleet, server, random, sizes);
  }
  console.info(`chaos: ${[...counts].map(([fault, count]) => `${fault} ${count}`).join(", ")}`);
}

type Fault = (fleet: Fleet, server: OwnPostgresServer, random: Random, sizes: PostgresChaosSizes) => Promise<void>;

const FAULTS = {
  "kill a service": (fleet, _server, random) => fleet.killAndRestart(random.int(PROCESSES)),
  "freeze a service": (fleet, _server, random, { freezesMs }) =>
    fleet.freeze(random.int(PROCESSES), random.pick(freezesMs)),
  "end connections": async (_fleet, { url }, random) => {
    for (let times = random.pick([1, 10]); times > 0; times--) await query(url, END_BACKENDS);
  },
  "freeze the server": async (_fleet, { process }, random, { freezesMs }) => {
    await process.freeze();
    await sleep(random.pick(freezesMs));
    process.thaw();
  },
  "kill the server": (_fleet, { process }) => process.killAndRestart(),
} satisfies Record<string, Fault>;

const NAMES = Object.keys(FAULTS) as readonly (keyof typeof FAULTS)[];
