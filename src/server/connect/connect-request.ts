import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { createAsyncIterable, encodeEnvelope, type UniversalServerRequest } from "@connectrpc/connect/protocol";
import { ApiError, invalidArgument } from "../../api/api-error.js";
import { wireMethod } from "../../codec/binary-codec.js";
import { messageReader } from "../../codec/json-reader.js";
import { parseJson } from "../../codec/json-text.js";
import { type BodyLimits, readBody } from "../http/body.js";
import type { HttpRequest } from "../http/exchange.js";
import type { Admission } from "../limits/admissions.js";
import { bodyTooLarge, severalMessages, unknownFlags, unnamedCompression } from "../limits/body-errors.js";
import { type Compression, inflate } from "../limits/inflate.js";

/** What a Connect, gRPC-Web or gRPC request says about its own format. */
export interface RequestFormat {
  readonly isGet: boolean;
  readonly isBinary: boolean;
  /** Whether each message has a frame of five bytes, as in every protocol except Connect's unary calls. */
  readonly isEnveloped: boolean;
  /** The name of the header that names the compression. */
  readonly encodingHeader: "content-encoding" | "connect-content-encoding" | "grpc-encoding";
}

export type RequestReader = (request: HttpRequest, format: RequestFormat, admission: Admission) => Promise<Message>;

const COMPRESSIONS: ReadonlySet<string> = new Set<Compression>(["gzip", "br"]);

/** The request headers that connect-node needs to see. */
const PASSED_HEADERS = [
  "content-type",
  "accept-encoding",
  "connect-accept-encoding",
  "grpc-accept-encoding",
  "connect-protocol-version",
  "x-grpc-web",
  "user-agent",
];

export const ENVELOPE_BYTES = 5;
/** In the first byte of an envelope. */
export const COMPRESSED_FLAG = 1;
const EMPTY = Buffer.alloc(0);

export function readFormat({ method, headers, url }: HttpRequest): RequestFormat {
  if (method === "GET") {
    const isBinary = queryOf(url).get("encoding") === "proto";
    return { isGet: true, isBinary, isEnveloped: false, encodingHeader: "content-encoding" };
  }
  const type = (headers["content-type"] ?? "").toLowerCase();
  const isGrpc = type.startsWith("application/grpc");
  const isStream = type.startsWith("application/connect");
  return {
    isGet: false,
    isBinary: /^application\/(proto|connect\+proto|grpc(-web)?(\+proto)?)$/.test(type),
    isEnveloped: isGrpc || isStream,
    encodingHeader: isGrpc ? "grpc-encoding" : isStream ? "connect-content-encoding" : "content-encoding",
  };
}

/**
 * Whether `readRequest` knows the request's compression. If it does not, connect-node tells the client which ones it
 * may use.
 */
export function knowsEncoding({ headers }: HttpRequest, { encodingHeader }: RequestFormat): boolean {
  const encoding = headers[encodingHeader];
  return encoding === undefined || encoding === "" || encoding === "identity" || COMPRESSIONS.has(String(encoding));
}

/** A request without content for connect-node, in the same format, so that it answers in that format. */
export function emptyRequest(
  request: HttpRequest,
  { isGet, isBinary, isEnveloped, encodingHeader }: RequestFormat,
  encodingIsKnown: boolean,
): Pick<UniversalServerRequest, "url" | "header" | "body"> {
  const header = new Headers();
  for (const name of encodingIsKnown ? PASSED_HEADERS : [...PASSED_HEADERS, encodingHeader]) {
    const value = request.headers[name];
    if (typeof value === "string") header.set(name, value);
  }
  const message = Buffer.from(isBinary ? "" : "{}");
  const path = (request.url ?? "").split("?", 1)[0]!;
  const query = isGet ? `?connect=v1&encoding=${getEncoding(request)}&message=${message}` : "";
  return {
    url: `http://localhost${path}${query}`,
    header,
    body: createAsyncIterable([isEnveloped ? encodeEnvelope(0, message) : message]),
  };
}

/** `readRequest` answers a missing encoding, and connect-node an unknown one. */
function getEncoding({ url }: HttpRequest): string {
  return encodeURIComponent(queryOf(url).get("encoding") ?? "json");
}

/**
 * Reads and decodes the single message of a request. connect-node would do so too, but it answers `internal` to
 * anything that cannot be decoded, and loses information in Structs.
 */
export function makeRequestReader(desc: DescMethod, limits: BodyLimits): RequestReader {
  const wire = wireMethod(desc);
  const readJson = messageReader(desc.input);
  return async (request, format, admission) => {
    const bytes = format.isGet
      ? await readQuery(request, limits.bodyBytes, admission)
      : await readPosted(request, format, limits, admission);
    return format.isBinary ? wire.decodeRequest(bytes, admission) : readJson(parseJson(bytes, admission));
  };
}

async function readPosted(
  request: HttpRequest,
  format: RequestFormat,
  limits: BodyLimits,
  admission: Admission,
): Promise<Buffer> {
  const { bodyBytes } = limits;
  if (Number(request.headers["content-length"]) > bodyBytes + ENVELOPE_BYTES) throw bodyTooLarge(bodyBytes);
  if (!format.isEnveloped) return readBody(request, limits, admission);
  const body = await readBody(request, limits, admission, ENVELOPE_BYTES);
  return openEnvelope(body, String(request.headers[format.encodingHeader] ?? "identity"), bodyBytes, admission);
}

async function openEnvelope(body: Buffer, encoding: string, limitBytes: number, admission: Admission): Promise<Buffer> {
  if (body.length === 0) throw new ApiError(Code.Unimplemented, "The request holds no message; this method takes one");
  if (body.length < ENVELOPE_BYTES) throw invalidArgument("The request ends within the frame of its message");
  const end = ENVELOPE_BYTES + body.readUInt32BE(1);
  if (end - ENVELOPE_BYTES > limitBytes) throw bodyTooLarge(limitBytes);
  if (body.length < end) throw invalidArgument("The request ends within its message");
  if (body.length > end) throw severalMessages();
  const flags = body[0]!;
  if ((flags & ~COMPRESSED_FLAG) !== 0) throw unknownFlags(flags);
  const message = body.subarray(ENVELOPE_BYTES);
  if (flags === 0) return message;
  if (!COMPRESSIONS.has(encoding)) throw unnamedCompression();
  return decompress(message, encoding, limitBytes, admission);
}

async function readQuery({ url }: HttpRequest, limitBytes: number, admission: Admission): Promise<Buffer> {
  const query = queryOf(url);
  for (const name of ["encoding", "message"]) {
    if (query.getAll(name).length !== 1) throw invalidArgument(`The query must have one ${name}`);
  }
  const message = query.get("message")!;
  const bytes = query.get("base64") === "1" ? fromBase64(message) : Buffer.from(message);
  return decompress(bytes, query.get("compression") ?? "identity", limitBytes, admission);
}

async function decompress(bytes: Buffer, encoding: string, limitBytes: number, admission: Admission): Promise<Buffer> {
  if (encoding === "identity" || encoding === "") return bytes;
  if (!COMPRESSIONS.has(encoding))
    throw new ApiError(Code.Unimplemented, `Unknown compression ${encoding}: use gzip, br or identity`);
  if (bytes.length === 0) return EMPTY;
  return inflate(bytes, encoding as Compression, { limitBytes, admission });
}

/** Accepts both alphabets, with or without padding. */
function fromBase64(text: string): Buffer {
  if (!/^[\w+/-]*={0,2}$/.test(text) || text.replace(/=+$/, "").length % 4 === 1) {
    throw invalidArgument("The query's message is not valid base64");
  }
  return Buffer.from(text, "base64");
}

function queryOf(url = ""): URLSearchParams {
  const start = url.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : url.slice(start + 1));
}
