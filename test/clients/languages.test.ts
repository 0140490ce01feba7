import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescFile } from "@bufbuild/protobuf";
import { parseHTML } from "linkedom";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { file_sessionpool_v1_message_service as messageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { prepareJava } from "../interop/java.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT, run } from "../support/toolchain.js";
import { documentedProgram, promisedLines } from "./documented.js";

await describeWith("the program of docs/clients.md in Java", prepareJava, (classPath) => {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-java-"));
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await server?.stop();
  });

  it("compiles, and prints what its comments say", async () => {
    const program = documentedProgram("java", "class Trip");
    writeFileSync(join(folder, "Trip.java"), program.replace("127.0.0.1:50051", server.grpcAddress));
    await run("javac", ["-cp", classPath, "-d", folder, join(folder, "Trip.java")]);
    const printed = await run("java", ["-cp", `${folder}:${classPath}`, "Trip"]);
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(program));
  });
});

describe("the program of docs/clients.md in C#, which no test compiles", () => {
  const program = documentedProgram("csharp", "GrpcChannel");

  it("uses only names that come from the protos, from .NET and from its gRPC client", () => {
    const others = ["Console", "ForAddress", "Grpc", "GrpcChannel", "Net", "Client", "WriteLine"];
    const known = new Set([...namesOf(messageService), ...others, "SessionPool", "V1"]);
    const used = program.replaceAll(/"[^"{]*"/g, '""').match(/\b[A-Z]\w*/g) ?? [];
    expect(used.length).toBeGreaterThan(20);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
    expect(program).toContain(`using ${messageService.proto.options?.csharpNamespace};`);
  });

  it("has a project that names the folder of the package's protos", () => {
    const { document } = parseHTML(documentedProgram("xml", "Grpc.Net.Client"));
    const folder = document.querySelector("Protobuf")?.getAttribute("ProtoRoot") ?? "";
    expect(existsSync(join(ROOT, folder.replace("node_modules/session-pool/", ""), "sessionpool/v1"))).toBe(true);
    expect(document.querySelectorAll("PackageReference")).toHaveLength(3);
  });
});

/** Returns the names that Grpc.Tools gives to what is in a file. */
function namesOf({ messages, services }: DescFile): readonly string[] {
  const pascal = (name: string) =>
    name[0]?.toUpperCase() + name.slice(1).replaceAll(/_(\w)/g, (_, c) => c.toUpperCase());
  return [
    ...messages.flatMap(({ name, fields }) => [name, ...fields.map((field) => pascal(field.name))]),
    ...services.flatMap(({ name, methods }) => [
      name,
      `${name}Client`,
      ...methods.map((method) => `${method.name}Async`),
    ]),
  ];
}
