import type { DescMethod, Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import { wireMethod } from "../../codec/binary-codec.js";
import { shortMessageWriter } from "../../codec/json-writer.js";
import type { ServerLimits } from "../../config/config.js";
import type { CallPipeline, FrontCall } from "../call/front-call.js";
import { BodyChunks } from "../http/body-chunks.js";
import type { HttpExchange, HttpRequest, HttpResponse } from "../http/exchange.js";
import { hearErrors } from "../http/listener.js";
import { send } from "../http/respond.js";
import { startCall } from "../http/start-call.js";
import { transferBytes } from "../limits/admissions.js";
import { noMessage } from "../limits/body-errors.js";
import { UnknownCompression } from "../limits/inflate.js";
import { type RpcExchange, sendError, sendStream, sendUnary, type Written } from "./answer.js";
import { toConnectError } from "./endings.js";
import { formatOfGet, formatOfPost, queryOf } from "./protocol.js";
import {
  COMPRESSIONS,
  checkCompression,
  makeRequestReader,
  makeStreamReader,
  type RequestReader,
  type StreamReader,
} from "./request.js";

export interface RpcOptions {
  readonly methods: readonly ApiMethod[];
  readonly pipeline: CallPipeline;
  readonly limits: ServerLimits;
  /** Receives errors that are this program's fault. */
  readonly onUnexpected: (error: unknown) => void;
}

/** Serves the request if its path is that of an RPC; returns whether it is. Never throws. */
export type RpcHandler = (path: string, request: HttpRequest, response: HttpResponse) => boolean;

interface Rpc {
  readonly method: ApiMethod;
  readonly isUnary: boolean;
  readonly allowsGet: boolean;
  readonly read: RequestReader;
  readonly readStream: StreamReader;
  readonly write: (message: Message, isBinary: boolean) => Written;
}

/** Serves Connect, gRPC-Web and gRPC, over HTTP/1.1 and HTTP/2. */
export function createRpcHandler(options: RpcOptions): RpcHandler {
  const { methods, pipeline, limits, onUnexpected } = options;
  const served = methods.filter(({ grpcOnly }) => !grpcOnly);
  const rpcs = new Map(served.map((method) => [pathOf(method.desc), rpcOf(method, limits)]));

  async function serve(rpc: Rpc, { request, response }: HttpExchange): Promise<void> {
    const isGet = request.method === "GET" && rpc.allowsGet;
    if (!isGet && request.method !== "POST") {
      return send(request, response, 405, { allow: rpc.allowsGet ? "GET, POST" : "POST" }, undefined);
    }
    const query = isGet ? queryOf(request) : undefined;
    const format = query === undefined ? formatOfPost(request, rpc.isUnary) : formatOfGet(request, query);
    if (format === undefined) return send(request, response, 415, {}, undefined);
    const exchange = { request, response, format };
    try {
      await answer(rpc, exchange, query);
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof ConnectError)) onUnexpected(error);
      const told = toConnectError(error);
      // gRPC and Connect demand that the client be told which ones it may use.
      if (error instanceof UnknownCompression) told.metadata.set(format.acceptHeader, COMPRESSIONS.join());
      sendError(exchange, told);
    }
  }

  async function answer(rpc: Rpc, exchange: RpcExchange, query: URLSearchParams | undefined): Promise<void> {
    const { request, format } = exchange;
    if (query === undefined) checkCompression(request, format);
    const call = await startCall("connect", pipeline, rpc.method, exchange);
    if (rpc.method.desc.methodKind === "client_streaming") return answerUpload(rpc, exchange, call);
    const message = await rpc.read(request, format, query, call.admission);
    const write = (answer: Message) => rpc.write(answer, format.isBinary);
    if (rpc.isUnary) await sendUnary(exchange, write(await pipeline.unary(rpc.method, message, call)), call);
    else await sendStream(exchange, await pipeline.stream(rpc.method, message, call), write, call);
  }

  /** An answer may come before the end of the client's stream, of which nothing more is taken then. */
  async function answerUpload(rpc: Rpc, exchange: RpcExchange, call: FrontCall): Promise<void> {
    const { request, format } = exchange;
    const chunks = new BodyChunks(request, limits, call.admission);
    try {
      const messages = rpc.readStream(request, format, chunks, call.admission);
      const first = await messages.next();
      if (first.done) throw noMessage();
      call.admission.hold(transferBytes((first.value as { readonly size?: bigint }).size));
      const answer = await pipeline.upload(rpc.method, first.value, messages, call);
      await sendUnary(exchange, rpc.write(answer, format.isBinary), call);
    } finally {
      await chunks.return();
    }
  }

  return (path, request, response) => {
    const rpc = rpcs.get(path);
    if (rpc === undefined) return false;
    hearErrors(request, response);
    serve(rpc, { request, response }).catch((error: unknown) => {
      onUnexpected(error);
      response.destroy();
    });
    return true;
  };
}

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

function rpcOf(method: ApiMethod, limits: ServerLimits): Rpc {
  const { desc } = method;
  const { encodeResponse } = wireMethod(desc);
  const writeJson = shortMessageWriter(desc.output);
  const isUnary = desc.methodKind === "unary";
  return {
    method,
    isUnary,
    allowsGet: isUnary && desc.idempotency === Idempotency.NO_SIDE_EFFECTS,
    read: makeRequestReader(desc, limits),
    readStream: makeStreamReader(desc, limits),
    write: (message, isBinary) => (isBinary ? encodeResponse(message) : writeJson(message)),
  };
}
