import type { DescMethod, Message } from "@bufbuild/protobuf";
import { invalidArgument } from "../../api/api-error.js";
import { wireMethod } from "../../codec/binary-codec.js";
import { messageReader } from "../../codec/json-reader.js";
import { parseJson } from "../../codec/json-text.js";
import { type BodyLimits, readBody } from "../http/body.js";
import type { HttpRequest } from "../http/exchange.js";
import { header } from "../http/respond.js";
import type { Admission } from "../limits/admissions.js";
import { bodyTooLarge, unnamedCompression } from "../limits/body-errors.js";
import { type Compression, inflate, namedCompression } from "../limits/inflate.js";
import { FRAME_BYTES, type OpenedFrame, openFrame, openFrames } from "./frames.js";
import type { Format } from "./protocol.js";

/** Reads and decodes the one message of a request; a GET has it in its query. Rejects with ApiError. */
export type RequestReader = (
  request: HttpRequest,
  format: Format,
  query: URLSearchParams | undefined,
  admission: Admission,
) => Promise<Message>;

/** Reads and decodes the messages of a client's stream, each of them as its reader takes it. */
export type StreamReader = (
  request: HttpRequest,
  format: Format,
  chunks: AsyncIterable<Buffer>,
  admission: Admission,
) => AsyncGenerator<Message>;

/** The compressions that requests may have. */
export const COMPRESSIONS: readonly Compression[] = ["gzip", "br"];
const EMPTY = Buffer.alloc(0);

export function makeRequestReader(desc: DescMethod, limits: BodyLimits): RequestReader {
  const decode = makeDecoder(desc);
  return async (request, format, query, admission) => {
    const bytes =
      query === undefined
        ? await readPosted(request, format, limits, admission)
        : await readQuery(query, limits.bodyBytes, admission);
    return decode(bytes, format, admission);
  };
}

/** The limit of bytes holds for each message, and what it takes in memory counts until the next one is asked for. */
export function makeStreamReader(desc: DescMethod, { bodyBytes }: BodyLimits): StreamReader {
  const decode = makeDecoder(desc);
  return async function* (request, format, chunks, admission) {
    let kept = 0;
    const keep = (bytes: number) => {
      admission.release(kept);
      kept = 0;
      admission.hold(bytes);
      kept = bytes;
    };
    for await (const frame of openFrames(chunks, bodyBytes, keep)) {
      const { heldBytes } = admission;
      yield decode(await messageOf(frame, request, format, bodyBytes, admission), format, admission);
      admission.releaseTo(heldBytes);
    }
  };
}

function makeDecoder(desc: DescMethod): (bytes: Buffer, format: Format, admission: Admission) => Message {
  const wire = wireMethod(desc);
  const readJson = messageReader(desc.input);
  return (bytes, format, admission) =>
    format.isBinary ? wire.decodeRequest(bytes, admission) : readJson(parseJson(bytes, admission));
}

/** Refuses a request whose headers name a compression that cannot be undone. */
export function checkCompression(request: HttpRequest, format: Format): void {
  namedCompression(header(request, format.encodingHeader), COMPRESSIONS);
}

async function readPosted(
  request: HttpRequest,
  format: Format,
  limits: BodyLimits,
  admission: Admission,
): Promise<Buffer> {
  const limitBytes = limits.bodyBytes;
  if (Number(request.headers["content-length"]) > limitBytes + FRAME_BYTES) throw bodyTooLarge(limitBytes);
  if (format.protocol === "connect") return readBody(request, limits, admission);
  const frame = openFrame(await readBody(request, limits, admission, FRAME_BYTES), limitBytes);
  return messageOf(frame, request, format, limitBytes, admission);
}

async function messageOf(
  { message, isCompressed }: OpenedFrame,
  request: HttpRequest,
  format: Format,
  limitBytes: number,
  admission: Admission,
): Promise<Buffer> {
  if (!isCompressed) return message;
  const compression = namedCompression(header(request, format.encodingHeader), COMPRESSIONS);
  if (compression === undefined) throw unnamedCompression();
  return decompress(message, compression, limitBytes, admission);
}

async function readQuery(query: URLSearchParams, limitBytes: number, admission: Admission): Promise<Buffer> {
  for (const name of ["encoding", "message"]) {
    if (query.getAll(name).length !== 1) throw invalidArgument(`The query must have one ${name}`);
  }
  const message = query.get("message")!;
  const bytes = query.get("base64") === "1" ? fromBase64(message) : Buffer.from(message);
  const compression = namedCompression(query.get("compression") ?? undefined, COMPRESSIONS);
  if (compression === undefined) return bytes;
  return decompress(bytes, compression, limitBytes, admission);
}

async function decompress(
  bytes: Buffer,
  compression: Compression,
  limitBytes: number,
  admission: Admission,
): Promise<Buffer> {
  return bytes.length === 0 ? EMPTY : inflate(bytes, compression, { limitBytes, admission });
}

/** Accepts both alphabets, with or without padding. */
function fromBase64(text: string): Buffer {
  if (!/^[\w+/-]*={0,2}$/.test(text) || text.replace(/=+$/, "").length % 4 === 1) {
    throw invalidArgument("The query's message is not valid base64");
  }
  return Buffer.from(text, "base64");
}
