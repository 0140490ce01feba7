import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, install, ROOT, run } from "../support/toolchain.js";
import { PIP, PYTHON_CLIENT, preparePythonClient } from "./python.js";

/** A program for an environment that has only the package. It appends a message and reads it. */
const PROGRAM = `
import sys
from session_pool import SessionPoolClient, text, text_of
with SessionPoolClient(sys.argv[1]) as client:
    client.append("packed", text("user", "Hello"), create_session=True)
    print([text_of(message) for message in client.list_messages("packed")][-1])
`;

await describeWith("the package for PyPI", preparePythonClient, ({ program }) => {
  let folder: string;
  let server: TestServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-wheel-"));
    server = await startTestServer();
  });

  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("is an sdist that contains the protos, and a wheel built from it that works in an empty environment", async () => {
    await run(program, ["-m", "hatchling", "build", "--target", "sdist", "--directory", folder], {
      cwd: PYTHON_CLIENT,
    });
    const [sdist = ""] = await readdir(folder);
    expect(sdist).toBe(`session_pool-${version()}.tar.gz`);
    const unpacked = join(folder, "unpacked");
    await mkdir(unpacked);
    await run("tar", ["-xzf", join(folder, sdist), "-C", unpacked]);
    const source = join(unpacked, sdist.replace(".tar.gz", ""));
    await run(program, ["-m", "hatchling", "build", "--target", "wheel", "--directory", folder], { cwd: source });
    const wheel = (await readdir(folder)).find((name) => name.endsWith("-py3-none-any.whl")) ?? "";
    const listed = await run(program, ["-m", "zipfile", "--list", join(folder, wheel)]);
    for (const name of ["session_pool/_sync/client.py", "session_pool/py.typed", "licenses/LICENSE"])
      expect(listed).toContain(name);
    expect(listed).toContain("sessionpool/v1/message_service_pb2_grpc.pyi");
    expect(listed).not.toMatch(/\btests?\b|\.proto\b/);

    const empty = join(folder, "empty");
    await run("python3", ["-m", "venv", empty]);
    const python = join(empty, "bin/python");
    await install(python, [...PIP, join(folder, wheel)]);
    expect(await run(python, ["-c", PROGRAM, server.grpcAddress], { cwd: folder })).toBe("Hello\n");
  });

  it("has the version of the npm package", () => {
    expect(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version).toBe(version());
  });
});

function version(): string | undefined {
  return /^version = "(.*)"$/m.exec(readFileSync(join(PYTHON_CLIENT, "pyproject.toml"), "utf8"))?.[1];
}
