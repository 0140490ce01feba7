// Bundles the web page in src/console/app. The bundle holds everything it needs, so the page loads nothing from
// elsewhere.
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const APP = "src/console/app";

/** Builds into a folder, and leaves other files there alone. */
export async function buildConsole(folder) {
  await mkdir(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      { in: `${APP}/main.tsx`, out: "console" },
      { in: `${APP}/docs/docs.ts`, out: "docs" },
      { in: `${APP}/style/index.css`, out: "console" },
    ],
    outdir: folder,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  for (const page of ["console.html", "docs.html"]) await cp(join(ROOT, APP, page), join(folder, page));
  await writeFile(join(folder, "LICENSES.txt"), await licensesOf(metafile));
}

/**
 * The licences of the packages in the bundle, and of what these packages have bundled themselves. The licences require
 * that they are passed on.
 */
async function licensesOf({ inputs }) {
  const paths = Object.keys(inputs).filter((path) => path.includes("node_modules/"));
  const packages = new Set(paths.map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)[1]));
  const texts = [...packages].sort().map(async (name) => {
    const base = join(ROOT, "node_modules", name);
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((one) => join(base, one)).find((one) => existsSync(one));
    if (file === undefined) throw new Error(`${name} has no file with its licence`);
    const bundled = paths.filter((path) => path.includes(`node_modules/${name}/`)).map((path) => `${path}.LICENSE.txt`);
    const files = [file, join(base, "NOTICE"), ...bundled.map((path) => join(ROOT, path))].filter((one) =>
      existsSync(one),
    );
    const parts = await Promise.all(files.map(async (one) => (await readFile(one, "utf8")).trim()));
    return `${name}\n\n${parts.join("\n\n")}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
