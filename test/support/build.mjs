// Bundles src/main.ts and src/index.ts into dist/; packages stay outside the bundle, drivers load lazily.
import { existsSync } from "node:fs";
import { chmod, cp, rm } from "node:fs/promises";
import { build } from "esbuild";

await rm("dist", { recursive: true, force: true });
await build({
  entryPoints: ["src/main.ts", "src/index.ts"].filter(existsSync),
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  sourcemap: true,
  logLevel: "warning",
  banner: { js: "#!/usr/bin/env node" },
});
// Files of the web page are read at run time, beside the code.
await cp("src/console/assets", "dist/assets", { recursive: true });
await chmod("dist/main.js", 0o755);
