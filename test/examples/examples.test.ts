import { readFileSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { preparePythonClient } from "../clients/python.js";
import { goPrograms } from "../interop/go.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { cached, describeWith, install, needPrograms, PROTO_FOLDER, ROOT, run } from "../support/toolchain.js";

const EXAMPLES = join(ROOT, "examples");
/** The plugins that examples/README.md installs. */
const GO_PLUGINS = [
  "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
  "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
];

/** The output that examples/README.md shows, which is its only block of plain text. */
const promised = /^```text\n(.*?)\n```$/ms.exec(readFileSync(join(EXAMPLES, "README.md"), "utf8"))?.[1];

interface Example {
  readonly program: string;
  readonly args: (server: TestServer) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

await describeExample("Python", async () => {
  const { program, env } = await preparePythonClient();
  return { program, env, args: ({ grpcAddress }) => [join(EXAMPLES, "python/conversation.py"), grpcAddress] };
});

await describeExample("TypeScript", async () => {
  // The bundle is built below node_modules, so that it finds the packages.
  const outfile = join(ROOT, "node_modules/.cache/examples/conversation.mjs");
  await build({
    entryPoints: [join(EXAMPLES, "typescript/conversation.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    outfile,
    logLevel: "silent",
  });
  return { program: process.execPath, args: ({ httpUrl }) => [outfile, httpUrl] };
});

await describeExample("Go", async () => {
  needPrograms("go");
  const plugins = await goPrograms("go-example-plugins", GO_PLUGINS);
  const folder = await cached("go-example", [join(EXAMPLES, "go"), PROTO_FOLDER, ...GO_PLUGINS], async (made) => {
    const module = join(made, "examples/go");
    await mkdir(module, { recursive: true });
    await cp(join(EXAMPLES, "go"), module, { recursive: true });
    const env = { PATH: `${plugins}${delimiter}${process.env.PATH}` };
    await run("npx", ["buf", "generate", "--template", "examples/go/buf.gen.yaml", "-o", made], { env });
    await install("go", ["mod", "download"], { cwd: module });
    await run("go", ["build", "-o", "conversation", "."], { cwd: module });
  });
  return { program: join(folder, "examples/go/conversation"), args: ({ grpcAddress }) => [grpcAddress] };
});

/** Runs a program of examples/ against a server. */
function describeExample(language: string, prepare: () => Promise<Example>): Promise<void> {
  return describeWith(`the example in ${language}`, prepare, ({ program, args, env }) => {
    let server: TestServer;

    beforeAll(async () => {
      server = await startTestServer();
    });

    afterAll(() => server.stop());

    it("prints what examples/README.md says", async () => {
      const printed = await run(program, args(server), env === undefined ? {} : { env });
      expect(printed.trim()).toBe(promised);
    });
  });
}
