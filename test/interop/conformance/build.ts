import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { ROOT } from "../../support/toolchain.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/**
 * Two replacements in the source of the Connect front, for things that the API has no use for: the implementation sees
 * the call as connect-node shows it, so that it can set headers and trailers, and its errors may have details.
 */
const CHANGES: readonly (readonly [string, string])[] = [
  [
    'const call = await startCall("connect", pipeline, method, exchange, exchange.signal);',
    'const call = { ...(await startCall("connect", pipeline, method, exchange, exchange.signal)), context, request: exchange.request };',
  ],
  [
    "function toConnectError(error: unknown): ConnectError {",
    "function toConnectError(error: unknown): ConnectError {\n  if (error instanceof ConnectError) return error;",
  ],
];

const conformance: Plugin = {
  name: "conformance",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/api\/method-table\.js$/ }, () => ({ path: join(HERE, "methods.ts") }));
    onResolve({ filter: /\/binary-writer\.js$/ }, () => ({ path: join(HERE, "binary-writer.ts") }));
    onLoad({ filter: /\/src\/server\/connect\/connect\.ts$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [before, after] of CHANGES) {
        if (!contents.includes(before)) throw new Error(`${path} no longer has ${before}`);
        contents = contents.replace(before, after);
      }
      return { contents, loader: "ts" };
    });
  },
};

export async function buildConformanceServer(outfile: string): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: [join(HERE, "server.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    plugins: [conformance],
    logLevel: "warning",
  });
}
