import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";
import { cached, describeWith, install, needPrograms, PROTO_FOLDER, run } from "../support/toolchain.js";
import { documentedProgram, promisedLines } from "./documented.js";

const program = documentedProgram("rust", "MessageServiceClient");

/** Builds the project that docs/clients.md describes, with the address as an argument. Resolves to the program. */
async function prepareRust(): Promise<string> {
  needPrograms("cargo");
  const manifest = documentedProgram("toml", "tonic");
  const build = documentedProgram("rust", "protox::compile");
  const main = program.replace('"http://127.0.0.1:50051"', "std::env::args().nth(1).unwrap()");
  const built = await cached("rust-example", [manifest, build, main, PROTO_FOLDER], async (folder) => {
    await mkdir(join(folder, "src"));
    await cp(PROTO_FOLDER, join(folder, "proto"), { recursive: true });
    await writeFile(join(folder, "Cargo.toml"), manifest);
    await writeFile(join(folder, "build.rs"), build);
    await writeFile(join(folder, "src/main.rs"), main);
    await install("cargo", ["fetch", "--quiet"], { cwd: folder });
    await run("nice", ["-n", "10", "cargo", "build", "--quiet", "--offline"], { cwd: folder });
  });
  return join(built, "target/debug/trip");
}

await describeWith("the program of docs/clients.md in Rust", prepareRust, (path) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(() => server?.stop());

  it("prints what its comments say", async () => {
    const printed = await run(path, [`http://${server.grpcAddress}`]);
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(program));
  });
});
