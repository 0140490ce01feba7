/**
 * Serves ConformanceService with the code of the HTTP port. The runner starts a program for each way of serving and
 * allows it ten seconds, in which Node may not have loaded all of this on a busy machine. So that program is relay.mjs,
 * which connects the runner to here.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { DEFAULT_SERVER_LIMITS } from "../../../src/config/config.js";
import type { CallPipeline, FrontCall } from "../../../src/server/call/front-call.js";
import { readDeadline } from "../../../src/server/http/start-call.js";
import { StaticRoutes } from "../../../src/server/http/static-routes.js";
import { createHttpListener } from "../../../src/server/http-server.js";
import { Admissions } from "../../../src/server/limits/admissions.js";
import { Connections } from "../../../src/server/limits/connections.js";
import { createLogger } from "../../../src/server/logging.js";
import { TlsFiles } from "../../../src/server/tls-files.js";
import { answerStream, answerUnary, type ConformanceRequest, type Seen, typeOf } from "./answer.js";
import { API_METHODS } from "./methods.js";

/** A call with the fields that build.ts adds to it. */
type SeenCall = FrontCall & {
  readonly context: HandlerContext;
  readonly request: { readonly headers: IncomingHttpHeaders; readonly url?: string };
};

interface Keys {
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
}

type Asked = Message & { readonly messageReceiveLimit: number; readonly serverCreds?: Keys };

const admissions = new Admissions(DEFAULT_SERVER_LIMITS, { perKey: false });

const pipeline: CallPipeline = {
  authenticate: () => Promise.resolve({ name: "runner", namespace: "default", scope: "read" }),
  admit: (_method, { principal }) => admissions.admit("call", principal, undefined),
  admitAnyone: (kind) => admissions.admit(kind, undefined, undefined),
  unary: ({ desc }, request, call) => answerUnary(desc, request as ConformanceRequest, seenOf(call as SeenCall)),
  stream: ({ desc }, request, call) =>
    Promise.resolve(answerStream(desc, request as ConformanceRequest, seenOf(call as SeenCall))),
};

function seenOf({ context, deadlineMs, request }: SeenCall): Seen {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (!name.startsWith(":") && value !== undefined) headers.set(name, String(value));
  }
  const query = new URL(request.url ?? "/", "http://localhost").searchParams;
  // Not what is left of the deadline: the runner allows only half a second to have passed.
  const timeoutMs = deadlineMs === undefined ? undefined : readDeadline(request.headers, 0);
  return { context, headers, query, timeoutMs };
}

const logger = createLogger("silent");

/** Serves each runner that connects to this path as it asks, until it disconnects. */
export function listenForRunners(path: string): Server {
  return createServer((runner) => {
    // The runner ends its relays with a signal, which may reset the connection.
    runner.on("error", () => {});
    serve(runner).catch((error) => {
      console.error(error);
      runner.destroy();
    });
  }).listen(path);
}

/** Reads from the runner how it wants to be served, and writes to it where that is done. */
async function serve(runner: Socket): Promise<void> {
  const asked = fromBinary(typeOf("ServerCompatRequest"), await readFrame(runner)) as Asked;
  const listener = createHttpListener({
    address: { host: "127.0.0.1", port: 0 },
    methods: API_METHODS,
    pipeline,
    serverLimits: { ...DEFAULT_SERVER_LIMITS, bodyBytes: asked.messageReceiveLimit || DEFAULT_SERVER_LIMITS.bodyBytes },
    connections: new Connections(DEFAULT_SERVER_LIMITS.connections),
    corsOrigins: [],
    isServedHost: () => true,
    tls: asked.serverCreds && tlsOf(asked.serverCreds),
    staticRoutes: new StaticRoutes(logger),
    logger,
  });
  runner.once("close", () => {
    void listener.drain();
    listener.kill();
  });
  // A socket that nobody reads does not notice its end.
  runner.resume();
  const port = await listener.listen();
  const pemCert = asked.serverCreds?.cert ?? new Uint8Array();
  const told = typeOf("ServerCompatResponse");
  const answer = toBinary(told, create(told, { host: "127.0.0.1", port, pemCert }));
  const answerSize = Buffer.alloc(4);
  answerSize.writeUInt32BE(answer.length);
  runner.write(Buffer.concat([answerSize, answer]));
}

function tlsOf({ cert, key }: Keys): TlsFiles {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-conformance-"));
  const paths = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  writeFileSync(paths.certPath, cert);
  writeFileSync(paths.keyPath, key);
  const tls = new TlsFiles(paths, logger);
  tls.close();
  rmSync(folder, { recursive: true });
  return tls;
}

async function readFrame(runner: Socket): Promise<Buffer> {
  let seen = Buffer.alloc(0);
  for await (const chunk of runner.iterator({ destroyOnReturn: false })) {
    seen = Buffer.concat([seen, chunk]);
    if (seen.length >= 4 && seen.length >= 4 + seen.readUInt32BE()) return seen.subarray(4);
  }
  throw new Error("The runner has disconnected before it said how it wants to be served");
}
