import { createServer as createHttp1Server, type IncomingHttpHeaders, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../../../src/config/config.js";
import type { HttpRequest, HttpResponse } from "../../../../src/server/http/exchange.js";
import { frameOf } from "../../../../src/server/rpc/frames.js";
import { createRpcHandler } from "../../../../src/server/rpc/handler.js";
import { FakePipeline, METHODS } from "../rest/rest-server.js";

/** The types in which a unary call can be made, and how messages are compressed in each. */
export const UNARY_TYPES = [
  { type: "application/json", encoding: "content-encoding", accept: "accept-encoding", isFramed: false },
  { type: "application/proto", encoding: "content-encoding", accept: "accept-encoding", isFramed: false },
  ...["grpc", "grpc-web"].flatMap((protocol) =>
    ["+json", "+proto"].map((codec) => ({
      type: `application/${protocol}${codec}`,
      encoding: "grpc-encoding",
      accept: "grpc-accept-encoding",
      isFramed: true,
    })),
  ),
] as const;

export interface RpcAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The frames of the body, decompressed. */
  readonly frames: readonly { readonly flags: number; readonly data: Buffer }[];
}

export interface RpcRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** A message, which gets a frame where the type has them; `raw` is sent as it is. */
  readonly message?: Uint8Array | string;
  readonly raw?: Buffer;
}

/** The front of the RPCs on a port of its own. */
export class RpcServer {
  readonly pipeline: FakePipeline;
  /** The errors that `onUnexpected` received. */
  readonly unexpected: unknown[] = [];
  readonly #server: Server | Http2Server;

  private constructor(limits: Partial<ServerLimits>, version: 1 | 2) {
    this.pipeline = new FakePipeline(limits);
    const handle = createRpcHandler({
      methods: METHODS,
      pipeline: this.pipeline,
      limits: { ...DEFAULT_SERVER_LIMITS, ...limits },
      onUnexpected: (error) => this.unexpected.push(error),
    });
    const serve = (request: HttpRequest, response: HttpResponse) => {
      handle((request.url ?? "").split("?", 1)[0]!, request, response);
    };
    this.#server = version === 1 ? createHttp1Server(serve) : createHttp2Server(serve);
  }

  static async start(limits: Partial<ServerLimits> = {}, version: 1 | 2 = 2): Promise<RpcServer> {
    const server = new RpcServer(limits, version);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      if ("closeAllConnections" in this.#server) this.#server.closeAllConnections();
    });
  }

  /** Calls a method over HTTP/2. */
  call(rpc: string, type: string | undefined, request: RpcRequest = {}): Promise<RpcAnswer> {
    const { method = "POST", headers = {}, message = "", raw } = request;
    const isFramed = type !== undefined && /^application\/(grpc|connect)/i.test(type);
    const plain = typeof message === "string" ? Buffer.from(message) : Buffer.from(message);
    const body = raw ?? (isFramed ? frameOf(0, plain) : plain);
    return new Promise((resolve, reject) => {
      const session = connectHttp2(this.url);
      session.on("error", reject);
      const fields = { ...(type !== undefined && { "content-type": type }), ...headers };
      const path = `/sessionpool.v1.${rpc}`;
      const hasBody = method === "POST";
      const stream = session.request({ ":method": method, ":path": path, ...fields }, { endStream: !hasBody });
      const chunks: Buffer[] = [];
      let head: IncomingHttpHeaders & { ":status"?: number } = {};
      let trailers: IncomingHttpHeaders = {};
      stream.on("response", (received) => {
        head = received as typeof head;
      });
      stream.on("trailers", (received) => {
        trailers = received;
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("close", () => {
        session.close();
        const { ":status": status = 0, ...rest } = head;
        const answered = Buffer.concat(chunks);
        resolve({ status, headers: rest, trailers, body: answered, frames: framesOf(answered, rest) });
      });
      if (hasBody) stream.end(body);
    });
  }
}

function framesOf(body: Buffer, headers: IncomingHttpHeaders): RpcAnswer["frames"] {
  if (!/grpc|connect/.test(headers["content-type"] ?? "")) return [];
  const decompress =
    (headers["grpc-encoding"] ?? headers["connect-content-encoding"]) === "br" ? brotliDecompressSync : gunzipSync;
  const frames = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    const flags = body[at]!;
    const data = body.subarray(at + 5, end);
    frames.push({ flags, data: (flags & 1) === 0 ? data : decompress(data) });
    at = end;
  }
  return frames;
}
