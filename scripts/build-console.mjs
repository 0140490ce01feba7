// Bundles the web page in src/console/app; whatever it needs is in the bundle, so that it loads nothing from elsewhere.
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const APP = "src/console/app";

/** Builds into a folder, beside what is there. */
export async function buildConsole(folder) {
  await mkdir(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      { in: `${APP}/main.tsx`, out: "console" },
      { in: `${APP}/docs/docs.tsx`, out: "docs" },
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

/** The licences of the packages that are part of the bundle, as they ask for. */
async function licensesOf({ inputs }) {
  const packages = new Set(
    Object.keys(inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  const texts = [...packages].sort().map(async (name) => {
    const base = join(ROOT, "node_modules", name);
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((one) => join(base, one)).find((one) => existsSync(one));
    if (file === undefined) throw new Error(`${name} has no file with its licence`);
    return `${name}\n\n${(await readFile(file, "utf8")).trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
