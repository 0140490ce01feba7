import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT, run } from "../support/toolchain.js";
import { installClaudeSdk } from "./adapters/claude-sdk.js";
import { documentedProgram, promisedLines } from "./documented.js";
import { installInto, packInto } from "./packing.js";
import { preparePythonClient } from "./python.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-package-"));
const bin = (name: string) => join(ROOT, "node_modules/.bin", name);

/** The packages whose types pass between this package and the programs that use it. */
const SHARED = ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node", "@connectrpc/connect-web"];

interface Packed {
  /** The packages of the server and of the client. */
  readonly tarballs: readonly string[];
  readonly claude: string;
}

/** Packs both packages, and installs them into an empty folder. */
async function packAndInstall(): Promise<Packed> {
  const claude = await installClaudeSdk();
  const { server, client } = await packInto(folder);
  await installInto(folder, "--prefer-offline", server, client);
  return { tarballs: [server, client], claude };
}

const packing = packAndInstall();
// Every suite that awaits `packing` reports its failure. This handler keeps Node from ending the process before that.
packing.catch(() => {});

afterAll(() => rmSync(folder, { recursive: true }));

await describeWith(
  "the package as npm installs it",
  () => packing,
  ({ tarballs, claude }) => {
    let server: TestServer;

    beforeAll(async () => {
      server = await startTestServer();
    });

    afterAll(() => server.stop());

    it("keeps a conversation through its client, as the client's README says", async () => {
      const program = documentedProgram("ts", 'client.history("kyoto")) console.log(textOf(message)); // → When');
      writeFileSync(join(folder, "use.js"), program.replace("http://127.0.0.1:8080", server.httpUrl));
      expect(await run(process.execPath, ["use.js"], { cwd: folder })).toBe(`${promisedLines(program)}\n`);
    });

    it("contains every file that its protos import, so that buf generate makes stubs as docs/clients.md says", async () => {
      writeFileSync(join(folder, "buf.gen.yaml"), documentedProgram("yaml", "protoc-gen-es"));
      const PATH = `${join(ROOT, "node_modules/.bin")}${delimiter}${process.env.PATH}`;
      await run("buf", ["generate"], { cwd: folder, env: { PATH } });
      expect(existsSync(join(folder, "gen/sessionpool/v1/message_service_pb.ts"))).toBe(true);
    });

    it.each(tarballs)(
      "has types for every kind of module resolution that a new project may use: %s",
      async (tarball) => {
        // attw exits with an error when it finds a problem.
        await run(bin("attw"), [tarball, "--profile", "esm-only"]);
      },
    );

    it.each([
      ["node16", "node16"],
      ["nodenext", "nodenext"],
      ["esnext", "bundler"],
    ])("compiles strictly with module %s and resolution %s", async (module, moduleResolution) => {
      // Adds the frameworks that the adapters are for, as a project that uses them would have them.
      const modules = join(folder, "node_modules");
      for (const name of ["ai", "@openai/agents-core", "@types/node", "undici-types"])
        link(join(ROOT, "node_modules", name), join(modules, name));
      link(
        join(claude, "node_modules/@anthropic-ai/claude-agent-sdk"),
        join(modules, "@anthropic-ai/claude-agent-sdk"),
      );
      cpSync(join(ROOT, "test/clients/package/use.ts"), join(folder, "use.ts"));
      const strict = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noEmit"];
      const options = [
        "--module",
        module,
        "--moduleResolution",
        moduleResolution,
        "--target",
        "es2023",
        "--lib",
        "es2023,dom,dom.iterable,dom.asynciterable",
        "--types",
        "node",
      ];
      await run(bin("tsc"), [...strict, ...options, "--skipLibCheck", "use.ts"], { cwd: folder });
    });
  },
);

/** The project of somebody who follows docs/clients.md and installs the newest version of each package it names. */
async function installBesideNewest(): Promise<string> {
  const { tarballs } = await packing;
  const project = join(folder, "newest");
  const named = ["@bufbuild/protobuf", "@connectrpc/connect@2.1", "@connectrpc/connect-node@2.1"];
  await installInto(project, "--prefer-offline", ...tarballs, ...named);
  return project;
}

await describeWith("the package beside the newest @bufbuild/protobuf", installBesideNewest, (project) => {
  it("shares one copy of each package with the project", async () => {
    const listed = await run("npm", ["ls", "--all", "--parseable", "--long", ...SHARED], { cwd: project });
    const copies = listed.split("\n").filter((line) => SHARED.some((name) => line.includes(`:${name}@`)));
    expect(copies.map((line) => line.split(":")[1]?.replace(/@[^@]+$/, "")).toSorted()).toEqual(SHARED);
  });

  it("compiles strictly, and talks to a server through session-pool-client/gen and over gRPC", async () => {
    const server = await startTestServer();
    onTestFinished(() => server.stop());
    link(join(ROOT, "node_modules/@types/node"), join(project, "node_modules/@types/node"));
    link(join(ROOT, "node_modules/undici-types"), join(project, "node_modules/undici-types"));
    cpSync(join(ROOT, "test/clients/package/use-gen.ts"), join(project, "use-gen.ts"));
    const options = ["--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2023"];
    await run(bin("tsc"), [...options, "--types", "node", "use-gen.ts"], { cwd: project });
    const addresses = [server.httpUrl, `http://${server.grpcAddress}`];
    expect(await run(process.execPath, ["use-gen.js", ...addresses], { cwd: project })).toBe(
      'Hello {"type":"text","text":"Hello"} 1\n',
    );
  });
});

async function preparePython(): Promise<string> {
  await packing;
  return (await preparePythonClient()).program;
}

await describeWith("the protos of the installed package", preparePython, (python) => {
  it("are made into Python stubs by protoc alone, as docs/clients.md says", async () => {
    const commands = documentedProgram("sh", "grpc_tools").replaceAll("python ", `${python} `);
    await run("sh", ["-e", "-c", commands], { cwd: folder });
    const imports = "import sessionpool.v1.message_service_pb2_grpc as stubs; print(stubs.MessageServiceStub.__name__)";
    expect(await run(python, ["-c", imports], { cwd: join(folder, "gen") })).toBe("MessageServiceStub\n");
  });
});

function link(target: string, path: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path);
}
