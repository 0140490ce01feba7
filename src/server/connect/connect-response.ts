import type { ServerResponse } from "node:http";
import { createAsyncIterable, encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import { ApiError } from "../../api/api-error.js";
import { toBytes, type Utf8 } from "../../domain/byte-string.js";
import { chooseEncoding, compress, type Encoding, MIN_COMPRESSED_BYTES } from "../http/compression.js";
import type { HttpRequest, HttpResponse } from "../http/exchange.js";
import { abandonUnread, writeHead } from "../http/respond.js";
import type { Admission } from "../limits/admissions.js";
import { withinStallTime } from "../limits/stall.js";
import { COMPRESSED_FLAG, type RequestFormat } from "./connect-request.js";
import { withGrpcMessage } from "./grpc-trailers.js";

/**
 * Sends an answer of connect-node as one piece. When there is no room for an answer that waits to be read, the client
 * is told by the HTTP status, which every protocol maps to a code of its own.
 */
export async function sendUnary(
  answer: UniversalServerResponse,
  response: HttpResponse,
  admission: Admission | undefined,
): Promise<void> {
  const out = response as ServerResponse;
  const body = await collect(answer.body);
  try {
    admission?.hold(body.length);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return sendRefusal(response, error);
  }
  writeHead(response, answer.status, toHeaders(answer.header));
  addTrailers(out, answer);
  out.end(body);
  abandonUnread(response);
}

/**
 * Replaces each empty message in connect-node's answer by the next of these, which are JSON, compressed if the client
 * prefers that. An answer that is an error has no message.
 */
export async function withJson(
  answer: UniversalServerResponse,
  { json, request, format }: { readonly json: Utf8[]; readonly request: HttpRequest; readonly format: RequestFormat },
): Promise<UniversalServerResponse> {
  if (format.isBinary) return answer;
  if (format.isEnveloped) return { ...answer, body: fillEnvelopes(answer, json, format.encodingHeader) };
  // Not kept, because the request may wait for its client to read the answer.
  const only = json.shift();
  return only === undefined ? answer : withBody(answer, only, request);
}

async function withBody(
  answer: UniversalServerResponse,
  json: Utf8,
  request: HttpRequest,
): Promise<UniversalServerResponse> {
  const accepted = json.length < MIN_COMPRESSED_BYTES ? undefined : request.headers["accept-encoding"];
  const encoding = chooseEncoding(typeof accepted === "string" ? accepted : undefined);
  const plain = toBytes(json);
  const body = encoding === undefined ? plain : await compress(plain, encoding);
  const header = new Headers(answer.header);
  header.set("content-length", String(body.length));
  if (encoding !== undefined) header.set("content-encoding", encoding);
  return { ...answer, header, body: createAsyncIterable([body]) };
}

/** connect-node yields one envelope at a time. Those of messages have no flags here, because `{}` is not compressed. */
async function* fillEnvelopes(
  { header, body }: UniversalServerResponse,
  json: Utf8[],
  encodingHeader: string,
): AsyncIterable<Uint8Array> {
  const encoding = header?.get(encodingHeader) as Encoding | null | undefined;
  for await (const envelope of body ?? []) {
    const message = envelope[0] === 0 ? json.shift() : undefined;
    yield message === undefined ? envelope : await toEnvelope(message, encoding);
  }
}

async function toEnvelope(json: Utf8, encoding: Encoding | null | undefined): Promise<Uint8Array> {
  const plain = toBytes(json);
  if (!encoding || json.length < MIN_COMPRESSED_BYTES) return encodeEnvelope(0, plain);
  return encodeEnvelope(COMPRESSED_FLAG, await compress(plain, encoding));
}

/** Sends the events of a stream as fast as the client reads. Rejects when the client has gone or does not read. */
export async function sendStream(
  answer: UniversalServerResponse,
  response: HttpResponse,
  { signal, admission }: { readonly signal: AbortSignal; readonly admission?: Admission | undefined },
): Promise<void> {
  const out = response as ServerResponse;
  if (!out.headersSent) writeHead(response, answer.status, toHeaders(answer.header));
  for await (const chunk of answer.body ?? []) {
    if (chunk.length === 0) continue;
    admission?.hold(chunk.length);
    await withinStallTime((done) => out.write(chunk, () => done()), signal);
    admission?.release(chunk.length);
  }
  addTrailers(out, answer);
  out.end();
  abandonUnread(response);
}

/** Sends the headers of a stream at once; connect-node would hold them back until the first message. */
export function sendStreamHead(header: Headers, response: HttpResponse): void {
  writeHead(response, 200, toHeaders(header));
  (response as ServerResponse).flushHeaders();
}

async function collect(body: UniversalServerResponse["body"]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return chunks.length === 1
    ? Buffer.from(chunks[0]!.buffer, chunks[0]!.byteOffset, chunks[0]!.byteLength)
    : Buffer.concat(chunks);
}

function addTrailers(out: ServerResponse, { trailer }: UniversalServerResponse): void {
  if (trailer !== undefined) out.addTrailers(toHeaders(withGrpcMessage(trailer)));
}

function sendRefusal(response: HttpResponse, { message, retryAfterS }: ApiError): void {
  const body = JSON.stringify({ code: "resource_exhausted", message });
  writeHead(response, 429, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...(retryAfterS !== undefined && { "retry-after": retryAfterS }),
  });
  (response as ServerResponse).end(body);
}

function toHeaders(headers: Headers | undefined): Record<string, string> {
  return Object.fromEntries(headers ?? []);
}
