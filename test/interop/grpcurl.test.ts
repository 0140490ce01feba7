import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { API_METHODS } from "../../src/api/method-table.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, run } from "../support/toolchain.js";
import { goPrograms } from "./go.js";

const GRPCURL = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4";

async function prepare(): Promise<string> {
  return join(await goPrograms("grpcurl", [GRPCURL]), "grpcurl");
}

await describeWith("grpcurl, which knows no .proto file", prepare, (program) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(() => server.stop());

  const grpcurl = (flags: readonly string[], ...rest: string[]) =>
    run(program, ["-plaintext", ...flags, server.grpcAddress, ...rest]);

  it("lists every service and method", async () => {
    const services = (await grpcurl([], "list")).trim().split("\n");
    const methods = await Promise.all(services.map((service) => grpcurl([], "list", service)));
    const ours = API_METHODS.map(({ desc }) => `${desc.parent.typeName}.${desc.name}`);
    const health = ["Check", "List", "Watch"].map((name) => `grpc.health.v1.Health.${name}`);
    expect(methods.join("").trim().split("\n").sort()).toEqual([...ours, ...health].sort());
  });

  it("describes a message with its imports", async () => {
    expect(await grpcurl([], "describe", "sessionpool.v1.Session")).toContain(".google.protobuf.Struct metadata = 5;");
  });

  it("calls a method", async () => {
    const request = JSON.stringify({ session_id: "demo", title: "Hallo 世界" });
    const answer = await grpcurl(["-d", request], "sessionpool.v1.SessionService/CreateSession");
    expect(JSON.parse(answer)).toMatchObject({ sessionId: "demo", title: "Hallo 世界", messageCount: "0" });
  });

  it("shows the code and message of an error", async () => {
    const call = grpcurl(["-d", '{"session_id":"nobody"}'], "sessionpool.v1.SessionService/GetSession");
    await expect(call).rejects.toThrow(/Code: NotFound\s+Message: Session "nobody" not found/);
  });

  it("checks health", async () => {
    expect(JSON.parse(await grpcurl([], "grpc.health.v1.Health/Check"))).toEqual({ status: "SERVING" });
  });
});
