import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { cached, install, needPrograms, PROTO_FOLDER, run } from "../support/toolchain.js";

const PACKAGES = ["grpcio==1.85.1", "grpcio-tools==1.85.1", "googleapis-common-protos==1.76.0"];

/** A Python with grpcio, and where stubs of proto/ can be imported from. */
export interface Python {
  readonly program: string;
  readonly env: { readonly PYTHONPATH: string };
}

export async function preparePython(): Promise<Python> {
  needPrograms("python3");
  const environment = await cached("python", PACKAGES, async (folder) => {
    await install("python3", ["-m", "venv", folder]);
    await install(join(folder, "bin/python"), ["-m", "pip", "install", "--quiet", ...PIP_FLAGS, ...PACKAGES]);
  });
  const program = join(environment, "bin/python");
  const stubs = await cached("python-stubs", [...PACKAGES, PROTO_FOLDER], (folder) => generate(program, folder));
  return { program, env: { PYTHONPATH: stubs } };
}

const API = "sessionpool/v1";
const PIP_FLAGS = ["--disable-pip-version-check", "--only-binary=:all:"];

async function generate(program: string, folder: string): Promise<void> {
  const files = (await readdir(join(PROTO_FOLDER, API))).filter((name) => name.endsWith(".proto"));
  const outputs = [`--python_out=${folder}`, `--grpc_python_out=${folder}`];
  await run(program, [
    "-m",
    "grpc_tools.protoc",
    `-I${PROTO_FOLDER}`,
    ...outputs,
    ...files.map((name) => `${API}/${name}`),
  ]);
}
