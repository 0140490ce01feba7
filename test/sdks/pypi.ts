import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { cached, install, needPrograms, PROTO_FOLDER, run } from "../support/toolchain.js";
import type { Outcome, Outcomes } from "./suite.js";

const PLUGINS = join(import.meta.dirname, "python");
const PYTHON_CLIENT = join(import.meta.dirname, "../../clients/python");
const CLIENT_NEEDS = ["googleapis-common-protos", "grpcio", "protobuf"];
const INSTALL = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"];
const MOST_TIME_MS = 10 * 60_000;

export interface PreparedSuite {
  /** The SDK with its version, as in `openai-agents 0.24.0`. */
  readonly sdk: string;
  /** The unpacked source distribution, which holds the tests. */
  readonly source: string;
  readonly python: string;
  /** The folder that holds our package. */
  readonly ourPackage: string;
}

/** Installs the newest version of a package with its tests, what else the tests need, and our package. */
export async function preparePythonSuite(name: string, needs: readonly string[]): Promise<PreparedSuite> {
  needPrograms("python3", "tar");
  const pythonVersion = await run("python3", ["-c", "import sys; print(sys.version)"]);
  const pins = await newest(pythonVersion, [...needs, ...CLIENT_NEEDS]);
  const folder = await cached(`sdk-${name}`, [pythonVersion, ...pins], async (made) => {
    const python = join(made, "bin/python");
    await install("python3", ["-m", "venv", made]);
    await install(python, [...INSTALL, "--prefer-binary", ...pins]);
    await unpackSource(python, pins.find((pin) => pin.startsWith(`${name}==`)) ?? name, join(made, "source"));
  });
  const python = join(folder, "bin/python");
  const inputs = [pythonVersion, PYTHON_CLIENT, PROTO_FOLDER];
  const ourPackage = await cached("sdk-our-python-package", inputs, (made) =>
    install(python, [...INSTALL, "--no-deps", "--target", made, PYTHON_CLIENT]),
  );
  const [source = ""] = await readdir(join(folder, "source"));
  const version = pins.find((pin) => pin.startsWith(`${name}==`))?.slice(name.length + 2);
  return { sdk: `${name} ${version}`, source: join(folder, "source", source), python, ourPackage };
}

/** The newest versions that fit together, as `name==version`. */
async function newest(pythonVersion: string, packages: readonly string[]): Promise<string[]> {
  const folder = await cached("sdk-pip", [pythonVersion], async (made) => {
    await install("python3", ["-m", "venv", made]);
    await install(join(made, "bin/python"), [...INSTALL, "--upgrade", "pip"]);
  });
  const made = await mkdtemp(join(tmpdir(), "session-pool-pip-"));
  try {
    const report = join(made, "report.json");
    const options = ["--dry-run", "--ignore-installed", "--prefer-binary", "--report", report];
    await install(join(folder, "bin/python"), [...INSTALL, ...options, ...packages]);
    const { install: found } = JSON.parse(await readFile(report, "utf8"));
    return found
      .map(({ metadata }: { metadata: { name: string; version: string } }) => `${metadata.name}==${metadata.version}`)
      .sort();
  } finally {
    await rm(made, { recursive: true });
  }
}

async function unpackSource(python: string, pin: string, folder: string): Promise<void> {
  const name = pin.replace(/==.*/, "");
  const download = ["-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"];
  await mkdir(folder);
  await install(python, [...download, "--no-binary", name, "--dest", folder, pin]);
  const [archive = ""] = await readdir(folder);
  await run("tar", ["-xzf", join(folder, archive), "-C", folder]);
  await rm(join(folder, archive));
}

export interface Pytest {
  /** The files and folders of the source whose tests run. */
  readonly tests: readonly string[];
  /** Our plug-in that replaces the store. */
  readonly plugin: string;
  readonly options?: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs tests of the SDK. Resolves to the outcomes of those that have used our store, by their names. */
export async function runPytest(
  { python, source, ourPackage }: PreparedSuite,
  { tests, plugin, options = [], env }: Pytest,
): Promise<Outcomes> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-sdk-"));
  const results = join(folder, "outcomes.json");
  const paths = [PLUGINS, join(source, "src"), source, ourPackage].join(delimiter);
  const pytest = ["-m", "pytest", "--quiet", "-p", "outcomes", "-p", plugin, "-p", "no:cacheprovider", ...options];
  try {
    // Pytest exits with 1 when a test fails; a run that was not begun or not ended leaves no results.
    const error = await promisify(execFile)(python, [...pytest, ...tests], {
      cwd: source,
      timeout: MOST_TIME_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", PYTHONPATH: paths, OUTCOMES: results, ...env },
    }).catch((failure: { stdout?: string; stderr?: string }) => failure);
    const written = await readFile(results, "utf8").catch(() => {
      throw new Error(`Pytest wrote no results:\n${error.stdout}${error.stderr}`);
    });
    const all = Object.entries(JSON.parse(written) as Record<string, Outcome & { stored: boolean }>);
    return new Map(all.filter(([, { stored }]) => stored));
  } finally {
    await rm(folder, { recursive: true });
  }
}
