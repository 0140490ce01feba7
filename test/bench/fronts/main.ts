import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SingleBar } from "cli-progress";
import { Command, InvalidArgumentError } from "commander";
import { VERSION } from "../../../src/version.js";
import { describeMachine, formatMachine } from "../report.js";
import { COLUMNS } from "./columns.js";
import { missingGenerators } from "./generators.js";
import { type Build, type Cost, measure } from "./measure.js";
import { OPERATIONS, STORES, type Store } from "./operations.js";
import { drawFronts } from "./picture.js";
import { costTable, ratioTable, replaceTable, spreadLine } from "./tables.js";

// Measures how much processor time of the server a call costs at each front:
//
//     npm run bench -- fronts [--before FOLDER] [--page FILE] [--svg FILE] [--json FILE]

interface Flags {
  readonly before?: string;
  readonly after: string;
  readonly operations: string[];
  readonly columns: string[];
  readonly stores: Store[];
  readonly rounds: number;
  readonly seconds: number;
  readonly json?: string;
  readonly svg?: string;
  readonly page?: string;
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);
const program = new Command("fronts")
  .option("--before <folder>", "another checkout, whose server takes turns with this one's")
  .option("--after <folder>", "the checkout to measure; this one when absent", ROOT)
  .option("--operations <ids>", `some of ${ids(OPERATIONS).join(",")}`, someOf(ids(OPERATIONS)), ids(OPERATIONS))
  .option("--columns <ids>", `some of ${ids(COLUMNS).join(",")}`, someOf(ids(COLUMNS)), ids(COLUMNS))
  .option("--stores <names>", `some of ${STORES.join(",")}`, someOf(STORES), [...STORES])
  .option("--rounds <n>", "how often each column is measured", Number, 5)
  .option("--seconds <n>", "whole seconds of each measurement", Number, 1)
  .option("--json <file>", "file for everything that was measured")
  .option("--svg <file>", "file for a picture of the results")
  .option("--page <file>", "page whose tables are replaced")
  .parse();
const flags = program.opts<Flags>();

const missing = missingGenerators();
if (missing !== undefined) program.error(missing);
const folder = await mkdtemp(join(tmpdir(), "session-pool-fronts-"));
try {
  const columns = COLUMNS.filter(({ id }) => flags.columns.includes(id));
  const operations = OPERATIONS.filter(({ id }) => flags.operations.includes(id));
  const { stores, rounds, seconds } = flags;
  const bar = new SingleBar({
    format: "{operation} {bar} {percentage} %",
    stream: process.stderr,
    clearOnComplete: true,
  });
  console.log(`${formatMachine(describeMachine(VERSION))}\n`);
  const options = { builds: buildsOf(flags), columns, stores, folder, rounds, seconds };
  bar.start(operations.length * rounds, 0);
  const costs: Cost[] = [];
  for (const operation of operations) {
    bar.update({ operation: operation.name });
    costs.push(...(await measure(operation, { ...options, onRound: () => bar.increment() })));
  }
  bar.stop();
  if (flags.json !== undefined) await writeFile(flags.json, JSON.stringify(costs, null, 2));
  console.log([costTable(costs), ratioTable(costs), spreadLine(costs)].join("\n\n"));
  if (flags.page !== undefined) {
    const page = await readFile(flags.page, "utf8");
    await writeFile(flags.page, replaceTable(replaceTable(page, costTable(costs)), ratioTable(costs)));
  }
  if (flags.svg !== undefined) await writeFile(flags.svg, drawFronts(costs));
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Builds the programs as users run them, each from its own sources. */
function buildsOf({ before, after }: Flags): Build[] {
  const now = build("after", after);
  return before === undefined ? [now] : [build("before", before), now];
}

function build(name: string, root: string): Build {
  // Beside the bundles, where the programs find the packages of this checkout.
  const to = fileURLToPath(new URL(`${name}/`, import.meta.url));
  const script = pathToFileURL(resolve(root, "scripts/build.mjs")).href;
  const code = `await (await import(${JSON.stringify(script)})).buildInto(${JSON.stringify(to)})`;
  execFileSync(process.execPath, ["--input-type=module", "--eval", code], { stdio: ["ignore", "inherit", "inherit"] });
  return { name, program: join(to, "main.js") };
}

function someOf(known: readonly string[]): (text: string) => string[] {
  return (text) => {
    const unknown = text.split(",").find((one) => !known.includes(one));
    if (unknown !== undefined) throw new InvalidArgumentError(`${unknown} is none of ${known.join(", ")}`);
    return text.split(",");
  };
}
