import { build, type Metafile } from "esbuild";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as library from "../../src/index.js";
import type { EngineOptions } from "../../src/storage/history/log-history-provider.js";

type EngineOnly = Exclude<keyof EngineOptions, keyof library.HistoryOptions> | "newUid" | "staleMs";

describe("the package", () => {
  it("loads no driver when it is imported, nor does the server before it opens a store", async () => {
    const { metafile } = await build({
      entryPoints: ["src/index.ts", "src/commands/serve.ts"],
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      packages: "external",
      outdir: "dist",
      write: false,
      metafile: true,
    });
    const [library, serve] = ["index.js", "commands/serve.js"].map((name) =>
      packagesAtStart(metafile.outputs, `dist/${name}`),
    );
    expect(library).toContain("async-mutex");
    expect(serve).toContain("pino");
    const drivers = ["libsql", "mongodb", "pg"];
    expect(drivers.filter((name) => library?.has(name) || serve?.has(name))).toEqual([]);
  });

  it("opens its SQLite provider by name", async () => {
    const storage = await library.SqliteStorageProvider.open(":memory:");
    const rootPool = new library.RootPool({ storage });
    const { sessionId } = await rootPool.sessions.createSession();
    expect(await rootPool.sessions.getMessageCount(sessionId)).toBe(0);
    await rootPool.close();
  });

  it("offers no settings of the engine with which it could lose messages", () => {
    // tsc checks these lines. When they run, they do nothing.
    expectTypeOf<keyof library.StorageOptions & EngineOnly>().toBeNever();
    expectTypeOf<keyof library.HistoryOptions & EngineOnly>().toBeNever();
  });

  it("rejects with unavailable when no MongoDB answers", async () => {
    const url = "mongodb://127.0.0.1:1/x";
    await expect(library.MongoStorageProvider.connect(url, { serverSelectionTimeoutMs: 50 })).rejects.toMatchObject({
      code: "unavailable",
    });
  });
});

/** Packages that are loaded with an output: those that it or one of its outputs imports statically. */
function packagesAtStart(outputs: Metafile["outputs"], path: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(path)) return packages;
  seen.add(path);
  for (const { path: imported, kind, external } of outputs[path]?.imports ?? []) {
    if (kind !== "import-statement") continue;
    if (external) packages.add(imported);
    else for (const name of packagesAtStart(outputs, imported, seen)) packages.add(name);
  }
  return packages;
}
