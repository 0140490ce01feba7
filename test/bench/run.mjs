// Bundles the benchmark and the server into a folder beside the packages, and runs the benchmark.
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildConsole } from "../../scripts/build-console.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}node_modules/.cache/bench/`;

await rm(folder, { recursive: true, force: true });
await build({
  entryPoints: {
    server: `${root}src/main.ts`,
    bench: `${root}test/bench/main.ts`,
    console: `${root}test/bench/console.ts`,
    drafts: `${root}test/bench/drafts.ts`,
    growth: `${root}test/bench/growth/main.ts`,
    ours: `${root}test/bench/peers/ours.ts`,
    "bare-server": `${root}test/bench/bare-server.ts`,
    generator: `${root}test/bench/load/generator.ts`,
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
// `console`, `drafts`, `growth` and `ours` are separate measurements. Without such a name, the rows are measured.
const own = ["console", "drafts", "growth", "ours"].includes(name);
const args = own ? [`${folder}${name}.mjs`, ...rest] : [`${folder}bench.mjs`, ...process.argv.slice(2)];
const bench = spawn(process.execPath, args, { stdio: "inherit" });
bench.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === null ? 0 : 1);
});
