// Loads `session-pool serve` on SQLite with Debian's wrk (REST and Connect) and h2load (gRPC), and prints a table:
//
//     npm run build && node test/bench/load-runs/main.mjs [--minutes 5] [--fronts rest,connect,grpc,bare]
// [--connections 1,16,256]
//
// One call in five appends 1 KB to one of 64 sessions, the others read the last 20 messages of one. `bare` is a
// node:http server that computes as long for each request as the service does for a REST call. It shows how slow the
// slowest calls are at saturation.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const here = fileURLToPath(new URL("./", import.meta.url));
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    fronts: { type: "string", default: "rest,connect,grpc" },
    connections: { type: "string", default: "1,16,256" },
  },
});
const SECONDS = Math.round(Number(values.minutes) * 60);
const SESSIONS = 64;
const HTTP = 18480;
const GRPC = 18451;
/** How many microseconds the bare server computes for each call. */
const BARE_WORK = 60;
const folder = mkdtempSync(join(tmpdir(), "load-runs-"));

for (const tool of ["wrk", "h2load"]) {
  if (spawnSync(tool, ["--version"]).error !== undefined) {
    console.error(`${tool} must be installed, on Debian by apt-get install wrk nghttp2-client`);
    process.exit(1);
  }
}
console.log(
  "| front | connections | calls/s | p50 ms | p99 ms | slowest ms | failed | memory at the start, most, end MiB |",
);
console.log("|---|---|---|---|---|---|---|---|");
for (const front of values.fronts.split(",")) {
  for (const connections of values.connections.split(",").map(Number)) await measure(front, connections);
}
rmSync(folder, { recursive: true, force: true });

async function measure(front, connections) {
  const server = front === "bare" ? startBare() : startService(`${folder}/${front}-${connections}.db`);
  try {
    await untilReady(front === "bare" ? "/" : "/readyz");
    if (front !== "bare") await prepare();
    const memory = watchMemory(server.pid);
    const result = front === "grpc" ? await h2load(connections) : await wrk(front, connections);
    const { first, most, last } = memory.stop();
    const failed = result.unanswered + (front === "bare" ? 0 : await failedCalls());
    const cells = [
      front,
      connections,
      result.rate,
      result.p50,
      result.p99,
      result.slowest,
      failed,
      `${first}, ${most}, ${last}`,
    ];
    console.log(`| ${cells.join(" | ")} |`);
  } finally {
    server.kill("SIGTERM");
    await new Promise((resolve) => server.once("exit", resolve));
    rmSync(`${folder}/${front}-${connections}.db`, { force: true });
  }
}

function startService(file) {
  const flags = [
    "--storage",
    `sqlite:${file}`,
    "--http-address",
    `127.0.0.1:${HTTP}`,
    "--grpc-address",
    `127.0.0.1:${GRPC}`,
  ];
  return spawn(process.execPath, [`${root}dist/main.js`, "serve", ...flags, "--log-level", "warn"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function startBare() {
  const code = `require("node:http").createServer((request, response) => {
    request.resume();
    for (const end = performance.now() + ${BARE_WORK / 1000}; performance.now() < end; );
    response.end("x".repeat(1024));
  }).listen(${HTTP}, "127.0.0.1")`;
  return spawn(process.execPath, ["--eval", code], { stdio: "inherit" });
}

async function untilReady(path) {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await fetch(`http://127.0.0.1:${HTTP}${path}`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The server did not start");
}

/** Gives each session its first 20 messages. */
async function prepare() {
  const message = { info: { role: "user" }, parts: [{ type: "text", text: "x".repeat(1024) }] };
  const body = JSON.stringify({ messages: Array(20).fill(message), create_session: true });
  for (let i = 0; i < SESSIONS; i++) {
    const url = `http://127.0.0.1:${HTTP}/session/load-${i}/message:batch`;
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    if (!answer.ok) throw new Error(await answer.text());
  }
}

async function failedCalls() {
  const text = await (await fetch(`http://127.0.0.1:${HTTP}/metrics`)).text();
  const counts = [...text.matchAll(/^session_pool_calls_total\{(.*)\} (\d+)$/gm)];
  // A generator that stops cancels its last calls.
  const bad = counts.filter(([, labels]) => !/code="(ok|canceled)"/i.test(labels));
  for (const [line] of bad) console.error(line);
  return bad.reduce((sum, [, , count]) => sum + Number(count), 0);
}

function watchMemory(pid) {
  const now = () => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024);
  const seen = [now()];
  const timer = setInterval(() => seen.push(now()), 1000);
  return {
    stop() {
      clearInterval(timer);
      // The first tenth is the warm-up.
      return { first: seen[Math.floor(seen.length / 10)], most: Math.max(...seen), last: seen.at(-1) };
    },
  };
}

async function wrk(front, connections) {
  const flags = [
    "-t1",
    `-c${connections}`,
    `-d${SECONDS}s`,
    "--timeout",
    "10s",
    "--latency",
    "-s",
    `${here}${front}.lua`,
  ];
  const output = await run("wrk", [...flags, `http://127.0.0.1:${HTTP}`]);
  const number = (pattern) => pattern.exec(output)?.[1];
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? [];
  return {
    rate: Math.round(Number(number(/Requests\/sec:\s+([\d.]+)/))),
    p50: inMs(number(/50%\s+(\S+)/)),
    p99: inMs(number(/99%\s+(\S+)/)),
    slowest: inMs(/Latency\s+\S+\s+\S+\s+(\S+)/.exec(output)?.[1]),
    unanswered: errors.reduce((sum, count) => sum + Number(count), 0),
  };
}

function inMs(text) {
  const [, number, unit] = /^([\d.]+)(us|ms|s|m)$/.exec(text);
  return Number((Number(number) * { us: 0.001, ms: 1, s: 1000, m: 60_000 }[unit]).toPrecision(3));
}

/** Runs two generators, one for each kind of call, because h2load can send only one body. */
async function h2load(connections) {
  const readers = Math.max(1, Math.round(connections * 0.8));
  const session = field(1, Buffer.from("load-7"));
  const read = Buffer.concat([session, Buffer.from([2 << 3, 20, 5 << 3, 1])]);
  const part = Buffer.concat([field(2, Buffer.from("text")), field(3, Buffer.from("x".repeat(1024)))]);
  const message = Buffer.concat([field(1, field(2, Buffer.from("user"))), field(2, part)]);
  const results = await Promise.all([
    oneH2load("ListMessages", read, readers),
    oneH2load("AppendMessage", Buffer.concat([session, field(2, message)]), Math.max(1, connections - readers)),
  ]);
  const times = Float64Array.from(results.flatMap((result) => result.times)).sort();
  const at = (share) =>
    Number((times[Math.min(times.length - 1, Math.floor(times.length * share))] / 1000).toPrecision(3));
  const unanswered = results.reduce((sum, result) => sum + result.unanswered, 0);
  return { rate: Math.round(times.length / SECONDS), p50: at(0.5), p99: at(0.99), slowest: at(1), unanswered };
}

async function oneH2load(method, request, connections) {
  const [body, log] = [join(folder, `${method}.bin`), join(folder, `${method}.log`)];
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(request.length, 1);
  writeFileSync(body, Buffer.concat([frame, request]));
  const headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"];
  const url = `http://127.0.0.1:${GRPC}/sessionpool.v1.MessageService/${method}`;
  const output = await run("h2load", [
    "-t1",
    `-c${connections}`,
    "-m1",
    "-D",
    String(SECONDS),
    "-d",
    body,
    ...headers,
    "--log-file",
    log,
    url,
  ]);
  const times =
    statSync(log).size === 0
      ? []
      : readFileSync(log, "latin1")
          .trimEnd()
          .split("\n")
          .map((line) => Number(line.split("\t")[2]));
  rmSync(log);
  const [, failed, errored, timedOut] = /(\d+) failed, (\d+) errored, (\d+) timeout/.exec(output);
  return { times, unanswered: Number(failed) + Number(errored) + Number(timedOut) };
}

/** Encodes a length-delimited field of protobuf. */
function field(number, bytes) {
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.on("error", reject);
    child.on("exit", (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} ended with ${code}: ${output}`)),
    );
  });
}
