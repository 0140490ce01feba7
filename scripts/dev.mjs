// Builds the program, serves, and does both again after each change of the source: npm run dev [-- flag…]. While a
// build fails, the server of the last build goes on.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SOURCES = ["src", "gen", "proto"];
/** A change of branch or a formatter writes many files at once. */
const QUIET_MS = 100;

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const flags = process.argv.slice(2);
let server;
let changes = 1;
let onChange = () => {};
let isStopping = false;

for (const folder of SOURCES) {
  watch(folder, { recursive: true }, () => {
    changes++;
    onChange();
  });
}
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    isStopping = true;
    await stopServer();
    process.exit();
  });
}

for (let built = 0; !isStopping; ) {
  if (built === changes) await new Promise((resolve) => (onChange = resolve));
  await waitForQuiet();
  built = changes;
  const [code] = await once(run("scripts/build.mjs"), "exit");
  if (code !== 0 || isStopping) continue;
  await stopServer();
  if (!isStopping) server = run("--enable-source-maps", "dist/main.js", "serve", ...flags);
}

async function waitForQuiet() {
  for (let seen; seen !== changes; ) {
    seen = changes;
    await setTimeout(QUIET_MS);
  }
}

function run(...args) {
  return spawn(process.execPath, args, { stdio: "inherit" });
}

async function stopServer() {
  if (!server || server.exitCode !== null || server.signalCode !== null) return;
  server.kill();
  await once(server, "exit");
}
