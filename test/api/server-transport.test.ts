import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { connect as connectH2 } from "node:http2";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { credentials, makeClientConstructor, type ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { makeCertificate } from "../support/certificate.js";
import { GrpcClient } from "../support/grpc-client.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { PROTO_FOLDER } from "../support/toolchain.js";

const ORIGIN = "https://app.test";
const HEALTH_PROTO = join(PROTO_FOLDER, "grpc/health/v1/health.proto");

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ corsOrigins: [ORIGIN] });
  await post("/session", { sessionId: "s" });
});

afterAll(() => server.stop());

describe("grpc.health.v1", () => {
  it("reports the state of the server and of each service, and tells watchers when it stops", async () => {
    const own = await startTestServer();
    const health = clientOf(HEALTH_PROTO, "grpc.health.v1.Health", own.grpcAddress);
    const check = (service: string) =>
      new Promise((done, fail) => {
        health.Check({ service }, (error: unknown, answer: unknown) => (error ? fail(error) : done(answer)));
      });
    for (const service of ["", "sessionpool.v1.SessionService", "sessionpool.v1.TodoTrackerService"]) {
      expect(await check(service)).toEqual({ status: "SERVING" });
    }
    await expect(check("nope")).rejects.toMatchObject({ code: 5 });
    const seen: string[] = [];
    const watch = health.Watch({ service: "" });
    watch.on("data", ({ status }: { status: string }) => seen.push(status)).on("error", () => undefined);
    await poll(() => seen.length === 1, "the state is reported");
    await own.stop();
    await poll(() => seen.length === 2, "the end is reported");
    expect(seen).toEqual(["SERVING", "NOT_SERVING"]);
    health.close();
  });

  it("reports, as /readyz does, when the store stops and resumes taking writes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-health-"));
    const path = join(folder, "pool.db");
    const aside = join(folder, "aside.db");
    const own = await startTestServer({ storage: `sqlite:${path}` });
    const health = clientOf(HEALTH_PROTO, "grpc.health.v1.Health", own.grpcAddress);
    const seen: string[] = [];
    const watch = health.Watch({ service: "" });
    watch.on("data", ({ status }: { status: string }) => seen.push(status)).on("error", () => undefined);
    await poll(() => seen.length === 1, "the state is reported");
    renameSync(path, aside);
    const readyz = await fetch(`${own.httpUrl}/readyz`);
    expect(readyz.status).toBe(503);
    expect(await readyz.text()).toMatch(/^The store cannot be used: The database file was deleted or replaced/);
    await poll(() => seen.length === 2, "the failure is reported");
    renameSync(aside, path);
    await poll(() => seen.length === 3, "the recovery is reported");
    expect((await fetch(`${own.httpUrl}/readyz`)).status).toBe(200);
    expect(seen).toEqual(["SERVING", "NOT_SERVING", "SERVING"]);
    health.close();
    await own.stop();
    rmSync(folder, { recursive: true });
  });
});

describe("reflection", () => {
  it.each(["v1", "v1alpha"])("%s lists the services and describes them with all their imports", async (version) => {
    const path = resolve(`node_modules/@grpc/reflection/build/proto/grpc/reflection/${version}/reflection.proto`);
    const client = clientOf(path, `grpc.reflection.${version}.ServerReflection`, server.grpcAddress);
    const { listServicesResponse } = await reflect(client, { listServices: "*" });
    expect(listServicesResponse.service.map(({ name }: { name: string }) => name).sort()).toEqual([
      "grpc.health.v1.Health",
      "sessionpool.v1.AnnotationService",
      "sessionpool.v1.AttachmentService",
      "sessionpool.v1.MessageService",
      "sessionpool.v1.SessionService",
      "sessionpool.v1.TodoService",
      "sessionpool.v1.TodoTrackerService",
      "sessionpool.v1.UsageService",
    ]);
    const files = new Map<string, FileDescriptorProto>();
    const read = async (request: object) => {
      const { fileDescriptorResponse } = await reflect(client, request);
      for (const bytes of fileDescriptorResponse.fileDescriptorProto as Buffer[]) {
        const file = fromBinary(FileDescriptorProtoSchema, bytes);
        if (files.has(file.name)) continue;
        files.set(file.name, file);
        for (const fileByFilename of file.dependency) await read({ fileByFilename });
      }
    };
    await read({ fileContainingSymbol: "sessionpool.v1.MessageService" });
    const message = files.get("sessionpool/v1/message_service.proto");
    const request = message?.messageType.find(({ name }) => name === "ListMessagesRequest");
    expect(request?.field.find(({ name }) => name === "limit")?.proto3Optional).toBe(true);
    expect(files.get("google/api/annotations.proto")?.extension.map(({ name }) => name)).toContain("http");
    expect([...files.keys()]).toContain("google/protobuf/struct.proto");
    client.close();
  });
});

describe("CORS", () => {
  it("answers preflights of allowed origins, for every front", async () => {
    for (const path of ["/session", "/sessionpool.v1.SessionService/GetSession"]) {
      const response = await fetch(server.httpUrl + path, {
        method: "OPTIONS",
        headers: { origin: ORIGIN, "access-control-request-method": "POST" },
      });
      expect(response.status).toBe(204);
      expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
      expect(response.headers.get("access-control-allow-methods")).toContain("PATCH");
      const allowed = response.headers.get("access-control-allow-headers")?.toLowerCase();
      for (const name of [
        "authorization",
        "connect-protocol-version",
        "connect-timeout-ms",
        "x-grpc-web",
        "grpc-timeout",
      ]) {
        expect(allowed).toContain(name);
      }
    }
  });

  it("lets allowed origins read what gRPC-Web needs", async () => {
    const response = await fetch(`${server.httpUrl}/session/s`, { headers: { origin: ORIGIN } });
    expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(response.headers.get("access-control-expose-headers")?.toLowerCase()).toContain("grpc-status");
  });

  it("does not allow other origins, nor any origin without the flag", async () => {
    const closed = await startTestServer();
    for (const [url, origin] of [
      [server.httpUrl, "https://evil.test"],
      [closed.httpUrl, ORIGIN],
    ]) {
      const response = await fetch(`${url}/session`, { headers: { origin: origin! } });
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      const preflight = await fetch(`${url}/session`, {
        method: "OPTIONS",
        headers: { origin: origin!, "access-control-request-method": "POST" },
      });
      expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
    }
    await closed.stop();
  });
});

describe("streams", () => {
  it("send their headers at once, on every front", async () => {
    const grpc = new GrpcClient(server.grpcAddress);
    const stream = grpc.stream(MessageService, "WatchMessages", { sessionId: "s" });
    stream.on("error", () => undefined).on("data", () => undefined);
    await new Promise((resolve) => stream.once("metadata", resolve));
    stream.cancel();
    grpc.close();
    const watch = "/sessionpool.v1.MessageService/WatchMessages";
    for (const type of ["application/connect+json", "application/connect+proto", "application/grpc-web+proto"]) {
      const gone = new AbortController();
      const body = type.endsWith("json") ? frame(Buffer.from('{"sessionId":"s"}')) : frame(Buffer.from([10, 1, 115]));
      const headers = { "content-type": type };
      const response = await fetch(server.httpUrl + watch, { method: "POST", headers, body, signal: gone.signal });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe(type);
      gone.abort();
    }
    await poll(async () => /session_pool_watchers 0/.test(await metrics()), "no stream is left open");
  });

  it("report messages that are appended after their headers were sent", async () => {
    const response = await fetch(`${server.httpUrl}/sessionpool.v1.MessageService/WatchMessages`, {
      method: "POST",
      headers: { "content-type": "application/connect+json" },
      body: frame(Buffer.from('{"sessionId":"s"}')),
    });
    await post("/session/s/message", { info: { id: "live", role: "user" }, parts: [] });
    const reader = response.body!.getReader();
    let text = "";
    while (!text.includes('"id":"live"')) text += Buffer.from((await reader.read()).value!).toString();
    await reader.cancel();
    expect(text).toContain('"appended"');
  });
});

it("sends large answers on many streams of one connection", async () => {
  const text = "x".repeat(2_900_000);
  await post("/session", { sessionId: "large" });
  await post("/session/large/message", { info: { role: "user" }, parts: [{ type: "text", text }] });
  const session = connectH2(server.httpUrl);
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  const sizeOfAnswer = () =>
    new Promise<number>((resolve, reject) => {
      let size = 0;
      const stream = session.request({ ":path": "/session/large/message" });
      stream.on("data", (chunk: Buffer) => {
        size += chunk.length;
      });
      stream.on("error", reject).on("end", () => resolve(size));
    });
  // As many as fit into the default of --max-buffered-bytes.
  const sizes = await Promise.all(Array.from({ length: 32 }, sizeOfAnswer));
  for (const size of sizes) expect(size).toBeGreaterThan(text.length);
  session.close();
});

describe("TLS", () => {
  let folder: string;
  let secure: TestServer;
  let ca: Buffer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "session-pool-tls-"));
    const certPath = join(folder, "cert.pem");
    const keyPath = join(folder, "key.pem");
    ca = await makeCertificate({ certPath, keyPath });
    secure = await startTestServer({ tls: { certPath, keyPath } });
  });

  afterAll(async () => {
    await secure.stop();
    rmSync(folder, { recursive: true });
  });

  it("serves gRPC", async () => {
    const grpc = new GrpcClient(secure.grpcAddress, credentials.createSsl(ca));
    expect(await grpc.call(SessionService, "ListSessions", {})).toEqual({ answer: {} });
    grpc.close();
  });

  it("serves HTTP/1.1 and HTTP/2, as negotiated by ALPN", async () => {
    expect(secure.startLine).toContain("https://");
    const status = await new Promise((resolve, reject) => {
      const options: RequestOptions & ConnectionOptions = { ca, ALPNProtocols: ["http/1.1"] };
      httpsRequest(`${secure.httpUrl}/session`, options, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
    const session = connectH2(secure.httpUrl, { ca });
    const headers = await new Promise<Record<string, unknown>>((resolve, reject) => {
      session.on("error", reject);
      session.request({ ":path": "/session" }).on("response", resolve).resume().end();
    });
    expect(headers[":status"]).toBe(200);
    session.close();
  });

  it("survives clients that do not speak TLS", async () => {
    await expect(fetch(`${secure.httpUrl.replace("https", "http")}/session`)).rejects.toThrow();
    const grpc = new GrpcClient(secure.grpcAddress, credentials.createSsl(ca));
    expect(await grpc.call(SessionService, "ListSessions", {})).toEqual({ answer: {} });
    grpc.close();
  });
});

/** A client that is made at run time, so that its types do not know the service. */
// biome-ignore lint/suspicious/noExplicitAny: made at run time
type AnyClient = any;

function clientOf(path: string, serviceName: string, address: string): AnyClient {
  const definition = loadSync(path, { longs: String, enums: String, oneofs: true });
  const Made = makeClientConstructor(definition[serviceName] as ServiceDefinition, serviceName);
  return new Made(address, credentials.createInsecure());
}

function reflect(client: AnyClient, request: object): Promise<AnyClient> {
  return new Promise((resolve, reject) => {
    const stream = client.ServerReflectionInfo();
    stream.on("data", resolve).on("error", reject);
    stream.write(request);
    stream.end();
  });
}

async function post(path: string, body: object): Promise<void> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  expect((await fetch(server.httpUrl + path, init)).status).toBe(200);
}

async function metrics(): Promise<string> {
  return (await fetch(`${server.httpUrl}/metrics`)).text();
}

function frame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
