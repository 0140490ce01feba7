import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SingleBar } from "cli-progress";
import { Command, InvalidArgumentError } from "commander";
import { VERSION } from "../../src/version.js";
import { CODEC_ROWS } from "./codec-rows.js";
import { ENGINE_ROWS } from "./engine-rows.js";
import { MEMORY_ROW } from "./memory-row.js";
import { describeMachine, formatMachine, formatResult, type Result, toJson } from "./report.js";
import type { Row } from "./row.js";
import { WORKER_ROWS } from "./worker-rows.js";

const ROWS: readonly Row[] = [...ENGINE_ROWS, ...CODEC_ROWS, ...WORKER_ROWS, MEMORY_ROW];

interface Flags {
  readonly json?: boolean;
  readonly rows?: readonly Row[];
  readonly storage?: string;
  readonly slices: number;
  readonly sliceMs: number;
}

const program = new Command("bench")
  .description(`Measures ratios against raw baselines. Rows: ${ROWS.map(({ id }) => id).join(", ")}`)
  .option("--json", "print JSON")
  .option("--rows <ids>", "only these rows, with commas", parseRows)
  .option(
    "--storage <url>",
    "sqlite:<folder> for the files, mongodb://... or postgres://... for the rows of that store",
  )
  .option("--slices <n>", "slices of each side, at least 5", parseCount(5), 9)
  .option("--slice-ms <n>", "milliseconds of a slice", parseCount(50), 500)
  .parse();
await bench(program.opts<Flags>());

async function bench({ json = false, rows = ROWS, storage, slices, sliceMs }: Flags): Promise<void> {
  const machine = describeMachine(VERSION);
  if (!json) console.log(`${formatMachine(machine)}\n`);
  const results: Result[] = [];
  for (const row of rows) {
    const result = await runRow(row, storage, slices, sliceMs);
    if (!json) console.log(formatResult(result));
    results.push(result);
  }
  if (json) console.log(toJson(machine, results));
}

async function runRow(row: Row, storage: string | undefined, slices: number, sliceMs: number): Promise<Result> {
  const parent = storage?.startsWith("sqlite:") ? resolve(storage.slice("sqlite:".length)) : tmpdir();
  const folder = await mkdtemp(join(parent, "session-pool-bench-"));
  const mongoUrl = storage?.startsWith("mongodb") ? storage : undefined;
  const postgresUrl = storage?.startsWith("postgres") ? storage : undefined;
  const bar = new SingleBar({
    format: `${row.id} {bar} {value}/{total}`,
    stream: process.stderr,
    clearOnComplete: true,
  });
  bar.start(slices, 0);
  const onProgress = (done: number, total: number) => {
    bar.setTotal(total);
    bar.update(done);
  };
  try {
    return { row, measured: await row.run({ slices, sliceMs, folder, mongoUrl, postgresUrl, onProgress }) };
  } finally {
    bar.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function parseRows(text: string): readonly Row[] {
  return text.split(",").map((id) => {
    const row = ROWS.find((one) => one.id === id);
    if (row === undefined)
      throw new InvalidArgumentError(`No row ${id}; there are ${ROWS.map((one) => one.id).join(", ")}`);
    return row;
  });
}

function parseCount(least: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (Number.isInteger(count) && count >= least) return count;
    throw new InvalidArgumentError(`It must be a whole number of at least ${least}`);
  };
}
