import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { ROOT } from "../../support/toolchain.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** What the source of the HTTP port does not do, because the API has no trailers of its own. */
const BEFORE = "error === undefined ? GOOD_ENDINGS[format.protocol] : endingOf(format.protocol, error)";
const AFTER = "endingOf(format.protocol, error, new Headers((response as { ending?: Headers }).ending))";

/** The implementation of the API is replaced by that of the runner's service, which is shown what it asks for. */
const conformance: Plugin = {
  name: "conformance",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/api\/method-table\.js$/ }, () => ({ path: join(HERE, "methods.ts") }));
    onResolve({ filter: /\/binary-writer\.js$/ }, () => ({ path: join(HERE, "binary-writer.ts") }));
    onResolve({ filter: /\/rpc\/handler\.js$/ }, ({ importer }) =>
      importer.endsWith("http-server.ts") ? { path: join(HERE, "rpc-handler.ts") } : undefined,
    );
    onResolve({ filter: /^@grpc\/grpc-js$/ }, ({ importer }) =>
      importer.includes("/src/server/grpc/") ? { path: join(HERE, "grpc-js.ts") } : undefined,
    );
    onLoad({ filter: /\/src\/server\/rpc\/answer\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!source.includes(BEFORE)) throw new Error(`${path} no longer has ${BEFORE}`);
      return { contents: source.replace(BEFORE, AFTER), loader: "ts" };
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
