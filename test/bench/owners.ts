import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { type Engine, MESSAGE, openEngine } from "./engine/subjects.js";
import { alternate, during, type Subject } from "./slices.js";

// Measures lists of sessions by owner, and appends to sessions with an owner, against the same without, among many
// sessions of many owners. Each pair takes turns; a ratio above 1 is faster than the baseline.
//
//     npm run bench -- owners

const { stores, sessions, owners, mongoSessions, slices, sliceMs } = new Command("owners")
  .option("--stores <names>", "which stores are measured", "memory,sqlite,postgres,mongodb")
  .option("--sessions <n>", "how many sessions there are", Number, 100_000)
  .option("--owners <n>", "how many owners they have", Number, 10_000)
  .option("--mongo-sessions <n>", "how many sessions there are on MongoDB", Number, 2000)
  .option("--slices <n>", "how many slices of each are measured", Number, 9)
  .option("--slice-ms <n>", "milliseconds of a slice", Number, 300)
  .parse()
  .opts<{
    stores: string;
    sessions: number;
    owners: number;
    mongoSessions: number;
    slices: number;
    sliceMs: number;
  }>();

const PAGE = 100;
const WRITERS = 256;
/** The owner whose sessions are listed has this many, spread over all. */
const OWN = 200;
const LABEL = { parentId: "", labels: ["all="], limit: PAGE };

const folder = await mkdtemp(join(tmpdir(), "session-pool-owners-"));
const isMeasured = (store: string) => stores.split(",").includes(store);
const postgres = isMeasured("postgres") ? await startPostgresServer() : null;
const mongo = isMeasured("mongodb") ? await startMongoServer() : null;
try {
  console.log("| store | what | against | ratio |\n|---|---|---|---|");
  if (isMeasured("memory")) await measure("memory", "memory:", sessions);
  if (isMeasured("sqlite")) await measure("SQLite", `sqlite:${folder}/owners.db`, sessions);
  if (postgres) await measure("PostgreSQL", freshSchemaUrl(postgres), sessions);
  if (mongo) await measure(mongo.kind, freshDatabaseUrl(mongo), mongoSessions);
} finally {
  await postgres?.stop();
  await mongo?.stop();
  await rm(folder, { recursive: true });
}

async function measure(store: string, url: string, count: number): Promise<void> {
  const engine = await openEngine(url);
  await fill(engine, count);
  const { pool } = engine;
  const page = (options: Parameters<typeof pool.sessions.listSessions>[0]): Subject =>
    during(sliceMs, async () => {
      const found = await pool.sessions.listSessions(options);
      if (found.sessions.length !== PAGE) throw new Error(`A page holds ${found.sessions.length} sessions`);
      return 1;
    });
  const append = (sessionId: string): Subject =>
    during(sliceMs, async () => {
      await pool.sessions.appendMessage(sessionId, MESSAGE);
      return 1;
    });
  await pool.sessions.createSession({ sessionId: "plain" });
  await pool.sessions.createSession({ sessionId: "owned", owner: "ada" });
  const pairs: [string, string, Subject, Subject][] = [
    ["a page of an owner", "a plain page", page({ limit: PAGE }), page({ limit: PAGE, owner: "ada" })],
    ["a page without an owner", "a plain page", page({ limit: PAGE }), page({ limit: PAGE, owner: "" })],
    ["a page of an owner and a label", "a page of the label", page(LABEL), page({ ...LABEL, owner: "ada" })],
    ["an append to a session of an owner", "to one without", append("plain"), append("owned")],
  ];
  for (const [what, against, baseline, ours] of pairs) {
    const by = store === "memory" || store === "SQLite" ? "processor" : "clock";
    const { ratio } = await alternate(baseline, ours, { slices, by });
    console.log(`| ${store}, ${count.toLocaleString("en-US")} sessions | ${what} | ${against} | ${ratio.toFixed(2)} |`);
  }
  await engine.close();
}

/** One session in ten has no owner, and all have a label. */
async function fill({ pool }: Engine, count: number): Promise<void> {
  let next = 0;
  const write = async () => {
    while (next < count) {
      const i = next++;
      const others = i % 10 === 1 ? undefined : `owner-${i % owners}`;
      const owner = i % Math.floor(count / OWN) === 0 ? "ada" : others;
      await pool.sessions.createSession({ sessionId: `s${i}`, owner, labels: { all: "", kind: `${i % 10}` } });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}
