import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Engine, fill, MESSAGE, openEngine } from "../engine/subjects.js";
import { timed } from "../slices.js";

// Does the same work as peers.py with this service's library, for the table of peers in docs/performance.md:
//
//     npm run bench -- ours

const MS = 3000;
const BYTES_OF = 10_000;

const folder = await mkdtemp(join(tmpdir(), "session-pool-peers-"));
try {
  console.log("| | CPU a call, ms | calls/s |\n|---|---|---|");
  await withEngine("append", async (engine) => {
    await fill(engine, "s", 0);
    await measure("append", () => engine.pool.sessions.appendMessages("s", [MESSAGE]));
  });
  await withEngine("small", async (engine) => {
    await fill(engine, "s", BYTES_OF);
    await measure("last 100 of 10,000", () => look(engine, { limit: 100, newestFirst: true }));
  });
  const { size } = await stat(join(folder, "small.db"));
  await withEngine("large", async (engine) => {
    await fill(engine, "s", 100_000);
    await measure("100 in the middle of 100,000", () => look(engine, { limit: 100, offset: 50_000 }));
  });
  console.log(`session-pool: ${Math.round(size / BYTES_OF)} bytes of disk a message`);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function withEngine(name: string, work: (engine: Engine) => Promise<void>): Promise<void> {
  const engine = await openEngine(`sqlite:${join(folder, `${name}.db`)}`);
  try {
    await work(engine);
  } finally {
    await engine.close();
  }
}

/** Reads a page and decodes every message, as the other programs do. */
async function look({ pool }: Engine, page: { limit: number; newestFirst?: boolean; offset?: number }) {
  const { messages } = await pool.sessions.listMessages("s", page);
  return messages.map(({ parts }) => parts);
}

async function measure(name: string, call: () => Promise<unknown>): Promise<void> {
  await call();
  const { operations, elapsedMs, processorMs } = await timed(async (elapsed) => {
    let calls = 0;
    for (; elapsed() < MS; calls++) await call();
    return calls;
  });
  const cpu = ((processorMs ?? Number.NaN) / operations).toFixed(3);
  console.log(
    `| session-pool, ${name} | ${cpu} | ${Math.round((operations / elapsedMs) * 1000).toLocaleString("en-US")} |`,
  );
}
