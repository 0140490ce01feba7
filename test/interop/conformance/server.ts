/**
 * Serves ConformanceService with the code of the HTTP port. Reads from standard input how the runner wants it served,
 * and writes to standard output where it listens.
 */
import { mkdtempSync, readSync, rmSync, writeFileSync, writeSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { DEFAULT_LOAD } from "../../../src/config.js";
import type { CallPipeline, FrontCall } from "../../../src/server/front-call.js";
import { StaticRoutes } from "../../../src/server/http/static-routes.js";
import { createHttpListener } from "../../../src/server/http-server.js";
import { Admissions } from "../../../src/server/load/admissions.js";
import { Connections } from "../../../src/server/load/connections.js";
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

const admissions = new Admissions(DEFAULT_LOAD, { perKey: false });

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
  return { context, headers, query, timeoutMs: deadlineMs === undefined ? undefined : deadlineMs - Date.now() };
}

const logger = createLogger("silent");
const asked = fromBinary(typeOf("ServerCompatRequest"), readFrame()) as Asked;
const listener = createHttpListener({
  address: { host: "127.0.0.1", port: 0 },
  methods: API_METHODS,
  pipeline,
  load: { ...DEFAULT_LOAD, bodyBytes: asked.messageReceiveLimit || DEFAULT_LOAD.bodyBytes },
  connections: new Connections(DEFAULT_LOAD.connections),
  corsOrigins: [],
  isServedHost: () => true,
  tls: asked.serverCreds && new TlsFiles(writeKeys(asked.serverCreds), logger),
  staticRoutes: new StaticRoutes(logger),
  logger,
});
const port = await listener.listen();
const told = typeOf("ServerCompatResponse");
process.once("SIGTERM", () => process.exit(0));
writeFrame(
  toBinary(told, create(told, { host: "127.0.0.1", port, pemCert: asked.serverCreds?.cert ?? new Uint8Array() })),
);

function writeKeys({ cert, key }: Keys): { certPath: string; keyPath: string } {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-conformance-"));
  process.once("exit", () => rmSync(folder, { recursive: true }));
  const paths = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  writeFileSync(paths.certPath, cert);
  writeFileSync(paths.keyPath, key);
  return paths;
}

function readFrame(): Buffer {
  return readBytes(readBytes(4).readUInt32BE());
}

function readBytes(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count; ) {
    const read = readSync(0, bytes, at, count - at, null);
    if (read === 0) throw new Error("The runner has closed standard input");
    at += read;
  }
  return bytes;
}

function writeFrame(bytes: Uint8Array): void {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  writeSync(1, Buffer.concat([size, bytes]));
}
