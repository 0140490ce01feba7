import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MongoStorageProvider } from "../../src/storage/mongodb/mongo-storage-provider.js";
import {
  BROKEN_DOCUMENTS,
  BROKEN_REPLIES,
  ENDLESS_WHEN_COMPRESSED,
  HALF_A_MESSAGE,
} from "../support/broken-replies.js";
import { Child } from "../support/child.js";
import { type MongoProxy, startMongoProxy } from "../support/mongo-proxy.js";
import { freshDatabaseUrl, type MongoServer, startMongoServer } from "../support/mongo-server.js";
import { eachMessage, replyTo } from "../support/mongo-wire.js";
import { poll } from "../support/poll.js";
import { describeWith, NotHere, needPrograms, run } from "../support/toolchain.js";

const PORTS = ["--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"];
/** The driver asks for the server's state often, so that it soon learns that the answers are right again. */
const POLLING = { serverMonitoringMode: "poll", heartbeatFrequencyMS: 50, minHeartbeatFrequencyMS: 50 } as const;
const HELLO = {
  ...{ ok: 1, ismaster: true, isWritablePrimary: true, minWireVersion: 0, maxWireVersion: 21 },
  ...{ maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000 },
  compression: ["zlib"],
};
/** Long enough for a machine that is busy with other tests; a call that waits for the driver takes longer. */
const DEADLINE_MS = 10_000;

const children: Child[] = [];
const fakes: Server[] = [];
const server = await startMongoServer();

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const fake of fakes.splice(0)) fake.close();
});
afterAll(() => server?.stop());

async function needServer(): Promise<MongoServer> {
  needPrograms("ps");
  if (server) return server;
  throw new NotHere("no server that speaks MongoDB's protocol");
}

await describeWith("a MongoDB server that breaks the protocol", needServer, (server) => {
  let reply: Buffer | undefined;
  let proxy: MongoProxy;
  let provider: MongoStorageProvider;

  beforeAll(async () => {
    proxy = await startMongoProxy(portOf(server.uri), { bytes: (name) => (name === "find" ? reply : undefined) });
    const url = freshDatabaseUrl({ uri: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` });
    provider = await MongoStorageProvider.connect(url, { driver: POLLING });
    await provider.createSession({ sessionId: "s" });
  });
  afterAll(async () => {
    await provider.close();
    await proxy.close();
  });

  const all = Object.entries({ ...BROKEN_REPLIES, ...BROKEN_DOCUMENTS, "half a message": HALF_A_MESSAGE });

  it.each(all)("and sends %s fails the call, and no call after that", async (_what, broken) => {
    reply = broken;
    const call = { deadlineMs: Date.now() + 300 };
    const code = expect.stringMatching(/^(unavailable|deadline_exceeded|internal)$/);
    await expect(provider.getSession("s", call)).rejects.toMatchObject({ code });
    reply = undefined;
    const after = await provider.getSession("s", { deadlineMs: Date.now() + DEADLINE_MS });
    expect(after).toMatchObject({ sessionId: "s" });
  });
});

describe("a service whose main thread computes without end, because of what MongoDB sends", () => {
  it("ends by itself while it is still starting, and says why", async () => {
    const { url } = await startEndlessServer();
    const child = serve(url, "1");
    expect(await child.ended()).toMatchObject({
      signal: "SIGKILL",
      stderr: expect.stringContaining("The process has computed without a pause for too long"),
    });
  });

  it("ends by itself with two workers, too", async () => {
    const { url } = await startEndlessServer();
    const { code, stderr } = await serve(url, "2").ended();
    expect(code).toBe(1);
    expect(stderr).toContain("A worker ended at its start");
  });

  it.each(["1", "2"])("ends on SIGTERM with %s workers", async (workers) => {
    const fake = await startEndlessServer();
    const child = serve(fake.url, workers);
    await poll(fake.hasTrapped, "the main thread computes without end");
    child.kill("SIGTERM");
    // A signal that arrives before the answer was read ends a service that is starting with 0.
    expect(await child.ended()).toSatisfy(({ code, signal }) => code === 0 || signal === "SIGKILL");
  });

  it.each(["sweep", "export", "sessions list"])("is ended by SIGTERM while it runs the command %s", async (command) => {
    const fake = await startEndlessServer();
    const child = start([...command.split(" "), "--storage", fake.url]);
    await poll(fake.hasTrapped, "the main thread computes without end");
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ signal: "SIGTERM" });
  });
});

await describeWith("a running service on MongoDB whose main thread", needServer, (server) => {
  it("computes without end is ended", async () => {
    const { child } = await serveOn(server, "1");
    child.kill("SIGUSR2");
    expect(await child.ended()).toMatchObject({ signal: "SIGKILL" });
  });

  it("computes without end in one of two workers gets another worker, and serves on", async () => {
    const { child, httpUrl } = await serveOn(server, "2");
    const [worker] = (await run("ps", ["--ppid", String(child.process.pid), "-o", "pid="])).trim().split(/\s+/);
    process.kill(Number(worker), "SIGUSR2");
    await poll(() => child.stderr.includes("another takes its place"), "the worker is replaced");
    await poll(async () => (await fetch(`${httpUrl}/readyz`)).status === 200, "the service is ready");
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0 });
  });

  it("waits for ever when the process should exit is ended in time", async () => {
    const { child } = await serveOn(server, "1", { WAIT_AT_EXIT: "1" });
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({
      signal: "SIGKILL",
      stderr: expect.stringContaining("The process could not stop in time"),
    });
  });
});

/**
 * A server that agrees to compress, and whose first compressed answer makes the driver loop for ever. What is inside a
 * compressed message is not checked before the driver reads it.
 */
async function startEndlessServer(): Promise<{ url: string; hasTrapped(): boolean }> {
  let hasTrapped = false;
  const fake = createServer((socket) => {
    let isAgreed = false;
    socket.on("error", () => {});
    eachMessage(socket, (request) => {
      socket.write(isAgreed ? ENDLESS_WHEN_COMPRESSED : replyTo(request, HELLO));
      hasTrapped ||= isAgreed;
      isAgreed = true;
    });
  }).listen(0, "127.0.0.1");
  fakes.push(fake);
  await once(fake, "listening");
  const { port } = fake.address() as AddressInfo;
  return { url: `mongodb://127.0.0.1:${port}/x?compressors=zlib`, hasTrapped: () => hasTrapped };
}

function start(args: readonly string[], env?: Readonly<Record<string, string>>): Child {
  const child = new Child(args, env);
  children.push(child);
  return child;
}

function serve(url: string, workers: string): Child {
  return start(["serve", ...PORTS, "--storage", url, "--shutdown-s", "1", "--workers", workers]);
}

/** Starts a service whose processes stop turning their loop on SIGUSR2. */
async function serveOn(server: MongoServer, workers: string, env: Readonly<Record<string, string>> = {}) {
  const spinner = fileURLToPath(new URL("spinner.mjs", import.meta.url));
  const args = ["--storage", freshDatabaseUrl(server), "--shutdown-s", "1", "--workers", workers];
  const served = await Child.serveWith({ ...env, NODE_OPTIONS: `--import=${spinner}` }, ...args);
  children.push(served.child);
  return served;
}

function portOf(uri: string): number {
  return Number(new URL(uri).port);
}
