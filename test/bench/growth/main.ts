import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { freshDatabaseUrl, startMongoServer } from "../../support/mongo-server.js";
import { freshSchemaUrl, startPostgresServer } from "../../support/postgres-server.js";
import { type Engine, MESSAGE, openEngine } from "../engine/subjects.js";
import { timed } from "../slices.js";
import { growMessages, growSessions } from "./grow.js";
import { type Grown, OPERATIONS, type Operation, SESSION_OPERATIONS } from "./operations.js";
import { drawGrowth, type Point } from "./picture.js";

// Measures how long each operation takes at different lengths of a history and with different numbers of sessions. Each
// size has a database of its own. On SQLite this is the time of the processor, all of which this process uses. With a
// database server it is the time until the answer.
//
//     npm run bench -- growth --svg docs/images/growth.svg

interface Flags {
  readonly messages: number[];
  readonly sessions: number[];
  readonly postgresMessages: number[];
  readonly postgresSessions: number[];
  readonly mongoMessages: number[];
  readonly mongoSessions: number[];
  readonly rounds: number;
  readonly svg?: string;
}

const flags = new Command("growth")
  .option("--messages <sizes>", "lengths of a history on SQLite", parseSizes, [10, 1000, 100_000, 1_000_000])
  .option("--sessions <sizes>", "numbers of sessions on SQLite", parseSizes, [10, 1000, 100_000])
  .option(
    "--postgres-messages <sizes>",
    "lengths of a history on PostgreSQL",
    parseSizes,
    [10, 1000, 100_000, 1_000_000],
  )
  .option("--postgres-sessions <sizes>", "numbers of sessions on PostgreSQL", parseSizes, [10, 1000, 100_000])
  .option("--mongo-messages <sizes>", "lengths of a history on MongoDB", parseSizes, [10, 1000, 10_000])
  .option("--mongo-sessions <sizes>", "numbers of sessions on MongoDB", parseSizes, [10, 1000])
  .option("--rounds <n>", "how often each operation is made at each size", Number, 31)
  .option("--svg <file>", "file for a picture of the results")
  .parse()
  .opts<Flags>();

const folder = await mkdtemp(join(tmpdir(), "session-pool-growth-"));
try {
  const points: Point[] = [];
  for (const measureOne of [measureSqlite, measurePostgres, measureMongo]) {
    const some = await measureOne();
    if (some.length > 0) console.log(`${tableOf(some)}\n`);
    points.push(...some);
  }
  if (flags.svg !== undefined) await writeFile(flags.svg, drawGrowth(points));
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measureSqlite(): Promise<Point[]> {
  let files = 0;
  const open = async () => {
    await mkdir(join(folder, String(++files)));
    return openEngine(`sqlite:${join(folder, String(files), "growth.db")}`);
  };
  return measureStore("SQLite, ms of the processor", open, flags.messages, flags.sessions);
}

async function measurePostgres(): Promise<Point[]> {
  if (flags.postgresMessages.length === 0) return [];
  const server = await startPostgresServer();
  if (server === null) return [];
  const open = () => openEngine(freshSchemaUrl(server));
  try {
    return await measureStore("PostgreSQL, ms", open, flags.postgresMessages, flags.postgresSessions);
  } finally {
    await server.stop();
  }
}

async function measureMongo(): Promise<Point[]> {
  if (flags.mongoMessages.length === 0) return [];
  const server = await startMongoServer();
  if (server === null) return [];
  const name = server.kind === "secantusdb" ? "SecantusDB, ms" : "MongoDB, ms";
  try {
    return await measureStore(
      name,
      () => openEngine(freshDatabaseUrl(server)),
      flags.mongoMessages,
      flags.mongoSessions,
    );
  } finally {
    await server.stop();
  }
}

async function measureStore(
  store: string,
  open: () => Promise<Engine>,
  messages: readonly number[],
  sessions: readonly number[],
): Promise<Point[]> {
  const histories = await growAll(messages, open, (engine, size) => growMessages(engine, size, MESSAGE));
  const lists = await growAll(sessions, open, growSessions);
  try {
    const points: Point[] = [];
    for (const operation of OPERATIONS) points.push(...(await measure(store, operation, histories)));
    for (const operation of SESSION_OPERATIONS) points.push(...(await measure(store, operation, lists)));
    return points;
  } finally {
    for (const { engine } of [...histories.values(), ...lists.values()]) await engine.close();
  }
}

async function growAll(
  sizes: readonly number[],
  open: () => Promise<Engine>,
  grow: (engine: Engine, size: number) => Promise<Grown>,
): Promise<Map<number, Grown>> {
  const all = new Map<number, Grown>();
  for (const size of sizes) all.set(size, await grow(await open(), size));
  return all;
}

/**
 * Measures one operation at all sizes in turn, so that anything that slows the machine down for a while affects all
 * sizes. The first rounds are a warm-up.
 */
async function measure(store: string, operation: Operation, all: ReadonlyMap<number, Grown>): Promise<Point[]> {
  const WARM_UP = 10;
  const took = new Map([...all.keys()].map((size) => [size, [] as number[]]));
  for (let round = 0; round < WARM_UP + flags.rounds; round++) {
    for (const [size, grown] of all) {
      const sessionId = await operation.prepare(grown, `${operation.name} ${round}`);
      const { elapsedMs, processorMs } = await timed(async () => {
        await operation.run(grown, sessionId);
        return 1;
      });
      if (round >= WARM_UP) took.get(size)?.push((store.endsWith("processor") ? processorMs : elapsedMs) ?? elapsedMs);
    }
  }
  return [...took].map(([size, times]) => ({ store, operation: operation.name, size, ms: median(times) }));
}

/** Returns a Markdown table of the points of one store. */
function tableOf(points: readonly Point[]): string {
  const sizes = [...new Set(points.map(({ size }) => size))].sort((a, b) => a - b);
  const rows = [...new Set(points.map(({ operation }) => operation))].map((operation) => {
    const cells = sizes.map((size) => points.find((point) => point.operation === operation && point.size === size));
    return `| ${operation} | ${cells.map((point) => point?.ms.toFixed(2) ?? "").join(" | ")} |`;
  });
  const head = `| ${points[0]?.store} | ${sizes.map((size) => size.toLocaleString("en-US")).join(" | ")} |`;
  return [head, `|---|${sizes.map(() => "---").join("|")}|`, ...rows].join("\n");
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

function parseSizes(text: string): number[] {
  return text === "" ? [] : text.split(",").map(Number);
}
