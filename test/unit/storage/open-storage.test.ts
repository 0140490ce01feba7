import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import { MemoryStorageProvider } from "../../../src/storage/memory/memory-storage-provider.js";
import { openDatabase, openStorage } from "../../../src/storage/open-storage.js";
import { SqliteStorageProvider } from "../../../src/storage/sqlite/sqlite-storage-provider.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("openDatabase", () => {
  it.each([
    ["memory:", "memory:"],
    ["sqlite::memory:", "sqlite::memory:"],
    [`sqlite:${folder}/a.db`, `sqlite:${folder}/a.db`],
    [`sqlite://${folder}/a.db`, `sqlite:${folder}/a.db`],
  ])("opens %s", async (url, name) => {
    const database = await openDatabase(url);
    expect(database.name).toBe(name);
    await expect(database.namespace("a").ping()).resolves.toBeUndefined();
    await database.close();
  });

  it("uses the characters of a path unchanged", async () => {
    const path = join(folder, "100% sure?mode=ro#x y.db");
    const database = await openDatabase(`sqlite:${path}`);
    await database.close();
    expect(existsSync(path)).toBe(true);
    expect(existsSync(pathToFileURL(path).pathname)).toBe(false);
  });

  it.each(["", "a.db", "./a.db", "mysql://a/b", "SQLITE:a.db", "http://a"])(
    "refuses %j, and names the URLs that it accepts",
    async (url) => {
      await expect(openDatabase(url)).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringMatching(/sqlite:.*memory:.*postgres:\/\/.*postgresql:\/\/.*mongodb:\/\/.*mongodb\+srv:/),
      });
    },
  );

  it.each(["sqlite:", "memory:a", "mongodb://", "postgres://a/b?connections=0"])(
    "refuses the incomplete %j",
    async (url) => {
      await expect(openDatabase(url)).rejects.toMatchObject({ code: "invalid_argument" });
    },
  );
});

describe("openDatabase with create: false", () => {
  it("refuses a missing file, names it, and makes nothing", async () => {
    const path = join(folder, "typo", "pool.db");
    await expect(openDatabase(`sqlite:${path}`, { create: false })).rejects.toMatchObject({
      code: "failed_precondition",
      message: `There is no database ${path}`,
    });
    expect(existsSync(join(folder, "typo"))).toBe(false);
  });

  it("opens an existing file", async () => {
    const url = `sqlite:${join(folder, "there.db")}`;
    await (await openDatabase(url)).close();
    const database = await openDatabase(url, { create: false });
    await expect(database.namespace("a").ping()).resolves.toBeUndefined();
    await database.close();
  });

  it("refuses memory:, which cannot hold data of other processes", async () => {
    await expect(openDatabase("memory:", { create: false })).rejects.toMatchObject({ code: "failed_precondition" });
  });
});

describe("openStorage", () => {
  it("loads only the driver that it needs", async () => {
    const { outputs } = (await bundle()).metafile;
    const packagesOf = (output: string): string[] =>
      (outputs[output]?.imports ?? [])
        .filter(({ kind }) => kind === "import-statement")
        .flatMap(({ path, external }) => (external ? [path] : packagesOf(path)));
    const outputOf = (source: string) =>
      Object.keys(outputs).find((output) => outputs[output]?.entryPoint === source) as string;
    expect(packagesOf(outputOf("src/storage/sqlite/sqlite-log-database.ts"))).toContain("libsql");
    for (const source of ["open-storage.ts", "memory/memory-log-database.ts"]) {
      const packages = packagesOf(outputOf(`src/storage/${source}`));
      expect(packages.filter((name) => name === "libsql" || name === "mongodb")).toEqual([]);
    }
  });

  it("has one provider for each namespace, and keeps namespaces apart", async () => {
    const storage = await openStorage("sqlite::memory:");
    expect(storage.name).toBe("sqlite::memory:");
    expect(storage.provider("a")).toBe(storage.provider("a"));
    await storage.provider("a").createSession({ sessionId: "s", title: "of a" });
    await storage.provider("b").createSession({ sessionId: "s", title: "of b" });
    expect(await storage.provider("a").getSession("s")).toMatchObject({ title: "of a" });
    expect(await storage.provider("b").getSession("s")).toMatchObject({ title: "of b" });
    expect(await storage.listNamespaces()).toEqual(["a", "b"]);
    await storage.provider("a").close();
    await storage.close();
    await expect(storage.provider("a").getSession("s")).rejects.toMatchObject({ code: "unavailable" });
  });

  it("passes on limits and the logger", async () => {
    const warnings: unknown[] = [];
    const logger = { warn: (...all: unknown[]) => warnings.push(all) };
    const storage = await openStorage("memory:", { limits: { futureMs: 1 }, logger });
    const provider = storage.provider("a");
    await provider.createSession({ sessionId: "s" });
    const early = { role: "user", parts: [], timestampMicros: (Date.now() + 60_000) * 1000 };
    await expect(provider.logMessages("s", [early])).rejects.toMatchObject({ code: "invalid_argument" });
    expect(warnings).toEqual([]);
    await storage.close();
  });
});

describe("providers for programs that embed this package", () => {
  it.each([
    ["MemoryStorageProvider", async () => new MemoryStorageProvider()],
    ["SqliteStorageProvider", () => SqliteStorageProvider.open(join(folder, "own", "b.db"))],
  ])("%s keeps sessions, and closes its own database", async (_name, open) => {
    const provider = await open();
    expect(provider).toBeInstanceOf(LogHistoryProvider);
    await provider.createSession({ sessionId: "s" });
    await provider.logMessages("s", [{ role: "user", parts: [] }]);
    expect(await provider.getMessageCount("s")).toBe(1);
    await provider.close();
    await expect(provider.getMessageCount("s")).rejects.toMatchObject({ code: "unavailable" });
  });
});

/** Bundles open-storage with its imports, as for the package. */
function bundle() {
  return build({
    entryPoints: ["src/storage/open-storage.ts"],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    outdir: folder,
    write: false,
    metafile: true,
  });
}
