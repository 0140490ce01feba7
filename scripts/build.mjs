// Bundles the program and the library, and the client, which is a package of its own. Only packages that every start of
// the program needs are in its bundle. All others stay outside, and drivers load lazily.
import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildConsole } from "./build-console.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LICENSES = "THIRD-PARTY-LICENSES.txt";

/** The program, and the library for programs that embed the service or test a store. Both run in Node.js only. */
const PROGRAM = { main: "src/main.ts" };
const LIBRARY = { index: "src/index.ts", testing: "test/contract/testing.ts" };
/** The packages in the program's bundle. Outside of it, reading their 300 files would take a third of a start. */
const BUNDLED = [
  "@bufbuild/protobuf",
  "@connectrpc/connect",
  "@connectrpc/connect-node",
  "@grpc/grpc-js",
  "async-mutex",
  "commander",
  "negotiator",
  "prom-client",
  "ulid",
];
/** Packages in CommonJS load Node's own modules by `require`. */
const BANNER = `#!/usr/bin/env node
import { createRequire as createRequireOfBundle } from "node:module";
const require = createRequireOfBundle(import.meta.url);`;
/** The entry points of the client's package. */
const CLIENT = {
  index: "clients/typescript/src/index.ts",
  gen: "clients/typescript/src/gen.ts",
  "adapters/ai-sdk": "clients/typescript/src/adapters/ai-sdk.ts",
  "adapters/claude-agent": "clients/typescript/src/adapters/claude-agent.ts",
  "adapters/openai-agents": "clients/typescript/src/adapters/openai-agents.ts",
};

/** Builds the program and the library into a folder, and removes what an earlier build left there. */
export async function buildInto(folder) {
  const builds = await Promise.all([
    bundle(folder, PROGRAM, {
      platform: "node",
      banner: { js: BANNER },
      packages: "bundle",
      external: await unbundled(),
    }),
    bundle(folder, LIBRARY, { platform: "node" }),
  ]);
  await writeFile(join(folder, LICENSES), await licensesOf(Object.keys(builds[0].inputs)));
  // The program reads the web page's files at run time, from a folder next to its code.
  await buildConsole(join(folder, "assets"));
  await chmod(join(folder, "main.js"), 0o755);
  await removeStale(folder, builds, (path) => path === LICENSES || path.startsWith("assets"));
}

/** Builds the client's package for browsers and Node.js into a folder, and removes what an earlier build left there. */
export async function buildClientInto(folder) {
  await removeStale(folder, [await bundle(folder, CLIENT, { platform: "neutral" })], () => false);
}

async function removeStale(folder, builds, isOther) {
  const outputs = builds.flatMap(({ outputs }) => Object.keys(outputs));
  const built = new Set(outputs.map((path) => relative(folder, join(ROOT, path))));
  const isKept = (path) => built.has(path) || path.startsWith("types") || isOther(path);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const stale = files.filter((path) => !isKept(relative(folder, path)));
  await Promise.all(stale.map((path) => rm(path)));
}

/** All packages that this one needs, except the bundled ones. What the bundled ones need is bundled with them. */
async function unbundled() {
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const all = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies });
  // grpc-js loads @grpc/proto-loader for services that the program does not offer.
  return [...all.filter((name) => !BUNDLED.includes(name) && name !== "@opentelemetry/api"), "@grpc/proto-loader"];
}

/** The licences of all packages that these files belong to. */
async function licensesOf(files) {
  const folders = files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const texts = [...new Set(folders)]
    .filter(Boolean)
    .sort()
    .map((folder) => licenseOf(join(ROOT, folder)));
  return `The program contains these packages.\n\n${(await Promise.all(texts)).join("\n")}`;
}

async function licenseOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((one) => /^(licen[cs]e|copying)/i.test(one));
  const text = file === undefined ? "" : `\n${await readFile(join(folder, file), "utf8")}`;
  return `${"=".repeat(80)}\n${name} ${version}, ${license}\n${text}`;
}

/** Resolves to esbuild's list of the files that it read and wrote. */
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
  return metafile;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await Promise.all([buildInto(resolve(ROOT, "dist")), buildClientInto(resolve(ROOT, "clients/typescript/dist"))]);
}
