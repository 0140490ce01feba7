/**
 * Serves ConformanceService with the code of the HTTP port or of the gRPC port. The runner starts a program for each
 * way of serving and allows it ten seconds, in which Node may not have loaded all of this on a busy machine. So that
 * program is relay.mjs, which connects the runner to here.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { DEFAULT_SERVER_LIMITS } from "../../../src/config/config.js";
import { GRPC_EXTRA_BYTES } from "../../../src/config/server-limits.js";
import type { CallPipeline, FrontCall } from "../../../src/server/call/front-call.js";
import { startGrpcServer } from "../../../src/server/grpc/grpc-server.js";
import { StaticRoutes } from "../../../src/server/http/static-routes.js";
import { createHttpListener } from "../../../src/server/http-server.js";
import { Admissions } from "../../../src/server/limits/admissions.js";
import { Connections } from "../../../src/server/limits/connections.js";
import { createLogger } from "../../../src/server/logging.js";
import { TlsFiles } from "../../../src/server/tls-files.js";
import { answerStream, answerUnary, type ConformanceRequest, typeOf } from "./answer.js";
import { API_METHODS } from "./methods.js";
import { CALL_NAME, type Seen, takeSeen } from "./seen.js";

interface Keys {
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
}

type Asked = Message & { readonly messageReceiveLimit: number; readonly serverCreds?: Keys };

const admissions = new Admissions(DEFAULT_SERVER_LIMITS, { perKey: false });

const pipeline: CallPipeline = {
  authenticate: () => Promise.resolve({ name: "runner", namespace: "default", scope: "read" }),
  refused: () => undefined,
  admit: (_method, { principal }) => admissions.admit("call", principal, undefined),
  admitAnyone: (kind) => admissions.admit(kind, undefined, undefined),
  unary: ({ desc }, request, call) => answerUnary(desc, [request as ConformanceRequest], seenOf(call)),
  stream: ({ desc }, request, call) => Promise.resolve(answerStream(desc, request as ConformanceRequest, seenOf(call))),
  upload: async ({ desc }, first, rest, call) => {
    const others: Message[] = [];
    for await (const message of rest) others.push(message);
    return answerUnary(desc, [first as ConformanceRequest, ...others], seenOf(call));
  },
};

function seenOf({ facts }: FrontCall): Seen {
  return takeSeen(facts?.header(CALL_NAME));
}

const logger = createLogger("silent");

/** Serves each runner that connects to this path as it asks, with one of the two ports, until it disconnects. */
export function listenForRunners(path: string, front: "http" | "grpc"): Server {
  return createServer((runner) => {
    // The runner ends its relays with a signal, which may reset the connection.
    runner.on("error", () => {});
    serve(runner, front === "http" ? startHttp : startGrpc).catch((error) => {
      console.error(error);
      runner.destroy();
    });
  }).listen(path);
}

interface Started {
  readonly port: number;
  drain(): Promise<void>;
  kill(): void;
}

type Start = (asked: Asked) => Promise<Started>;

/** Reads from the runner how it wants to be served, and writes to it where that is done. */
async function serve(runner: Socket, start: Start): Promise<void> {
  const asked = fromBinary(typeOf("ServerCompatRequest"), await readFrame(runner)) as Asked;
  const server = await start(asked);
  runner.once("close", () => {
    void server.drain();
    server.kill();
  });
  // A socket that nobody reads does not notice its end.
  runner.resume();
  const { port } = server;
  const pemCert = asked.serverCreds?.cert ?? new Uint8Array();
  const told = typeOf("ServerCompatResponse");
  const answer = toBinary(told, create(told, { host: "127.0.0.1", port, pemCert }));
  const answerSize = Buffer.alloc(4);
  answerSize.writeUInt32BE(answer.length);
  runner.write(Buffer.concat([answerSize, answer]));
}

const startHttp: Start = async (asked) => {
  const listener = createHttpListener({
    ...commonOptions(asked, asked.messageReceiveLimit || DEFAULT_SERVER_LIMITS.bodyBytes),
    corsOrigins: [],
    staticRoutes: new StaticRoutes(logger),
  });
  const port = await listener.listen();
  return { port, drain: () => listener.drain(), kill: () => listener.kill() };
};

const startGrpc: Start = (asked) => {
  const limitBytes = asked.messageReceiveLimit || DEFAULT_SERVER_LIMITS.bodyBytes;
  return startGrpcServer({ ...commonOptions(asked, limitBytes - GRPC_EXTRA_BYTES), reflection: false });
};

function commonOptions({ serverCreds }: Asked, bodyBytes: number) {
  return {
    address: { host: "127.0.0.1", port: 0 },
    methods: API_METHODS,
    pipeline,
    serverLimits: { ...DEFAULT_SERVER_LIMITS, bodyBytes },
    connections: new Connections(DEFAULT_SERVER_LIMITS.connections),
    isServedHost: () => true,
    tls: serverCreds && tlsOf(serverCreds),
    logger,
  };
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
