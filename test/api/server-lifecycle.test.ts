import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { status } from "@grpc/grpc-js";
import Database from "libsql";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import manifest from "../../package.json" with { type: "json" };
import { Child, run } from "../support/child.js";
import { GrpcClient } from "../support/grpc-client.js";
import { poll } from "../support/poll.js";

const ANY_PORTS = ["--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"];

let folder: string;
let database: string;
const children: Child[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-lifecycle-"));
  database = `sqlite:${join(folder, "data", "pool.db")}`;
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

afterAll(() => rmSync(folder, { recursive: true }));

describe("serve prints one line that says why it does not start:", () => {
  it("a port in use", async () => {
    const blocker = createServer();
    const port = await portOf(blocker);
    for (const [flag, front] of [
      ["--http-address", "HTTP"],
      ["--grpc-address", "gRPC"],
    ]) {
      const args = ["serve", "--storage", "memory:", ...ANY_PORTS, flag!, `127.0.0.1:${port}`];
      const { code, stderr } = await run(args);
      expect(stderr).toBe(`session-pool: ${front} cannot listen on 127.0.0.1:${port}: the port is in use\n`);
      expect(code).toBe(1);
    }
    await new Promise((resolve) => blocker.close(resolve));
  });

  it("a damaged database, with one process and with several", async () => {
    const path = join(folder, "damaged.db");
    writeFileSync(path, "no database".repeat(1000));
    for (const workers of ["1", "2"]) {
      await expectOneLine(["--storage", `sqlite:${path}`, "--workers", workers], /damaged/);
    }
  });

  it("a folder that is not writable", async () => {
    writeFileSync(join(folder, "file"), "");
    await expectOneLine(["--storage", `sqlite:${join(folder, "file", "pool.db")}`], /file/);
  });

  it.each([
    [["--storage", "redis://x"], /storage URL must begin with/],
    [["--storage", "memory:", "--workers", "2"], /--workers needs a store that processes can share/],
    [["--storage", "memory:", "--http-address", "0.0.0.0:0"], /0\.0\.0\.0:0 is refused: only loopback/],
    [["--storage", "memory:", "--http-address", "8080"], /--http-address must be host:port/],
    [["--storage", "memory:", "--tls-cert", "x"], /must be given together/],
    [["--storage", "memory:", "--keys-file", "nowhere.json"], /Keys file nowhere\.json cannot be read/],
    [["--storage", "memory:", "--max-calls", "0"], /must be above 0/],
    [["--storage", "memory:", "--cors-origin", "example.com"], /is not an origin/],
    [["--storage", "memory:", "--log-level", "loud"], /Allowed choices/],
  ])("%j", async (args, message) => {
    await expectOneLine(args, message);
  });

  it("an invalid environment variable", async () => {
    const { code, stderr } = await run(["serve"], { SESSION_POOL_WORKERS: "many" });
    expect(stderr).toMatch(/SESSION_POOL_WORKERS.*whole number/);
    expect(code).toBe(1);
  });
});

describe("SIGTERM", () => {
  it("ends calls and streams in an orderly way, closes the store, and exits with 0", async () => {
    const { child, grpcAddress, httpUrl } = await serve("--storage", database);
    expect(child.stdout).toBe(
      `session-pool ${manifest.version}: gRPC on ${grpcAddress}, HTTP on ${httpUrl}, storage ${database}\n`,
    );
    const grpc = new GrpcClient(grpcAddress);
    await grpc.call(SessionService, "CreateSession", { sessionId: "s" });
    const stream = grpc.stream(MessageService, "WatchMessages", { sessionId: "s" });
    const streamEnd = new Promise((resolve) => stream.on("error", resolve).on("data", () => undefined));
    await new Promise((resolve) => stream.once("metadata", resolve));
    const events = await fetch(`${httpUrl}/session/s/message:watch`, { headers: { accept: "text/event-stream" } });

    child.kill("SIGTERM");
    expect(await streamEnd).toMatchObject({ code: status.UNAVAILABLE, details: "The server is stopping" });
    expect(await events.text()).toContain('"code":14');
    const ended = await child.ended();
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.stdout.split("\n")).toHaveLength(2);
    grpc.close();

    const again = await serve("--storage", database);
    expect((await fetch(`${again.httpUrl}/session/s`)).status).toBe(200);
  });

  it("lets a running call finish", async () => {
    const path = join(folder, "busy.db");
    const { child, httpUrl } = await serve("--storage", `sqlite:${path}`);
    const lock = lockDatabase(path);
    const answer = createSession(httpUrl);
    await poll(() => inFlight(httpUrl), "the call is in flight");
    child.kill("SIGTERM");
    await poll(() => child.stderr.includes("Stopping"), "the signal is seen");
    lock.release();
    expect(await answer).toBe(200);
    expect(await child.ended()).toMatchObject({ code: 0 });
  });

  it("lets a request arrive that has begun, and says that its connection ends with the answer", async () => {
    const { child, httpUrl } = await serve("--storage", "memory:");
    const body = '{"sessionId":"slow"}';
    const client = await halfRequest(httpUrl, body);
    child.kill("SIGTERM");
    await poll(() => child.stderr.includes("Stopping"), "the signal is seen");
    client.write(body.slice(1));
    const answer = await text(client);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/^connection: close\r$/im);
    expect(await child.ended()).toMatchObject({ code: 0 });
  });

  it("cuts off a request that does not arrive in time, and exits with 1", async () => {
    const { child, httpUrl } = await serve("--storage", "memory:", "--shutdown-s", "1");
    const client = await halfRequest(httpUrl, "{}");
    child.kill("SIGTERM");
    const ended = await child.ended();
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("have been cut off") });
    client.destroy();
  });

  it.each([
    ["mongodb", "1"],
    ["mongodb", "2"],
    ["postgres", "1"],
    ["postgres", "2"],
  ])("ends a server on %s with --workers %s that has not started yet, with exit code 0", async (scheme, workers) => {
    const silent = createServer();
    const port = await portOf(silent);
    const connected = once(silent, "connection");
    const child = new Child([
      "serve",
      ...ANY_PORTS,
      "--storage",
      `${scheme}://127.0.0.1:${port}/`,
      "--workers",
      workers,
    ]);
    children.push(child);
    await connected;
    const started = workerPids(child);
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Stopping") });
    await poll(() => !started.some(isAlive), "no worker is left");
    expect(started).toHaveLength(workers === "1" ? 0 : 2);
    silent.close();
  });

  it("twice ends the process at once", async () => {
    const path = join(folder, "locked.db");
    const { child, httpUrl } = await serve("--storage", `sqlite:${path}`, "--shutdown-s", "600");
    const lock = lockDatabase(path);
    const answer = createSession(httpUrl);
    await poll(() => inFlight(httpUrl), "the call is in flight");
    child.kill("SIGTERM");
    await poll(() => child.stderr.includes("Stopping"), "the signal is seen");
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 1 });
    expect(await answer).toBeUndefined();
    lock.release();
  });
});

describe("several workers", () => {
  it("share ports and store, report common metrics, and stop together", async () => {
    const { child, grpcAddress, httpUrl } = await serve("--storage", database, "--workers", "2");
    expect(child.stdout).toContain(", 2 workers\n");
    for (let i = 0; i < 6; i++) {
      const grpc = new GrpcClient(grpcAddress);
      const sessionId = `w${i}`;
      expect(await grpc.call(SessionService, "CreateSession", { sessionId })).toMatchObject({ answer: { sessionId } });
      expect((await fetch(`${httpUrl}/session/w${i}`, { headers: { connection: "close" } })).status).toBe(200);
      grpc.close();
    }
    const metrics = async () => (await fetch(`${httpUrl}/metrics`)).text();
    await expect
      .poll(metrics)
      .toContain(
        'session_pool_calls_total{method="sessionpool.v1.SessionService/CreateSession",front="grpc",code="ok"} 6',
      );
    expect(workerPids(child)).toHaveLength(2);
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0 });
  });

  it("are replaced when one is killed", async () => {
    const { child, httpUrl } = await serve("--storage", database, "--workers", "2");
    const before = workerPids(child);
    process.kill(before[0]!, "SIGKILL");
    await poll(() => {
      const now = workerPids(child);
      return now.length === 2 && !now.includes(before[0]!);
    }, "another worker is there");
    expect((await fetch(`${httpUrl}/healthz`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0 });
  });

  it("close the connections that a worker was given and did not take before it died", async () => {
    const { child, httpUrl } = await serve("--storage", database, "--workers", "2");
    const [frozen] = workerPids(child);
    process.kill(frozen!, "SIGSTOP");
    // Connections go to the workers in turn, but to each only when it has taken the last one.
    const answers = Array.from({ length: 4 }, () => healthOnNewConnection(httpUrl).catch(() => "closed"));
    let answered = 0;
    for (const answer of answers) answer.then(() => answered++);
    await poll(() => answered === 3, "all but one connection is answered");
    process.kill(frozen!, "SIGKILL");
    expect((await Promise.all(answers)).toSorted()).toEqual([200, 200, 200, "closed"]);
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0 });
  });

  it("report the last metrics of one that does not answer, and the counters of one that has died", async () => {
    const { child, httpUrl, grpcAddress } = await serve("--storage", database, "--workers", "2");
    const [one, two] = workerPids(child);
    const LISTED = /^session_pool_calls_total\{method="sessionpool.v1.TodoService\/ListTodos".* (\d+)$/m;
    const calls = async () =>
      LISTED.exec(await (await fetch(`${httpUrl}/metrics`, { headers: { connection: "close" } })).text())?.[1];
    for (let i = 0; i < 4; i++) {
      const grpc = new GrpcClient(grpcAddress);
      await grpc.call(TodoService, "ListTodos", { sessionId: "any" });
      grpc.close();
    }
    await expect.poll(calls).toBe("4");
    process.kill(one!, "SIGSTOP");
    // The first of two connections may go to the worker that stands still.
    expect(await Promise.any([calls(), calls()])).toBe("4");
    process.kill(one!, "SIGKILL");
    await poll(() => workerPids(child).every((pid) => pid !== one), "the worker has ended");
    await expect.poll(calls).toBe("4");
    expect(workerPids(child)).toContain(two);
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0 });
  });

  it("end when the process that started them is killed", async () => {
    const { child } = await serve("--storage", database, "--workers", "2");
    const workers = workerPids(child);
    child.kill("SIGKILL");
    await poll(() => workers.every((pid) => !isAlive(pid)), "no worker is left");
    expect(workers).toHaveLength(2);
  });
});

describe("the process", () => {
  it("records spans that continue the client's trace when OTEL_ variables are set", async () => {
    const { child, httpUrl } = await serveWith(
      { OTEL_TRACES_EXPORTER: "console", OTEL_METRICS_EXPORTER: "none" },
      "--storage",
      "memory:",
    );
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    await fetch(`${httpUrl}/session/nobody`, { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } });
    // The SDK prints a span to the console only once it has looked up its host. Its shutdown does not wait for that.
    await poll(() => child.stdout.includes(traceId), "the span is printed");
    child.kill("SIGTERM");
    const { code, stdout } = await child.ended();
    expect(stdout).toContain(traceId);
    expect(stdout).toContain("sessionpool.v1.SessionService/GetSession");
    expect(stdout).toContain("'rpc.grpc.status_code': 5");
    expect(code).toBe(0);
  });

  it("keeps keys that JavaScript objects would lose, on every front and in the file", async () => {
    const { httpUrl } = await serve("--storage", database);
    const text = '{"__proto__":{"a":[{"__proto__":1}]},"constructor":"c","toString":null}';
    const body = `{"sessionId":"keys","metadata":${text}}`;
    expect((await fetch(`${httpUrl}/session`, { method: "POST", headers: JSON_TYPE, body })).status).toBe(200);
    expect(await (await fetch(`${httpUrl}/session/keys`)).text()).toContain(text);
    const path = `${httpUrl}/sessionpool.v1.SessionService/GetSession`;
    const asJson = { method: "POST", headers: JSON_TYPE, body: '{"sessionId":"keys"}' };
    expect(await (await fetch(path, asJson)).text()).toContain(text);
    const asBytes = { method: "POST", headers: { "content-type": "application/proto" }, body: "\n\u0004keys" };
    const bytes = Buffer.from(await (await fetch(path, asBytes)).arrayBuffer()).toString("latin1");
    expect(bytes.match(/__proto__/g)).toHaveLength(2);
  });
});

describe("commands", () => {
  const target = () => ["--storage", database];

  it("todo list, add, update, remove and clear", async () => {
    const added = JSON.parse((await run(["todo", "add", "write tests", "--id", "t1", ...target()])).stdout);
    expect(added).toEqual({ id: "t1", content: "write tests", status: "pending", priority: "medium" });
    await run(["todo", "add", "sleep", "--priority", "low", ...target()]);
    await run(["todo", "update", "t1", "--status", "completed", ...target()]);
    const listed = (await run(["todo", "list", ...target()])).stdout.trim().split("\n");
    expect(listed.map((line) => JSON.parse(line))).toMatchObject([
      { id: "t1", status: "completed", content: "write tests" },
      { content: "sleep", priority: "low" },
    ]);
    expect(await run(["todo", "remove", "nope", ...target()])).toMatchObject({
      code: 1,
      stderr: 'session-pool: Todo "nope" not found\n',
    });
    await run(["todo", "clear", ...target()]);
    expect((await run(["todo", "list", ...target()])).stdout).toBe("");
  });

  it("sweep prints what it did", async () => {
    const { code, stdout } = await run(["sweep", "--repair", ...target()]);
    expect(stdout).toBe("Swept: 0 sessions, 0 ranges, 0 attachments, 0 fork counts, 0 orphans\n");
    expect(code).toBe(0);
  });

  it("indexes prints the indexes of a MongoDB database", async () => {
    const { code, stdout } = await run(["indexes"]);
    expect(stdout).toContain('db.messages.createIndex({"log":1,"seq":1}, {"name":"log_seq","unique":true})\n');
    expect(code).toBe(0);
  });

  it("keys add and keys hash make entries that serve accepts", async () => {
    mkdirSync(join(folder, "keys"), { recursive: true });
    const path = join(folder, "keys", "keys.json");
    const key = (await run(["keys", "add", "robot", "--keys-file", path, "--scope", "read"])).stdout.trim();
    expect(await run(["keys", "add", "robot", "--keys-file", path])).toMatchObject({ code: 1 });
    const { httpUrl } = await serve("--storage", "memory:", "--keys-file", path);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${httpUrl}/session`, { headers })).status).toBe(200);
    expect(
      (await fetch(`${httpUrl}/session`, { method: "POST", headers: { ...headers, ...JSON_TYPE }, body: "{}" })).status,
    ).toBe(403);
  });
});

const JSON_TYPE = { "content-type": "application/json" };

function serve(...args: string[]) {
  return serveWith({}, ...args);
}

async function serveWith(env: Readonly<Record<string, string>>, ...args: string[]) {
  const started = await Child.serveWith(env, ...args);
  children.push(started.child);
  return started;
}

async function expectOneLine(args: readonly string[], message: RegExp): Promise<void> {
  const { code, stderr, stdout } = await run(["serve", ...ANY_PORTS, ...args]);
  expect(stderr).toMatch(message);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stdout).toBe("");
  expect(code).toBe(1);
}

function workerPids(child: Child): number[] {
  const { pid } = child.process;
  // Linux has a file for this. Elsewhere ps is needed, which not every machine has.
  const file = `/proc/${pid}/task/${pid}/children`;
  const told = existsSync(file)
    ? readFileSync(file, "utf8")
    : spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" }).stdout;
  return told.split(/\s+/).filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Lets a server listen, and resolves to its port. */
async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

/** Sends all of a request that creates a session but the end of its body. Resolves when the server waits for that. */
async function halfRequest(httpUrl: string, body: string): Promise<Socket> {
  const { hostname, port } = new URL(httpUrl);
  const client = connect(Number(port), hostname);
  const head = [
    "POST /session HTTP/1.1",
    `Host: ${hostname}`,
    "Content-Type: application/json",
    "Expect: 100-continue",
  ];
  client.write([...head, `Content-Length: ${body.length}`, "", body[0]].join("\r\n"));
  await once(client, "data");
  client.pause();
  return client;
}

/** Resolves to the status. Rejects if the connection breaks. */
function healthOnNewConnection(httpUrl: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(`${httpUrl}/healthz`, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject);
  });
}

/** Holds the file's write lock, so that calls that write must wait. */
function lockDatabase(path: string): { release(): void } {
  const db = new Database(path);
  db.exec("BEGIN IMMEDIATE");
  return {
    release: () => {
      db.exec("ROLLBACK");
      db.close();
    },
  };
}

/** Resolves to the status, or to undefined if the connection broke. */
async function createSession(httpUrl: string): Promise<number | undefined> {
  try {
    return (await fetch(`${httpUrl}/session`, { method: "POST", headers: JSON_TYPE, body: "{}" })).status;
  } catch {
    return undefined;
  }
}

async function inFlight(httpUrl: string): Promise<boolean> {
  return /session_pool_calls_in_flight [1-9]/.test(await (await fetch(`${httpUrl}/metrics`)).text());
}
