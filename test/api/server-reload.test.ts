import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { credentials, type ServiceError, status } from "@grpc/grpc-js";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { makeCertificate } from "../support/certificate.js";
import { Child } from "../support/child.js";
import { GrpcClient } from "../support/grpc-client.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, needPrograms, run } from "../support/toolchain.js";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-reload-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("a watch", () => {
  it("ends with unauthenticated when its key is removed, on every front, while others continue", async () => {
    const keys = { kept: newKey(), removed: newKey() };
    const keysFile = writeKeys("watch.json", keys);
    const server = await startTestServer({ keysFile });
    const grpc = new GrpcClient(server.grpcAddress);
    await grpc.call(SessionService, "CreateSession", { sessionId: "s" }, { key: keys.kept });
    const kept = watch(grpc, keys.kept);
    const removed = watch(grpc, keys.removed);
    const overRest = await watchByRest(server, keys.removed);
    await Promise.all([kept.begun, removed.begun]);
    writeKeys("watch.json", { kept: keys.kept });
    expect(await removed.ended).toBe(status.UNAUTHENTICATED);
    expect(await overRest.text()).toContain('{"error":{"code":16,');
    await grpc.call(MessageService, "AppendMessage", appendOf("after"), { key: keys.kept });
    await poll(() => kept.events() === 1, "the other watch continues");
    grpc.close();
    await server.stop();
  });

  it("ends with unauthenticated when its token expires", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwks = join(folder, "jwks.json");
    writeFileSync(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] }));
    const server = await startTestServer({ jwt: { jwks, namespaceClaim: "namespace", scopeClaim: "scope" } });
    const grpc = new GrpcClient(server.grpcAddress);
    const sign = (expires: string) =>
      new SignJWT({ namespace: "n", scope: "write" })
        .setProtectedHeader({ alg: "ES256" })
        .setExpirationTime(expires)
        .sign(privateKey);
    await grpc.call(SessionService, "CreateSession", { sessionId: "s" }, { key: await sign("1h") });
    // A token ends at a full second. On a busy machine that may be before the watch begins: then one lives longer.
    for (let [seconds, hasBegun] = [2, false]; !hasBegun; seconds *= 2) {
      const short = watch(grpc, await sign(`${seconds}s`));
      short.begun.then(() => (hasBegun = true));
      expect(await short.ended).toBe(status.UNAUTHENTICATED);
    }
    grpc.close();
    await server.stop();
  });
});

await describeWith(
  "a key that is removed while the process has no free descriptors",
  async () => needPrograms("prlimit", "ps"),
  () => {
    it.each([1, 2])("is refused by each of %i workers once it has some again", async (workers) => {
      const keys = { kept: newKey(), removed: newKey() };
      const keysFile = writeKeys(`descriptors-${workers}.json`, keys);
      const storage = `sqlite:${join(folder, `descriptors-${workers}.db`)}`;
      const args = ["--keys-file", keysFile, "--storage", storage, "--workers", String(workers)];
      const { child, httpUrl } = await Child.serve(...args);
      const pids = await serving(child, workers);
      for (const pid of pids) await run("prlimit", ["--pid", pid, "--nofile=5:"]);
      writeKeys(`descriptors-${workers}.json`, { kept: keys.kept });
      const failures = () => child.stderr.split("EMFILE").length - 1;
      await poll(() => failures() >= workers, "no process can read the file");
      for (const pid of pids) await run("prlimit", ["--pid", pid, "--nofile=1024:"]);
      const readAgain = () => child.stderr.split("Keys file read again").length - 1;
      await poll(() => readAgain() === workers, "each process has read the file");
      expect(await statusWith(httpUrl, keys.removed)).toBe(401);
      expect(await statusWith(httpUrl, keys.kept)).toBe(200);
      child.kill("SIGTERM");
      expect(await child.ended()).toMatchObject({ code: 0, signal: null });
    });
  },
);

describe("certificates", () => {
  it("are served on both ports once replaced, unless they cannot be used", async () => {
    const tls = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
    await makeCertificate(tls);
    const server = await startTestServer({ tls });
    const second = await makeCertificate(tls);
    await poll(
      async () => (await fingerprints(server)).every((shown) => second.includes(shown)),
      "both ports show the new certificate",
    );
    const grpc = new GrpcClient(server.grpcAddress, credentials.createSsl(second));
    expect(await grpc.call(SessionService, "ListSessions", {})).toEqual({ answer: {} });
    grpc.close();
    writeFileSync(tls.certPath, "no certificate");
    server.reload();
    expect((await fingerprints(server)).every((shown) => second.includes(shown))).toBe(true);
    await server.stop();
  });

  it("are refused at start with a one-line message when they do not belong to the key", async () => {
    const one = { certPath: join(folder, "one.pem"), keyPath: join(folder, "one-key.pem") };
    const two = { certPath: join(folder, "two.pem"), keyPath: join(folder, "two-key.pem") };
    await makeCertificate(one);
    await makeCertificate(two);
    const mixed = { certPath: one.certPath, keyPath: two.keyPath };
    await expect(startTestServer({ tls: mixed })).rejects.toThrow(
      /^TLS cannot be served with .*one\.pem and .*two-key\.pem/,
    );
  });
});

describe("SIGHUP", () => {
  it.each([1, 2])("makes each of %i workers read the keys again, and stops no process", async (workers) => {
    const keysFile = writeKeys(`hup-${workers}.json`, { one: newKey() });
    const storage = `sqlite:${join(folder, `hup-${workers}.db`)}`;
    const args = ["--keys-file", keysFile, "--storage", storage, "--workers", String(workers)];
    const { child, httpUrl } = await Child.serve(...args);
    child.kill("SIGHUP");
    const isReadAgain = () => child.stderr.split("Keys file read again").length - 1 === workers;
    await poll(isReadAgain, "the file is read again");
    expect((await fetch(`${httpUrl}/healthz`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0, signal: null });
  });
});

function writeKeys(file: string, keys: Readonly<Record<string, string>>): string {
  const path = join(folder, file);
  const entries = Object.entries(keys).map(([name, key]) => ({
    name,
    hash: hashRandomKey(key),
    namespace: "n",
    scope: "write",
  }));
  writeFileSync(path, JSON.stringify(entries));
  return path;
}

/** Resolves to the ids of the processes that serve. */
async function serving({ process: first }: Child, workers: number): Promise<readonly string[]> {
  if (workers === 1) return [String(first.pid)];
  return (await run("ps", ["--ppid", String(first.pid), "-o", "pid="])).trim().split(/\s+/);
}

async function statusWith(httpUrl: string, key: string): Promise<number> {
  const response = await fetch(`${httpUrl}/session`, { headers: { authorization: `Bearer ${key}` } });
  await response.text();
  return response.status;
}

function watch(grpc: GrpcClient, key: string) {
  const stream = grpc.stream(MessageService, "WatchMessages", { sessionId: "s" }, { key });
  let events = 0;
  stream.on("data", () => {
    events += 1;
  });
  const ended = new Promise<number>((resolve) => stream.on("error", (error: ServiceError) => resolve(error.code)));
  const begun = new Promise<void>((resolve) => stream.once("metadata", () => resolve()));
  return { ended, begun, events: () => events };
}

/** Resolves when the stream has begun. */
function watchByRest(server: TestServer, key: string): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, accept: "application/x-ndjson" };
  return fetch(`${server.httpUrl}/session/s/message:watch`, { headers });
}

function appendOf(id: string) {
  return { sessionId: "s", message: { info: { id, role: "user" }, parts: [] } };
}

/** Resolves to the beginning of the certificate that each of the two ports shows, in base64. */
async function fingerprints(server: TestServer): Promise<readonly string[]> {
  const grpcPort = Number(server.grpcAddress.split(":")[1]);
  return Promise.all([grpcPort, server.httpPort].map(shownCertificate));
}

function shownCertificate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] }, () => {
      const base64 = socket.getPeerCertificate().raw.toString("base64");
      socket.destroy();
      resolve(base64.slice(0, 64));
    });
    socket.on("error", reject);
  });
}
