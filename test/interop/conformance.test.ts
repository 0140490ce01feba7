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
    const { passed, failed } = await runAgainst("http");
    expect(failed).toBe(0);
    expect(passed).toBeGreaterThan(1500);
  });

  it("confirms that the gRPC port speaks gRPC", async () => {
    const { passed, failed } = await runAgainst("grpc");
    expect(failed).toBe(0);
    expect(passed).toBeGreaterThan(450);
  });

  async function runAgainst(front: "http" | "grpc") {
    const built = join(ROOT, "node_modules/.cache/conformance-server", `${process.pid}.mjs`);
    await buildConformanceServer(built);
    vi.stubEnv("CONFORMANCE_DESCRIPTORS", descriptors);
    const { listenForRunners }: typeof import("./conformance/server.js") = await import(pathToFileURL(built).href);
    const folder = mkdtempSync(join(tmpdir(), "session-pool-runner-"));
    const path = join(folder, "socket");
    const server = listenForRunners(path, front);
    onTestFinished(() => {
      server.close();
      rmSync(folder, { recursive: true });
    });
    const config = fileURLToPath(new URL(`./conformance/${front}.yaml`, import.meta.url));
    const flags = ["--mode", "server", "--conf", config, "--parallel", "4", "--max-servers", "2"];
    const output = await run(runner, [...flags, "--", process.execPath, RELAY, path]);
    const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(output) ?? [];
    return { passed: Number(passed), failed: Number(failed) };
  }
});
