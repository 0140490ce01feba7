// `node test/bench/call-files.mjs [storage URL]` prints the files of src that a warm AppendMessage over REST runs
// through, with the number of functions that ran in each. Every file is compiled by itself, so that the profiler tells
// them apart.
import { readdir, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}node_modules/.cache/call-files/`;
const [storage = "memory:"] = process.argv.slice(2);
/** Calls before the one that is measured, so that nothing of it happens only once. */
const WARM_CALLS = 50;

await rm(folder, { recursive: true, force: true });
const files = await Promise.all(
  ["src", "gen", "test/support"].map((name) => readdir(root + name, { recursive: true })),
);
const entryPoints = ["src", "gen", "test/support"].flatMap((name, i) => files[i].map((file) => join(root, name, file)));
await build({
  entryPoints: [...entryPoints.filter((path) => /(?<!\.d|\.test)\.ts$/.test(path)), `${root}package.json`],
  loader: { ".json": "copy" },
  outbase: root,
  outdir: folder,
  format: "esm",
  platform: "node",
  target: "node20.19",
});
const { startTestServer } = await import(pathToFileURL(`${folder}test/support/server.js`).href);
const server = await startTestServer({ storage }, undefined, []);
const sessions = `${server.httpUrl}/session`;
const post = async (path, body) => {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${sessions}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return await response.json();
};
await post("", { sessionId: "s" });
const append = () => post("/s/message", { info: { role: "user" }, parts: [{ type: "text", text: "Good morning" }] });
for (let i = 0; i < WARM_CALLS; i++) await append();

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await append();
await session.post("Profiler.takePreciseCoverage");
await append();
const { result } = await session.post("Profiler.takePreciseCoverage");
const ran = result
  .filter(({ url, functions }) => url.startsWith(pathToFileURL(`${folder}src/`).href) && functions.some(hasRun))
  .map(({ url, functions }) => ({
    file: relative(folder, fileURLToPath(url)),
    count: functions.filter(hasRun).length,
  }));
for (const { file, count } of ran.sort((a, b) => (a.file < b.file ? -1 : 1))) console.log(`${count}\t${file}`);
console.log(`${ran.length} files, ${ran.reduce((sum, { count }) => sum + count, 0)} functions, storage ${storage}`);
await server.stop();

function hasRun({ ranges }) {
  return ranges[0].count > 0;
}
