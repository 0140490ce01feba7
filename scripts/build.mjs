// Bundles the program, the library and the client; packages stay outside the bundles, drivers load lazily.
import { chmod, readdir, rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildConsole } from "./build-console.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What runs in Node.js only. */
const SERVER = { main: "src/main.ts", index: "src/index.ts" };
/** What browsers import, too. It shares no file with the server, so that a bundler finds nothing of the server in it. */
const CLIENT = {
  "client/index": "src/client/index.ts",
  "client/gen": "src/gen.ts",
  "client/adapters/ai-sdk": "src/adapters/ai-sdk.ts",
  "client/adapters/claude-agent": "src/adapters/claude-agent.ts",
  "client/adapters/openai-agents": "src/adapters/openai-agents.ts",
};

/** Builds into a folder, and removes what an earlier build left there. */
export async function buildInto(folder) {
  const server = bundle(folder, SERVER, { platform: "node", banner: { js: "#!/usr/bin/env node" } });
  const client = bundle(folder, CLIENT, { platform: "neutral", chunkNames: "client/[name]-[hash]" });
  const built = new Set([...(await server), ...(await client)].map((path) => relative(folder, path)));
  // The web page's files are read at run time, beside the code.
  await buildConsole(join(folder, "assets"));
  await chmod(join(folder, "main.js"), 0o755);
  const isKept = (path) => built.has(path) || path.startsWith("assets") || path.startsWith("types");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const stale = files.filter((path) => !isKept(relative(folder, path)));
  await Promise.all(stale.map((path) => rm(path)));
}

/** Resolves to the paths of the files that were written. */
async function bundle(folder, entryPoints, options) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints,
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "node20.19",
    packages: "external",
    sourcemap: true,
    metafile: true,
    logLevel: "warning",
    ...options,
  });
  return Object.keys(metafile.outputs).map((path) => join(ROOT, path));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildInto(resolve(ROOT, "dist"));
