// Bundles the web page in src/console/app. The bundle holds everything it needs, so the page loads nothing from
// elsewhere.
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const APP = "src/console/app";
/** How the names of the files begin that are loaded on demand. `src/console/pages.ts` serves them. */
const PIECE = "piece-";
const SCRIPT = '<script type="module" src="console/console.js">';

/** Builds into a folder, and leaves other files there alone. */
export async function buildConsole(folder) {
  await mkdir(folder, { recursive: true });
  const options = {
    absWorkingDir: ROOT,
    outdir: folder,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
    plugins: [withoutStyleElements],
  };
  // What is not needed at first becomes files of its own, which the page loads when they are opened. The two pages are
  // built apart, because what both need would otherwise be one more file to load at first.
  for (const old of (await readdir(folder)).filter((name) => name.startsWith(PIECE))) await rm(join(folder, old));
  const builds = await Promise.all([
    build({
      ...options,
      entryPoints: [
        { in: `${APP}/main.tsx`, out: "console" },
        { in: `${APP}/style/index.css`, out: "console" },
      ],
      splitting: true,
      chunkNames: `${PIECE}[name]-[hash]`,
    }),
    build({ ...options, entryPoints: [{ in: `${APP}/docs/docs.ts`, out: "docs" }] }),
  ]);
  await cp(join(ROOT, APP, "docs.html"), join(folder, "docs.html"));
  const page = await readFile(join(ROOT, APP, "console.html"), "utf8");
  await writeFile(join(folder, "console.html"), page.replace(SCRIPT, `${preloads(builds[0].metafile)}${SCRIPT}`));
  await writeFile(join(folder, "LICENSES.txt"), await licensesOf(builds));
}

/** Has the browser load what the script imports at the same time as the script. */
function preloads({ outputs }) {
  const [, { imports }] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `${APP}/main.tsx`);
  const files = imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => basename(path));
  return files.map((file) => `<link rel="modulepreload" href="console/${file}">\n    `).join("");
}

/**
 * Plots bring a style element, which the Content-Security-Policy of the page refuses. The page's own style sheet has
 * its rules.
 */
const withoutStyleElements = {
  name: "without-style-elements",
  setup({ onLoad }) {
    onLoad({ filter: /@observablehq\/plot\/src\/plot\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const made = 'svg.append("style").text(';
      if (!source.includes(made)) throw new Error(`${path} does not contain ${made}`);
      return { contents: source.replace(made, "void ("), loader: "js" };
    });
  },
};

/**
 * The licences of the packages in the bundle, and of what these packages have bundled themselves. The licences require
 * that they are passed on.
 */
async function licensesOf(builds) {
  const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const paths = inputs.filter((path) => path.includes("node_modules/"));
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
