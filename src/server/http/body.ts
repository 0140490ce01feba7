import { Code } from "@connectrpc/connect";
import type { Admission } from "../limits/admissions.js";
import { bodyTooLarge, bodyTooSlow, clientGone } from "../limits/body-errors.js";
import { inflate } from "../limits/inflate.js";
import { type HttpRequest, isGone } from "./exchange.js";
import { HttpProblem, problemOf } from "./problem.js";

/** Limits of a request body. */
export interface BodyLimits {
  /** Applies both before and after decompression. */
  readonly bodyBytes: number;
  readonly bodyTimeoutMs: number;
}

const TOKEN = /[\w!#$%&'*+.^`|~-]+/.source;
const QUOTED = /"(?:[^"\\]|\\.)*"/.source;
const UTF_8 = /charset\s*=\s*(?:utf-8|"utf-8")/.source;
const PARAMETER = `(?:${UTF_8}|(?!charset\\s*=)${TOKEN}\\s*=\\s*(?:${TOKEN}|${QUOTED}))`;

/**
 * JSON in UTF-8. Parameters that are not known are ignored, as RFC 2045 demands. No two neighbouring parts match the
 * same characters, so the time to refuse a long header grows only with its length.
 */
const JSON_TYPE = new RegExp(`^application/json\\s*(?:;\\s*(?:${PARAMETER}\\s*)?)*$`, "i");

/** Throws if the headers show that the body would be refused whatever it contains. Reads nothing. */
export function checkBodyHeaders({ headers }: HttpRequest, limitBytes: number): void {
  const type = headers["content-type"];
  if (type !== undefined && !JSON_TYPE.test(type)) {
    throw unsupported(`Content-Type must be application/json in UTF-8; it is ${JSON.stringify(type)}`);
  }
  const encoding = contentEncoding(headers["content-encoding"]);
  if (encoding !== "identity" && encoding !== "gzip" && encoding !== "br") {
    throw unsupported(`Content-Encoding must be gzip, br or identity; it is ${JSON.stringify(encoding)}`, {
      "accept-encoding": "gzip, br",
    });
  }
  if (Number(headers["content-length"]) > limitBytes) throw tooLarge(limitBytes);
}

/** Whether the headers announce a body. */
export function hasBody(request: HttpRequest): boolean {
  const { headers } = request;
  if (headers["content-length"] !== undefined) return headers["content-length"] !== "0";
  return "stream" in request ? !request.stream.endAfterHeaders : headers["transfer-encoding"] !== undefined;
}

/**
 * Reads the body and decompresses it. Both sizes are limited and counted as the bytes come, so that a small body cannot
 * grow without end. The bytes of a protocol's frame do not count.
 */
export async function readBody(
  request: HttpRequest,
  limits: BodyLimits,
  admission: Admission,
  framingBytes = 0,
): Promise<Buffer> {
  checkTransferCoding(request.headers["transfer-encoding"]);
  // A request that is closed already emits no further event, so this would wait until the time is over.
  if (isGone(request)) throw clientGone();
  const limitBytes = limits.bodyBytes + framingBytes;
  const bytes =
    readArrived(request, limitBytes, admission) ?? (await readBytes(request, limits, limitBytes, admission));
  const encoding = contentEncoding(request.headers["content-encoding"]);
  if (encoding !== "gzip" && encoding !== "br") return bytes;
  return inflate(bytes, encoding, { limitBytes: limits.bodyBytes, admission, tooLarge });
}

/**
 * The body of a request over HTTP/1.1 if all of it has arrived with the headers, as that of a small request does;
 * otherwise undefined. It needs neither a timer nor listeners.
 */
function readArrived(request: HttpRequest, limitBytes: number, admission: Admission): Buffer | undefined {
  const { readableLength } = request;
  if ("stream" in request || readableLength !== Number(request.headers["content-length"])) return undefined;
  if (readableLength === 0 || readableLength > limitBytes) return undefined;
  const bytes: Buffer = request.read();
  // Lets Node end the request.
  request.resume();
  admission.holdChunk(bytes);
  return bytes;
}

function readBytes(
  request: HttpRequest,
  { bodyBytes, bodyTimeoutMs }: BodyLimits,
  limitBytes: number,
  admission: Admission,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(tooSlow(bodyTimeoutMs))), bodyTimeoutMs);
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      try {
        if (size > limitBytes) throw tooLarge(bodyBytes);
        admission.holdChunk(chunk);
      } catch (error) {
        end(() => reject(error));
      }
    };
    const onEnd = (): void => end(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onClose = (): void => end(() => reject(clientGone()));
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      settle();
    };
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/** Node undoes only the coding `chunked`, but accepts others before it. */
export function checkTransferCoding(coding: string | undefined): void {
  if (coding === undefined || coding.trim().toLowerCase() === "chunked") return;
  const message = `Transfer-Encoding must be chunked; it is ${JSON.stringify(coding)}`;
  throw new HttpProblem(Code.Unimplemented, message, { status: 501 });
}

function contentEncoding(header: string | undefined): string {
  return header === undefined || header === "" ? "identity" : header.trim().toLowerCase();
}

function tooSlow(limitMs: number): HttpProblem {
  return problemOf(bodyTooSlow(limitMs), 408);
}

function tooLarge(limitBytes: number): HttpProblem {
  return problemOf(bodyTooLarge(limitBytes), 413);
}

function unsupported(message: string, headers?: Record<string, string>): HttpProblem {
  return new HttpProblem(Code.InvalidArgument, message, { status: 415, ...(headers && { headers }) });
}
