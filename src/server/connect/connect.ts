import { create, type Message } from "@bufbuild/protobuf";
import {
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { toApiError } from "../../api/error-mapping.js";
import type { ApiMethod } from "../../api/method-table.js";
import { wireMethod, writtenMessage } from "../../codec/binary-codec.js";
import { shortMessageWriter } from "../../codec/json-writer.js";
import type { Utf8 } from "../../domain/byte-string.js";
import { ERROR_INFO, encodeErrorInfo, errorInfo } from "../call/error-info.js";
import type { CallPipeline, FrontCall } from "../call/front-call.js";
import type { BodyLimits } from "../http/body.js";
import { MIN_COMPRESSED_BYTES } from "../http/compression.js";
import { goneSignal, type HttpRequest, type HttpResponse } from "../http/exchange.js";
import { hearErrors } from "../http/listener.js";
import { startCall } from "../http/start-call.js";
import type { Admission } from "../limits/admissions.js";
import type { Logger } from "../logging.js";
import { emptyRequest, knowsEncoding, makeRequestReader, type RequestFormat, readFormat } from "./connect-request.js";
import { sendStream, sendStreamHead, sendUnary, withJson } from "./connect-response.js";
import { withGrpcWebMessage } from "./grpc-trailers.js";

export interface ConnectOptions {
  readonly methods: readonly ApiMethod[];
  readonly pipeline: CallPipeline;
  readonly limits: BodyLimits;
  readonly logger: Logger;
}

/** Serves the request if its path is that of an RPC; returns whether it is. Never throws. */
export type ConnectHandler = (path: string, request: HttpRequest, response: HttpResponse) => boolean;

/**
 * One request. It reaches the handler as a context value, because connect-node is given an empty one in its place: see
 * docs/decisions/0066-connect-frames-only.md.
 */
interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly format: RequestFormat;
  readonly signal: AbortSignal;
  /** Set once the request has been authenticated. */
  admission?: Admission;
  /** Answers that are not sent yet, in order. connect-node is given an empty message in the place of each. */
  readonly json: Utf8[];
}

const exchangeKey = createContextKey<Exchange | undefined>(undefined);

/**
 * Serves Connect, gRPC-Web and gRPC through connect-node, which frames answers and errors. The implementation itself
 * authenticates, reads and decodes the request, so connect-node is given an empty one in the same format.
 */
export function createConnectHandler(options: ConnectOptions): ConnectHandler {
  const handlers = handlersOf(options);
  return (path, request, response) => {
    const handler = handlers.get(path);
    if (handler === undefined) return false;
    hearErrors(request, response);
    const exchange: Exchange = {
      request,
      response,
      format: readFormat(request),
      signal: goneSignal(request, response),
      json: [],
    };
    serve(handler, exchange).catch((err: unknown) => {
      // This is expected when the client has gone; then there is nobody left to tell.
      options.logger.debug({ err, path }, "An answer was not sent to its end");
      response.destroy();
    });
    return true;
  };
}

async function serve(handler: UniversalHandler, exchange: Exchange): Promise<void> {
  const { request, response, format, signal } = exchange;
  const universal: UniversalServerRequest = {
    httpVersion: request.httpVersion,
    method: request.method ?? "",
    signal,
    contextValues: createContextValues().set(exchangeKey, exchange),
    ...emptyRequest(request, format, knowsEncoding(request, format)),
  };
  const answer = await withJson(withGrpcWebMessage(withAllow(await handler(universal), handler)), exchange);
  if (handler.method.methodKind === "unary") return sendUnary(answer, response, exchange.admission);
  await sendStream(answer, response, exchange);
}

/** HTTP requires the header with this status; connect-node leaves it out. */
function withAllow(answer: UniversalServerResponse, { allowedMethods }: UniversalHandler): UniversalServerResponse {
  if (answer.status !== 405) return answer;
  return { ...answer, header: new Headers({ allow: allowedMethods.toSorted().join(", ") }) };
}

function handlersOf({ methods, pipeline, limits }: ConnectOptions): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    compressMinBytes: MIN_COMPRESSED_BYTES,
    readMaxBytes: limits.bodyBytes,
  });
  for (const method of methods) {
    if (!method.grpcOnly) addMethod(router, method, pipeline, limits);
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

function addMethod(router: ConnectRouter, method: ApiMethod, pipeline: CallPipeline, limits: BodyLimits): void {
  const { desc } = method;
  const read = makeRequestReader(desc, limits);
  const { encodeResponse } = wireMethod(desc);
  const writeJson = shortMessageWriter(desc.output);

  async function begin(context: HandlerContext): Promise<{ exchange: Exchange; request: Message; call: FrontCall }> {
    const exchange = context.values.get(exchangeKey);
    if (exchange === undefined) throw new Error("connect-node called without a request");
    const call = await startCall("connect", pipeline, method, exchange, exchange.signal);
    exchange.admission = call.admission;
    return { exchange, call, request: await read(exchange.request, exchange.format, call.admission) };
  }

  function answer(message: Message, { format, json }: Exchange): Message {
    if (format.isBinary) return writtenMessage(desc.output, encodeResponse(message));
    // connect-node would parse all stored JSON to objects and write the objects as JSON again.
    json.push(writeJson(message));
    return create(desc.output);
  }

  async function unary(_empty: Message, context: HandlerContext): Promise<Message> {
    try {
      const { exchange, request, call } = await begin(context);
      return answer(await pipeline.unary(method, request, call), exchange);
    } catch (error) {
      throw toConnectError(error);
    }
  }

  async function* stream(_empty: Message, context: HandlerContext): AsyncIterable<Message> {
    try {
      const { exchange, request, call } = await begin(context);
      const events = await pipeline.stream(method, request, call);
      sendStreamHead(context.responseHeader, exchange.response);
      for await (const event of events) yield answer(event, exchange);
    } catch (error) {
      throw toConnectError(error);
    }
  }

  // The descriptor tells which of the two it is.
  router.rpc(desc, (desc.methodKind === "unary" ? unary : stream) as never);
}

/** connect-node cannot write a text with a lone surrogate. */
function toConnectError(error: unknown): ConnectError {
  const { code, message, retryAfterS, current } = toApiError(error);
  const headers: Record<string, string> = retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) };
  const answer = new ConnectError(Buffer.from(message).toString(), code, headers);
  if (current !== undefined) {
    answer.details.push({ type: ERROR_INFO, value: encodeErrorInfo(current), debug: { ...errorInfo(current) } });
  }
  return answer;
}
