import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import pg from "pg";
import { startPostgresServer } from "../support/postgres-server.js";
import { processorMs } from "../support/processor-time.js";
import { appends, forks, insertsInto, lastPages, lists, type Task, type Work } from "./engine/postgres.js";
import { type Engine, openEngine } from "./engine/subjects.js";
import { duringBy } from "./slices.js";

// Measures how much processor time operations take on PostgreSQL, in this process and in the server, and on SQLite,
// where this process does all. All of them take turns.
//
//     npm run bench -- postgres

const { rounds, sliceMs } = new Command("postgres")
  .option("--rounds <n>", "how many slices of each are measured", Number, 7)
  .option("--slice-ms <n>", "milliseconds of a slice", Number, 500)
  .parse()
  .opts<{ rounds: number; sliceMs: number }>();

interface Kind {
  readonly name: string;
  readonly callers: number;
  readonly work: Work;
  /** Microseconds of each slice: of this process, and of the server. */
  readonly micros: [number, number][];
}

const CALLERS = [1, 16, 64];
const TASKS: Readonly<Record<string, Task>> = {
  ...Object.fromEntries(CALLERS.map((callers) => [`append by ${callers}`, appends(callers)])),
  "last 100 of 10,000": lastPages(10_000),
  "fork of 10,000": forks(10_000),
  "list of 100 sessions": lists(200),
};

const server = await startPostgresServer();
if (server === null) throw new Error("There is no PostgreSQL server");
const folder = await mkdtemp(join(tmpdir(), "session-pool-bench-"));
const pool = new pg.Pool({ connectionString: server.url, max: 16 });
const engines: Engine[] = [];
try {
  const kinds = await allKinds(server.url);
  const postmaster = await postmasterOf(pool);
  for (let round = -2; round < rounds; round++) for (const kind of kinds) await measure(kind, postmaster, round >= 0);
  console.log(tableOf(kinds));
} finally {
  for (const engine of engines) await engine.close();
  await pool.end();
  await server.stop();
  await rm(folder, { recursive: true });
}

async function allKinds(url: string): Promise<Kind[]> {
  const stores = { PostgreSQL: url, "PostgreSQL, prepared": `${url}?prepare=true`, SQLite: `sqlite:${folder}/a.db` };
  const kinds: Kind[] = [];
  for (const [store, storeUrl] of Object.entries(stores)) {
    const engine = await openEngine(storeUrl);
    engines.push(engine);
    for (const [task, { callers, prepare }] of Object.entries(TASKS)) {
      kinds.push({ name: `${task} | ${store}`, callers, work: await prepare(engine, `${task} ${store}`), micros: [] });
    }
  }
  const inserts = CALLERS.map((callers): Kind => {
    return { name: `append by ${callers} | bare inserts`, callers, work: insertsInto(pool, `${callers}-`), micros: [] };
  });
  return [...kinds, ...inserts].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function measure({ callers, work, micros }: Kind, postmaster: number, isMeasured: boolean): Promise<void> {
  const before = serverMs(postmaster);
  const { operations, processorMs: ownMs = 0 } = await duringBy(callers, sliceMs, work)();
  if (isMeasured) micros.push([(ownMs * 1000) / operations, ((serverMs(postmaster) - before) * 1000) / operations]);
}

/** The process whose children are the server's. */
async function postmasterOf(connections: pg.Pool): Promise<number> {
  const { rows } = await connections.query("SELECT pg_backend_pid() AS pid");
  const stat = readFileSync(`/proc/${rows[0].pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** The processor time of all processes of the server, but for those that have ended; NaN when one ends just then. */
function serverMs(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
  return processorMs(postmaster, ...children.split(" ").filter(Boolean).map(Number)) ?? Number.NaN;
}

function tableOf(kinds: readonly Kind[]): string {
  const rows = kinds.map(({ name, micros }) => {
    const known = micros.filter(([, ofServer]) => !Number.isNaN(ofServer));
    const [own, servers] = [0, 1].map((i) => median(known.map((both) => both[i] as number))) as [number, number];
    const cells = [own, servers, own + servers].map((value) => Math.round(value).toLocaleString("en-US"));
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  return ["| what | on | client, µs | server, µs | together |", "|---|---|---|---|---|", ...rows].join("\n");
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}
