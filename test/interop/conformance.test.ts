import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { cached, describeWith, install, ROOT, run } from "../support/toolchain.js";
import { buildConformanceServer } from "./conformance/build.js";
import { goPrograms } from "./go.js";

const MODULE = "connectrpc.com/conformance";
const VERSION = "v1.0.7";
const RELAY = fileURLToPath(new URL("./conformance/relay.mjs", import.meta.url));
const CONFIG = fileURLToPath(new URL("./conformance/config.yaml", import.meta.url));

interface Conformance {
  readonly runner: string;
  readonly descriptors: string;
}

async function prepare(): Promise<Conformance> {
  const programs = await goPrograms("connectconformance", [`${MODULE}/cmd/connectconformance@${VERSION}`]);
  const built = await cached("conformance-protos", [MODULE, VERSION], async (folder) => {
    await install("go", ["mod", "download", `${MODULE}@${VERSION}`]);
    const modules = (await run("go", ["env", "GOMODCACHE"])).trim();
    await run("npx", [
      "buf",
      "build",
      join(modules, `${MODULE}@${VERSION}`, "proto"),
      "-o",
      join(folder, "image.binpb"),
    ]);
  });
  return { runner: join(programs, "connectconformance"), descriptors: join(built, "image.binpb") };
}

await describeWith("Connect's conformance runner", prepare, ({ runner, descriptors }) => {
  it("confirms that the HTTP port speaks Connect, gRPC-Web and gRPC", async () => {
    const built = join(ROOT, "node_modules/.cache/conformance-server", `${process.pid}.mjs`);
    await buildConformanceServer(built);
    vi.stubEnv("CONFORMANCE_DESCRIPTORS", descriptors);
    const { listenForRunners }: typeof import("./conformance/server.js") = await import(pathToFileURL(built).href);
    const folder = mkdtempSync(join(tmpdir(), "session-pool-runner-"));
    const path = join(folder, "socket");
    const server = listenForRunners(path);
    onTestFinished(() => {
      server.close();
      rmSync(folder, { recursive: true });
    });
    const flags = ["--mode", "server", "--conf", CONFIG, "--parallel", "4", "--max-servers", "2"];
    const output = await run(runner, [...flags, "--", process.execPath, RELAY, path]);
    const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(output) ?? [];
    expect({ failed }).toEqual({ failed: "0" });
    expect(Number(passed)).toBeGreaterThan(1500);
  });
});
