import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cached, install, needPrograms, PROTO_FOLDER, ROOT, run } from "../support/toolchain.js";

const SOURCES = fileURLToPath(new URL("./go", import.meta.url));
const GENERATORS = [
  "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
  "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
  "connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1",
];

/** Builds the scenario's client with grpc-go and connect-go and stubs of proto/; resolves to the program. */
export async function prepareGo(): Promise<string> {
  needPrograms("go");
  const generators = await goPrograms("go-generators", GENERATORS);
  const built = await cached("go-client", [SOURCES, PROTO_FOLDER, ...GENERATORS], async (folder) => {
    await cp(SOURCES, folder, { recursive: true });
    await generate(generators, folder);
    await install("go", ["mod", "download"], { cwd: folder });
    await run("go", ["build", "-o", "scenario", "."], { cwd: folder });
  });
  return join(built, "scenario");
}

/** Resolves to a folder with programs that are built from modules of the Go module proxy. */
export function goPrograms(name: string, modules: readonly string[]): Promise<string> {
  needPrograms("go");
  return cached(name, modules, async (folder) => {
    for (const module of modules) await install("go", ["install", module], { env: { GOBIN: folder, GOFLAGS: "" } });
  });
}

async function generate(generators: string, folder: string): Promise<void> {
  const plugins = ["protoc-gen-go", "protoc-gen-go-grpc", "protoc-gen-connect-go"].map((name) => ({
    local: join(generators, name),
    out: join(folder, "gen"),
    opt: ["paths=source_relative"],
  }));
  const override = [{ file_option: "go_package_prefix", value: "sessionpool.test/interop/gen" }];
  // Google's own files name their Go packages.
  const disable = [{ file_option: "go_package_prefix", path: "google/api" }];
  const inputs = [{ directory: ROOT, paths: [join(PROTO_FOLDER, "sessionpool")] }];
  const template = { version: "v2", managed: { enabled: true, override, disable }, inputs, plugins };
  await mkdir(join(folder, "gen"), { recursive: true });
  await writeFile(join(folder, "buf.gen.json"), JSON.stringify(template));
  await run("npx", ["buf", "generate", "--template", join(folder, "buf.gen.json")]);
}
