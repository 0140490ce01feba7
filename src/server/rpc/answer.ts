import type { ServerResponse } from "node:http";
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { compressedFlag } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJson } from "@connectrpc/connect/protocol-connect";
import { type ByteString, toByteString, toBytes } from "../../domain/byte-string.js";
import type { FrontCall } from "../call/front-call.js";
import { compress, type Encoding, MIN_COMPRESSED_BYTES } from "../http/compression.js";
import { type HttpExchange, isGone } from "../http/exchange.js";
import {
  abandonUnread,
  discardRest,
  type Headers as Fields,
  header,
  send,
  sendContent,
  writeHead,
} from "../http/respond.js";
import { withinStallTime } from "../limits/stall.js";
import { endingOf, GOOD_ENDINGS } from "./endings.js";
import { frameOf } from "./frames.js";
import type { Format } from "./protocol.js";

export interface RpcExchange extends HttpExchange {
  readonly format: Format;
}

/** A message as its codec has written it. */
export type Written = ByteString | Uint8Array;

/** Sends the answer of a unary call. Rejects when there is no room for an answer that waits to be read. */
export async function sendUnary(exchange: RpcExchange, message: Written, { admission }: FrontCall): Promise<void> {
  const { request, response, format } = exchange;
  if (format.protocol === "connect") return sendContent(request, response, format.contentType, message, admission);
  admission.hold(message.length);
  const frame = await compressedFrame(exchange, message);
  admission.release(message.length - frame.length);
  if (isGone(response)) return;
  sendHead(exchange);
  sendEnding(exchange, undefined, frame);
}

/**
 * Sends the head of a stream at once, and its events as fast as the client reads. Disconnects a client that does not
 * read. Rejects when the stream fails and when there is no room for an event.
 */
export async function sendStream(
  exchange: RpcExchange,
  events: AsyncIterable<Message>,
  write: (event: Message) => Written,
  { admission, signal }: FrontCall,
): Promise<void> {
  const response = exchange.response as ServerResponse;
  sendHead(exchange);
  response.flushHeaders();
  for await (const event of events) {
    const frame = await compressedFrame(exchange, write(event));
    admission.hold(frame.length);
    await withinStallTime((done) => response.write(frame, () => done()), signal).catch((error) => {
      response.destroy();
      throw error;
    });
    admission.release(frame.length);
  }
  sendEnding(exchange, undefined);
}

/** Answers with an error, or ends a stream with it. */
export function sendError(exchange: RpcExchange, error: ConnectError): void {
  const { request, response, format } = exchange;
  if (isGone(response)) return;
  if (format.protocol === "connect") {
    const headers = { "content-type": "application/json", ...Object.fromEntries(error.metadata) };
    const json = toByteString(JSON.stringify(errorToJson(error, undefined)));
    send(request, response, codeToHttpStatus(error.code), headers, json);
  } else {
    if (!response.headersSent) sendHead(exchange);
    sendEnding(exchange, error);
  }
}

function sendHead(exchange: RpcExchange): void {
  const { response, format } = exchange;
  const fields: Fields = { "content-type": format.contentType };
  const encoding = acceptedEncoding(exchange);
  if (encoding !== undefined) fields[format.encodingHeader] = encoding;
  writeHead(response, 200, fields);
}

/** The first compression in the client's list that the server has; these lists have no weights. */
function acceptedEncoding({ request, format }: RpcExchange): Encoding | undefined {
  const names = header(request, format.acceptHeader)?.split(",");
  return names?.map((name) => name.trim()).find((name): name is Encoding => name === "gzip" || name === "br");
}

async function compressedFrame(exchange: RpcExchange, message: Written): Promise<Buffer> {
  const encoding = message.length < MIN_COMPRESSED_BYTES ? undefined : acceptedEncoding(exchange);
  if (encoding === undefined) return frameOf(0, message);
  const bytes = typeof message === "string" ? toBytes(message) : message;
  return frameOf(compressedFlag, await compress(bytes, encoding));
}

/** Ends an answer that has frames. `last`: the frame before its end, if it has not been sent. */
function sendEnding({ request, response, format }: RpcExchange, error: ConnectError | undefined, last?: Buffer): void {
  const ending = error === undefined ? GOOD_ENDINGS[format.protocol] : endingOf(format.protocol, error);
  const out = response as ServerResponse;
  if (ending.trailers !== undefined) out.addTrailers(ending.trailers);
  // Writing and ending at once costs less.
  if (last !== undefined && ending.frame !== undefined) out.write(last);
  out.end(ending.frame ?? last);
  abandonUnread(response);
  discardRest(request);
}
