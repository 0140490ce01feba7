import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import type { DescField, DescService } from "@bufbuild/protobuf";
import { credentials, makeClientConstructor, type ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { build } from "esbuild";
import { afterAll, expect, it, onTestFinished } from "vitest";
import * as source from "../../clients/typescript/src/gen.js";
import { Child } from "../support/child.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { describeWith, ROOT, run } from "../support/toolchain.js";
import { bytesOnDisk, installInto, packagesIn, packInto } from "./packing.js";

const MB = 1_000_000;
const MOST_OF_A_PAGE = 48 * 1024;
const folder = mkdtempSync(join(tmpdir(), "session-pool-installed-"));
const packing = packInto(folder);
// Every suite that awaits `packing` reports its failure. This handler keeps Node from ending the process before that.
packing.catch(() => {});

afterAll(() => rmSync(folder, { recursive: true }));

/** Installs a package alone, with the versions of its dependencies that npm chooses today. */
async function installed(name: "server" | "client"): Promise<string> {
  const project = join(folder, name);
  await installInto(project, (await packing)[name]);
  return project;
}

await describeWith(
  "the client's package in an empty folder",
  () => installed("client"),
  (project) => {
    it("comes with at most ten packages and 6 MB, and has its own licence and README", () => {
      const packages = packagesIn(project);
      const bytes = bytesOnDisk(join(project, "node_modules"));
      console.info(`The client: ${packages.length} packages, ${bytes} bytes`);
      expect(packages.length).toBeLessThanOrEqual(10);
      expect(bytes).toBeLessThanOrEqual(6 * MB);
      const files = readdirSync(join(project, "node_modules/session-pool-client"));
      expect(files.toSorted()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
    });

    it("adds at most 48 KB to a page, gzipped, of which nothing is the server's", async () => {
      const { outputFiles, metafile } = await build({
        absWorkingDir: project,
        stdin: { contents: 'export * from "session-pool-client"', resolveDir: project },
        bundle: true,
        minify: true,
        format: "esm",
        platform: "browser",
        write: false,
        metafile: true,
      });
      const bytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
      console.info(`The client in a page: ${bytes} bytes, gzipped`);
      expect(bytes).toBeLessThanOrEqual(MOST_OF_A_PAGE);
      const packages = Object.keys(metafile.inputs).map(
        (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1],
      );
      expect([...new Set(packages)].filter((name) => name !== undefined).toSorted()).toEqual([
        "@bufbuild/protobuf",
        "@connectrpc/connect",
        "@connectrpc/connect-web",
        "session-pool-client",
      ]);
    });

    it("describes the whole API", async () => {
      const gen = (await import(
        pathToFileURL(join(project, "node_modules/session-pool-client/dist/gen.js")).href
      )) as typeof source;
      const services = ({ MessageService, SessionService, TodoService, TodoTrackerService }: typeof source) =>
        [MessageService, SessionService, TodoService, TodoTrackerService].map(outlineOf);
      expect(services(gen)).toEqual(services(source));
      expect(Object.keys(gen).toSorted()).toEqual(Object.keys(source).toSorted());
    });
  },
);

await describeWith(
  "the server's package in an empty folder",
  () => installed("server"),
  (project) => {
    const program = join(project, "node_modules/.bin/session-pool");

    it("takes at most 60 MB, and has each of its packages once", async () => {
      const packages = packagesIn(project).map((path) => path.slice(path.lastIndexOf("node_modules/")));
      const bytes = bytesOnDisk(join(project, "node_modules"));
      console.info(`The server: ${packages.length} packages, ${bytes} bytes`);
      expect(bytes).toBeLessThanOrEqual(60 * MB);
      expect(new Set(packages).size).toBe(packages.length);
    });

    it("serves REST, the console, gRPC with reflection and the Model Context Protocol", async () => {
      const storage = `sqlite:${join(project, "pool.db")}`;
      const main = join(project, "node_modules/session-pool/dist/main.js");
      const { child, grpcAddress, httpUrl } = await Child.serveOn({ main }, "--storage", storage);
      onTestFinished(async () => {
        child.kill("SIGTERM");
        await child.ended();
      });
      const made = await fetch(`${httpUrl}/session`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ sessionId: "trip" }),
      });
      expect(await made.json()).toMatchObject({ sessionId: "trip", revision: "1" });
      expect(await (await fetch(httpUrl)).text()).toContain("<title>");
      expect(await servicesOf(grpcAddress)).toContain("sessionpool.v1.SessionService");
      const agent = new McpClient({ name: "test", version: "1" });
      await agent.connect(new StdioClientTransport({ command: program, args: ["mcp", "--storage", storage] }));
      onTestFinished(() => agent.close());
      const { content } = await agent.callTool({ name: "list_sessions", arguments: {} });
      expect(JSON.stringify(content)).toContain("trip");
    });

    it("keeps sessions in PostgreSQL, as a server and as a library", async (context) => {
      const postgres = await startPostgresServer({ fast: true });
      if (!postgres) return context.skip("There is no PostgreSQL server");
      onTestFinished(() => postgres.stop());
      const storage = freshSchemaUrl(postgres);
      const main = join(project, "node_modules/session-pool/dist/main.js");
      const { child, httpUrl } = await Child.serveOn({ main }, "--storage", storage);
      onTestFinished(async () => {
        child.kill("SIGTERM");
        await child.ended();
      });
      await fetch(`${httpUrl}/session`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ sessionId: "trip" }),
      });
      const program = `import { PostgresStorageProvider, RootPool } from "session-pool";
        const pool = new RootPool({ storage: await PostgresStorageProvider.open(process.argv[2]) });
        console.log((await pool.sessions.getSession("trip")).revision);
        await pool.close();`;
      writeFileSync(join(project, "use.mjs"), program);
      expect(await run(process.execPath, ["use.mjs", storage], { cwd: project })).toBe("1\n");
    });

    it("has types that compile without those of the drivers", async () => {
      for (const name of ["@types/node", "undici-types"]) {
        mkdirSync(join(project, "node_modules", name, ".."), { recursive: true });
        symlinkSync(join(ROOT, "node_modules", name), join(project, "node_modules", name));
      }
      const program = `import { type PostgresStorageProvider, RootPool } from "session-pool";
        export const rootPool = (storage: PostgresStorageProvider): RootPool => new RootPool({ storage });
        export const risks = ({ database }: PostgresStorageProvider): readonly string[] => database.risks;`;
      writeFileSync(join(project, "use.ts"), program);
      const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2023", "--types", "node"];
      await run(join(ROOT, "node_modules/.bin/tsc"), [...options, "use.ts"], { cwd: project });
    });

    it("says what to install when calls shall be traced", async () => {
      const tracing = run(program, ["serve", "--storage", "memory:"], { env: { OTEL_TRACES_EXPORTER: "console" } });
      await expect(tracing).rejects.toThrow(
        /^.*\nsession-pool: OTEL_ variables are set, but OpenTelemetry is not installed: run npm install @opentelemetry\/sdk-node@\S+, or unset them$/,
      );
    });
  },
);

/** What a service describes, without options. */
function outlineOf({ typeName, methods }: DescService): unknown {
  return [
    typeName,
    methods.map(({ name, methodKind, idempotency, input, output }) => [
      ...[name, methodKind, idempotency],
      ...[input, output].map((message) => [message.typeName, message.fields.map(outlineOfField)]),
    ]),
  ];
}

function outlineOfField({ name, number, fieldKind, proto, message }: DescField): unknown {
  return [name, number, fieldKind, proto.type, proto.label, proto.proto3Optional, message?.typeName];
}

/** The services that a server's reflection lists. */
function servicesOf(address: string): Promise<readonly string[]> {
  const name = "grpc.reflection.v1.ServerReflection";
  const proto = join(ROOT, "node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto");
  const Reflection = makeClientConstructor(loadSync(proto)[name] as ServiceDefinition, name);
  const client = new Reflection(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return new Promise((resolve, reject) => {
    const stream = client.ServerReflectionInfo!();
    stream.on("error", reject);
    stream.on("data", ({ listServicesResponse }: { listServicesResponse: { service: { name: string }[] } }) =>
      resolve(listServicesResponse.service.map(({ name }) => name)),
    );
    stream.end({ listServices: "*" });
  });
}
