import type { Message } from "@bufbuild/protobuf";
import {
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type { ApiMethod } from "../api/method-table.js";
import { answerOf } from "./answer-of.js";
import { emptyRequest, knowsEncoding, makeRequestReader, type RequestFormat, readFormat } from "./connect-request.js";
import { sendResponse, sendStreamHead } from "./connect-response.js";
import type { Caller, FrontCall } from "./front-call.js";
import { type HttpRequest, type HttpResponse, hearErrors } from "./http-listener.js";
import type { Logger } from "./logging.js";
import { readDeadline } from "./rest/deadline.js";
import { HttpProblem } from "./rest/problem.js";
import { toWire, wireService } from "./struct-wire.js";

export interface ConnectOptions {
  readonly methods: readonly ApiMethod[];
  readonly caller: Caller;
  readonly bodyBytes: number;
  readonly logger: Logger;
}

/** Serves the request if its path is an RPC's, and returns whether it is. Never throws. */
export type ConnectHandler = (path: string, request: HttpRequest, response: HttpResponse) => boolean;

/** One request, as the implementation behind connect-node needs it. */
interface Exchange {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly format: RequestFormat;
  readonly signal: AbortSignal;
}

const exchangeKey = createContextKey<Exchange | undefined>(undefined);

/** Answers smaller than this are not compressed. */
const COMPRESS_MIN_BYTES = 1024;

/**
 * Connect, gRPC-Web and gRPC by connect-node, which frames answers and errors. Requests are authenticated, read and decoded here: it
 * is given an empty message in place of each.
 */
export function createConnectHandler(options: ConnectOptions): ConnectHandler {
  const binary = handlersOf(options, true);
  const json = handlersOf(options, false);
  return (path, request, response) => {
    if (!json.has(path)) return false;
    hearErrors(request, response);
    const format = readFormat(request);
    const handler = (format.isBinary ? binary : json).get(path)!;
    serve(handler, { request, response, format, signal: goneSignal(response) }).catch((err: unknown) => {
      // Expected when the client has gone; then there is nobody left to tell.
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
  await sendResponse(await handler(universal), response, signal);
}

function goneSignal(response: HttpResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

/**
 * Handlers by path. The binary ones answer with the wire's messages, whose Structs lose nothing; so no message of theirs may be written
 * as JSON, nor the other way round.
 */
function handlersOf({ methods, caller, bodyBytes }: ConnectOptions, isBinary: boolean): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    compressMinBytes: COMPRESS_MIN_BYTES,
    readMaxBytes: bodyBytes,
  });
  for (const method of methods) {
    if (!method.grpcOnly) addMethod(router, method, caller, { isBinary, bodyBytes });
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

function addMethod(
  router: ConnectRouter,
  method: ApiMethod,
  caller: Caller,
  { isBinary, bodyBytes }: { readonly isBinary: boolean; readonly bodyBytes: number },
): void {
  const { desc } = method;
  const read = makeRequestReader(desc, bodyBytes);
  const encode = isBinary ? toWire : (message: Message) => message;

  async function begin(context: HandlerContext): Promise<{ exchange: Exchange; request: Message; call: FrontCall }> {
    const exchange = context.values.get(exchangeKey);
    if (exchange === undefined) throw new Error("connect-node called without a request");
    const call = await startCall(caller, exchange);
    return { exchange, call, request: await read(exchange.request, exchange.format) };
  }

  async function unary(_empty: Message, context: HandlerContext): Promise<Message> {
    try {
      const { request, call } = await begin(context);
      return encode(await caller.unary(method, request, call));
    } catch (error) {
      throw toConnectError(error);
    }
  }

  async function* stream(_empty: Message, context: HandlerContext): AsyncIterable<Message> {
    try {
      const { exchange, request, call } = await begin(context);
      const events = await caller.stream(method, request, call);
      sendStreamHead(context.responseHeader, exchange.response);
      for await (const event of events) yield encode(event);
    } catch (error) {
      throw toConnectError(error);
    }
  }

  const served = isBinary ? wireService(desc.parent).method[desc.localName]! : desc;
  // Which of the two it is follows from the descriptor.
  router.rpc(served, (desc.methodKind === "unary" ? unary : stream) as never);
}

async function startCall(caller: Caller, { request, signal }: Exchange): Promise<FrontCall> {
  const header = (name: string) => {
    const value = request.headers[name];
    return typeof value === "string" ? value : undefined;
  };
  const principal = await caller.authenticate(header);
  return { front: "connect", principal, deadlineMs: readDeadline(request.headers, Date.now()), signal, header };
}

function toConnectError(error: unknown): ConnectError {
  const { code, message } = error instanceof HttpProblem ? error : answerOf(error);
  // The JSON reader's texts begin behind the place: what its caller calls the whole.
  return new ConnectError(message.startsWith(":") ? `body${message}` : message, code);
}
