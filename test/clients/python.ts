import { join } from "node:path";
import { cached, install, needPrograms, PROTO_FOLDER, ROOT, run } from "../support/toolchain.js";

export const PYTHON_CLIENT = join(ROOT, "clients/python");

/** The packages that build ours, as in its pyproject.toml. */
const BUILD = ["hatchling==1.33.0", "grpcio-tools==1.76.0", "mypy-protobuf==3.7.0", "unasync==0.6.0"];
const RUN = ["googleapis-common-protos==1.76.0", "grpcio==1.85.1", "protobuf==6.33.6"];
/** The frameworks that we have adapters for, and LangGraph, which docs/clients.md shows beside one. */
const FRAMEWORKS = [
  "claude-agent-sdk==0.2.189",
  "langchain-core==1.8.3",
  "langgraph==1.2.24",
  "openai-agents[encrypt]==0.24.0",
];
/** Installs this package from source, because its wheels hold a program of 350 MB that no test calls. */
const SOURCES = ["--no-binary", "claude-agent-sdk"];
const CHECK = [
  "hypothesis==6.170.17",
  "mypy==2.4.1",
  "pytest==9.2.0",
  "pytest-asyncio==1.5.0",
  "types-grpcio",
  "types-protobuf",
];

export const PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"];

export interface PythonClient {
  /** The path of a Python that has the package and the dependencies of its tests. */
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Makes an environment with the client in its current state, the frameworks that it has adapters for, and the
 * dependencies of its tests.
 */
export async function preparePythonClient(): Promise<PythonClient> {
  needPrograms("python3");
  const version = await run("python3", ["-c", "import sys; print(sys.version)"]);
  const packages = [...BUILD, ...RUN, ...CHECK, ...FRAMEWORKS];
  const environment = await cached("python-client", [version, ...packages], async (folder) => {
    await install("python3", ["-m", "venv", folder]);
    await install(join(folder, "bin/python"), [...PIP, "--prefer-binary", ...SOURCES, ...packages]);
  });
  const program = join(environment, "bin/python");
  const inputs = [version, ...packages, PYTHON_CLIENT, PROTO_FOLDER];
  const site = await cached("python-client-package", inputs, async (folder) => {
    await install(program, [...PIP, "--no-build-isolation", "--no-deps", "--target", folder, PYTHON_CLIENT]);
  });
  // Nothing may be written into the sources of the package, because they are inputs of the cache.
  const outside = { PYTHONDONTWRITEBYTECODE: "1", HYPOTHESIS_STORAGE_DIRECTORY: join(environment, "hypothesis") };
  return { program, env: { PYTHONPATH: site, MYPYPATH: site, ...outside } };
}
