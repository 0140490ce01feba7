// Bundles src/main.ts and src/index.ts; packages stay outside the bundle, drivers load lazily.
import { existsSync } from "node:fs";
import { chmod, cp, readdir, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Builds into a folder, and removes what an earlier build left there. */
export async function buildInto(folder) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["src/main.ts", "src/index.ts"].filter((path) => existsSync(join(ROOT, path))),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    sourcemap: true,
    metafile: true,
    logLevel: "warning",
    banner: { js: "#!/usr/bin/env node" },
  });
  // The web page's files are read at run time, beside the code.
  await cp(join(ROOT, "src/console/assets"), join(folder, "assets"), { recursive: true });
  await chmod(join(folder, "main.js"), 0o755);
  const built = new Set([...Object.keys(metafile.outputs).map((path) => basename(path)), "assets", "types"]);
  const stale = (await readdir(folder)).filter((name) => !built.has(name));
  await Promise.all(stale.map((name) => rm(join(folder, name), { recursive: true })));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildInto(resolve(ROOT, "dist"));
