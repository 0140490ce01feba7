// Bundles the benchmark and the server into a folder beside the packages, and runs the benchmark.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildConsole } from "../../scripts/build-console.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** A folder of its own for each run, so that several can run at a time. */
const folder = `${root}node_modules/.cache/bench-${process.pid}/`;

await build({
  entryPoints: {
    server: `${root}src/main.ts`,
    bench: `${root}test/bench/main.ts`,
    console: `${root}test/bench/console.ts`,
    drafts: `${root}test/bench/drafts.ts`,
    fronts: `${root}test/bench/fronts/main.ts`,
    growth: `${root}test/bench/growth/main.ts`,
    owners: `${root}test/bench/owners.ts`,
    ours: `${root}test/bench/peers/ours.ts`,
    "bare-server": `${root}test/bench/fronts/bare-server.ts`,
    postgres: `${root}test/bench/postgres.ts`,
    transfers: `${root}test/bench/transfers.ts`,
    worker: `${root}test/bench/engine/worker.ts`,
  },
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  sourcemap: true,
  logLevel: "warning",
});
await buildConsole(`${folder}assets`);
const [name, ...rest] = process.argv.slice(2);
// Each of these names is a separate measurement. Without one, the rows are measured.
const own = ["console", "drafts", "fronts", "growth", "ours", "owners", "postgres", "transfers"].includes(name);
const args = own ? [`${folder}${name}.mjs`, ...rest] : [`${folder}bench.mjs`, ...process.argv.slice(2)];
// An interrupt ends the benchmark, which this process waits for.
process.on("SIGINT", () => {});
const bench = spawn(process.execPath, args, { stdio: "inherit" });
const [code] = await once(bench, "exit");
await rm(folder, { recursive: true, force: true });
process.exitCode = code ?? 1;
