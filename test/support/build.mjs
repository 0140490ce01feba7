// Bundles src/main.ts and src/index.ts into dist/; packages stay outside the bundle, drivers load lazily.
import { rm } from "node:fs/promises";
import { build } from "esbuild";

await rm("dist", { recursive: true, force: true });
await build({
	entryPoints: ["src/main.ts", "src/index.ts"],
	outdir: "dist",
	bundle: true,
	splitting: true,
	format: "esm",
	platform: "node",
	target: "node20.19",
	packages: "external",
	sourcemap: true,
	logLevel: "warning",
});
