import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials, Metadata, makeGenericClientConstructor, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPages } from "../../src/console/pages.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";

const READER = newKey();
const OTHER = newKey();
const BOUND = newKey();
const KEYS = {
  none: undefined,
  wrong: "wrong",
  read: READER,
  "of another namespace": OTHER,
  "bound to an owner": BOUND,
};
const CALLERS = Object.keys(KEYS) as (keyof typeof KEYS)[];

/** The paths that are not RPCs, and who may read them on a server with keys. */
const PATHS: Record<string, "everyone" | "keys"> = {
  "/healthz": "everyone",
  "/readyz": "everyone",
  "/metrics": "keys",
  "/openapi.json": "everyone",
  ...Object.fromEntries(readPages().map(({ path }) => [path, "everyone" as const])),
};

let folder: string;
let keysFile: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-exposure-"));
  keysFile = join(folder, "keys.json");
  const entries = [
    { name: "reader", hash: hashRandomKey(READER), namespace: "a", scope: "read" },
    { name: "other", hash: hashRandomKey(OTHER), namespace: "b", scope: "admin" },
    { name: "bound", hash: hashRandomKey(BOUND), namespace: "a", scope: "write", owner: "ada" },
  ];
  writeFileSync(keysFile, JSON.stringify(entries));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("on a server with keys", () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({ keysFile }, undefined, await builtPages());
  });

  afterAll(() => server.stop());

  it.each(Object.entries(PATHS))("%s answers %s", async (path, who) => {
    for (const caller of CALLERS) {
      const isLetIn = who === "everyone" || caller === "read" || caller === "of another namespace";
      for (const method of ["GET", "HEAD"]) {
        expect({ caller, method, status: await fetchStatus(server, path, KEYS[caller], method) }).toEqual({
          caller,
          method,
          status: isLetIn ? 200 : caller === "bound to an owner" ? 403 : 401,
        });
      }
    }
  });

  it("gRPC health and reflection answer everyone", async () => {
    for (const caller of CALLERS) {
      expect(await callRaw(server, HEALTH, KEYS[caller]), caller).toBe(status.OK);
      expect(await callRaw(server, REFLECTION, KEYS[caller]), caller).toBe(status.OK);
    }
  });
});

describe("what the configuration turns off or moves", () => {
  it("is not served: the console with its files, and reflection", async () => {
    const server = await startTestServer({ console: false, reflection: false });
    for (const path of Object.keys(PATHS)) {
      const expected = ["/healthz", "/readyz", "/metrics"].includes(path) ? 200 : 404;
      expect(await fetchStatus(server, path), path).toBe(expected);
    }
    expect(await callRaw(server, REFLECTION)).toBe(status.UNIMPLEMENTED);
    expect(await callRaw(server, HEALTH)).toBe(status.OK);
    await server.stop();
  });

  it("metrics at a loopback address are served only to requests that name a served host", async () => {
    const server = await startTestServer({
      keysFile,
      metricsAddress: { host: "127.0.0.1", port: 0 },
      allowedHosts: ["metrics.example"],
    });
    const statusOf = async (host: string) => {
      const asked = request({ port: server.metricsPort, path: "/metrics", headers: { host }, agent: false });
      const [answer] = (await once(asked.end(), "response")) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect(await statusOf("evil.example")).toBe(421);
    expect(await statusOf("metrics.example")).toBe(200);
    expect(await statusOf("localhost:9100")).toBe(200);
    await server.stop();
  });

  it("metrics with an address of their own are served only there, without a key and with nothing beside them", async () => {
    const server = await startTestServer({ keysFile, metricsAddress: { host: "127.0.0.1", port: 0 } });
    const url = `http://127.0.0.1:${server.metricsPort}`;
    const answer = await fetch(`${url}/metrics`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("session_pool_calls_in_flight");
    for (const path of ["/", "/session", "/healthz"]) expect((await fetch(url + path)).status, path).toBe(404);
    expect(await fetchStatus(server, "/metrics", READER)).toBe(404);
    await server.stop();
    await expect(fetch(`${url}/metrics`)).rejects.toThrow();
  });
});

async function fetchStatus({ httpUrl }: TestServer, path: string, key?: string, method = "GET"): Promise<number> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(httpUrl + path, { method, headers });
  await response.arrayBuffer();
  return response.status;
}

interface RawCall {
  readonly path: string;
  readonly request: Buffer;
}

const HEALTH: RawCall = { path: "/grpc.health.v1.Health/Check", request: Buffer.alloc(0) };
/** A `list_services` request of grpc.reflection.v1. */
const REFLECTION: RawCall = {
  path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  request: Buffer.from([0x3a, 1, 0x2a]),
};

/** Resolves to the code that the call ended with. */
function callRaw({ grpcAddress }: TestServer, { path, request }: RawCall, key?: string): Promise<status> {
  const metadata = new Metadata();
  if (key !== undefined) metadata.set("authorization", `Bearer ${key}`);
  const client = new (makeGenericClientConstructor({}, "raw"))(grpcAddress, credentials.createInsecure());
  return new Promise((resolve) => {
    const identity = (bytes: Buffer) => bytes;
    const stream = client.makeBidiStreamRequest(path, identity, identity, metadata);
    stream.on("status", ({ code }) => {
      client.close();
      resolve(code);
    });
    stream.on("error", () => undefined).on("data", () => undefined);
    stream.write(request);
    stream.end();
  });
}
