// Bundles the program and the library, and the client, which is a package of its own. All packages are bundled with the
// program and the library, except those that the manifest names as dependencies or peers. Bundled packages are
// development dependencies, so nobody who installs ours installs them.
import { chmod, cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildConsole } from "./build-console.mjs";
import { compactDescriptors } from "./compact-descriptors.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LICENSES = "THIRD-PARTY-LICENSES.txt";

/** The program, and the library for programs that embed the service or test a store. Both run in Node.js only. */
const PROGRAM = { main: "src/main.ts" };
const LIBRARY = { index: "src/index.ts", testing: "test/contract/testing.ts" };
/** What the code that is bundled must say in another way, because there it is in one file with other modules. */
const REWRITES = [
  // esbuild bundles what these load on first use by the `require` in the banner.
  {
    files: /src\/server\/(logging|grpc\/reflection)\.ts$/,
    from: "const require = createRequire(import.meta.url);",
    to: "",
  },
  // The package reads its own protos when reflection is first used.
  { files: /@grpc\/reflection\/.*\/reflection-v1(alpha)?\.js$/, from: "'../../proto/grpc/", to: "'reflection/grpc/" },
];
const REFLECTION_PROTOS = "node_modules/@grpc/reflection/build/proto/grpc";
/** What packages in CommonJS expect to find. */
const BANNER = `#!/usr/bin/env node
import { createRequire as createRequireOfBundle } from "node:module";
const require = createRequireOfBundle(import.meta.url);
const __dirname = import.meta.dirname;`;
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
  const options = { platform: "node", packages: "bundle", external: await unbundled() };
  const builds = await Promise.all([
    bundle(folder, PROGRAM, { ...options, banner: { js: BANNER }, plugins: [rewrites] }),
    bundle(folder, LIBRARY, options),
  ]);
  await writeFile(join(folder, LICENSES), await licensesOf(builds.flatMap(({ inputs }) => Object.keys(inputs))));
  // The program reads the web page's files at run time, from a folder next to its code.
  await buildConsole(join(folder, "assets"));
  await cp(join(ROOT, REFLECTION_PROTOS), join(folder, "reflection/grpc"), { recursive: true });
  await chmod(join(folder, "main.js"), 0o755);
  await removeStale(folder, builds, (path) => path === LICENSES || /^(assets|reflection)/.test(path));
}

/** Builds the client's package for browsers and Node.js into a folder, and removes what an earlier build left there. */
export async function buildClientInto(folder) {
  const options = { platform: "neutral", sourcemap: false, plugins: [compactDescriptors] };
  await removeStale(folder, [await bundle(folder, CLIENT, options)], () => false);
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

/** The drivers of the stores, and what only users who trace calls install. */
async function unbundled() {
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  return Object.keys({ ...dependencies, ...peerDependencies });
}

const rewrites = {
  name: "rewrites",
  setup({ onLoad }) {
    for (const { files, from, to } of REWRITES) {
      onLoad({ filter: files }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        if (!source.includes(from)) throw new Error(`${path} does not contain ${from}`);
        return { contents: source.replace(from, to), loader: path.endsWith(".ts") ? "ts" : "js" };
      });
    }
  },
};

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
