import { fromJsonString } from "@bufbuild/protobuf";
import {
  type Attachment as AttachmentMessage,
  AttachmentSchema,
} from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import { type WithNumbers, withNumbers } from "./int64.js";
import type { Rest, RestRequest } from "./rest.js";
import { withRetries } from "./retry.js";
import { ulid } from "./ulid.js";
import { hasXhr, sendingByXhr } from "./xhr.js";

/** An attachment as the service returns it, with numbers for its 64-bit integers. */
export type Attachment = WithNumbers<AttachmentMessage>;

/**
 * Bytes, a Blob or File, or a stream of bytes: a ReadableStream, or anything that is iterated asynchronously, such as a
 * ReadStream of Node.js. In Node.js also the path of a file, or its `file:` URL; the file is read again after a lost
 * connection.
 */
export type UploadSource =
  | string
  | URL
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

type OpenSource = Exclude<UploadSource, string | URL>;
type StreamSource = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface UploadOptions {
  /**
   * The id of the attachment, 1-128 bytes; a ULID is made here when it is absent. With the same bytes, name and media
   * type, the same id can be uploaded again and gets the same answer.
   */
  readonly attachmentId?: string;
  /** The name of the file, at most 255 bytes; that of a File or a path when absent. */
  readonly name?: string;
  /** That of the Blob when absent, and otherwise `application/octet-stream`. */
  readonly mediaType?: string;
  /** How many bytes a stream has, if known. The service refuses others. */
  readonly size?: number;
  /** The SHA-256 of the bytes in hexadecimal, if known. The service refuses others. */
  readonly sha256?: string;
  /** Makes the session first if it is missing. */
  readonly createSession?: boolean;
  /**
   * Called with the bytes sent so far and, if it is known, the number of all. Starts over when the upload does. What it
   * throws ends the upload, and is thrown as it is.
   */
  readonly onProgress?: (sentBytes: number, totalBytes: number | undefined) => void;
  readonly signal?: AbortSignal;
}

/** How much is sent at a time. Streams of Blobs may give all at once. */
const PIECE_BYTES = 64 * 1024;

/** Sends the bytes as the body of one request, which is sent again if the source can be read again. */
export async function upload(
  rest: Rest,
  retries: number,
  sessionId: string,
  given: UploadSource,
  options: UploadOptions = {},
): Promise<Attachment> {
  const source = typeof given === "string" || given instanceof URL ? await fileAt(given) : given;
  const { sha256, createSession, onProgress } = options;
  const { name = "", type = "" } = source as Partial<File>;
  const blob = await blobOf(source);
  const size = options.size ?? blob?.size;
  const query = new URLSearchParams({
    attachment_id: options.attachmentId ?? ulid(),
    name: options.name ?? name,
    ...(sha256 !== undefined && { sha256 }),
    ...(createSession === true && { create_session: "true" }),
  });
  // What the source or `onProgress` throws is no failure of the service, after which the upload would be repeated.
  const failed = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal;
  const fail = (error: unknown) => failed.abort(error);
  const request: RestRequest = {
    method: "POST",
    path: `/session/${encodeURIComponent(sessionId)}/attachment?${query}`,
    headers: { "Content-Type": options.mediaType ?? (type || "application/octet-stream") },
    isOnce: blob === undefined,
    signal,
  };
  const report =
    onProgress &&
    ((sentBytes: number) => {
      try {
        onProgress(sentBytes, size);
      } catch (error) {
        fail(error);
      }
    });
  try {
    const answer = await withRetries({ retries: blob === undefined ? 0 : retries, signal }, async () => {
      if (blob !== undefined && report === undefined) return await rest({ ...request, body: blob });
      if (blob !== undefined && hasXhr()) return await rest({ ...request, body: blob, send: sendingByXhr(report) });
      return await sendStream(rest, request, streamOf(blob ?? (source as StreamSource)), size, report, fail);
    });
    const message = fromJsonString(AttachmentSchema, await answer.text(), { ignoreUnknownFields: true });
    failed.signal.throwIfAborted();
    return withNumbers(AttachmentSchema, message);
  } catch (error) {
    throw failed.signal.aborted ? failed.signal.reason : error;
  }
}

/** What is used of Node.js, whose types a program that uses this package may not have. */
interface BuiltinModules {
  (
    id: "node:fs",
  ): {
    readonly promises: { access(path: string | URL, mode: number): Promise<void> };
    readonly constants: { readonly R_OK: number };
    openAsBlob(path: string | URL): Promise<Blob>;
  };
  (id: "node:path"): { basename(path: string): string };
  (id: "node:url"): { fileURLToPath(url: URL): string };
}

/** The file at a path. Browsers have no paths, and bundlers for them must find no import of Node.js here. */
async function fileAt(path: string | URL): Promise<Blob> {
  const { process } = globalThis as { process?: { readonly getBuiltinModule?: BuiltinModules } };
  const fs = process?.getBuiltinModule?.("node:fs");
  const { basename } = process?.getBuiltinModule?.("node:path") ?? {};
  const { fileURLToPath } = process?.getBuiltinModule?.("node:url") ?? {};
  if (!fs || !basename || !fileURLToPath)
    throw new TypeError("A path can be uploaded only in Node.js 20.16, 22.3 or later");
  // The error of openAsBlob names neither the file nor what is wrong with it.
  await fs.promises.access(path, fs.constants.R_OK);
  const name = basename(typeof path === "string" ? path : fileURLToPath(path));
  return Object.defineProperty(await fs.openAsBlob(path), "name", { value: name });
}

/** Undefined: a stream, which can be sent while it is read. Browsers do that at most over HTTP/2, so they read it first. */
async function blobOf(source: OpenSource): Promise<Blob | undefined> {
  if (source instanceof Blob) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return new Blob([source as ArrayBuffer]);
  return hasXhr() ? await new Response(streamOf(source) as ReadableStream<Uint8Array<ArrayBuffer>>).blob() : undefined;
}

/** Sends a stream, of which Node.js sends as much as the service takes. `fail` gets what the stream throws. */
async function sendStream(
  rest: Rest,
  request: RestRequest,
  stream: ReadableStream<Uint8Array>,
  size: number | undefined,
  report: ((sentBytes: number) => void) | undefined,
  fail: (error: unknown) => void,
): Promise<Response> {
  let sent = 0;
  let isLost = false;
  const reader = stream.getReader();
  let chunk = new Uint8Array();
  const ended = new AbortController();
  const signal = request.signal ? AbortSignal.any([request.signal, ended.signal]) : ended.signal;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      // Node.js goes on reading a body that it sends no more, which an endless one would keep it from ever leaving.
      signal.throwIfAborted();
      while (chunk.length === 0) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        chunk = value as Uint8Array<ArrayBuffer>;
      }
      const piece = chunk.subarray(0, PIECE_BYTES);
      chunk = chunk.subarray(piece.length);
      controller.enqueue(piece);
      sent += piece.length;
      report?.(sent);
    } catch (error) {
      if (!signal.aborted && !isLost) fail(error);
      controller.error(error);
    }
  };
  const cancel = (reason: unknown) => {
    isLost = true;
    return reader.cancel(reason);
  };
  const body = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
  const headers = { ...request.headers, ...(size !== undefined && { "Content-Length": `${size}` }) };
  try {
    return await rest({ ...request, signal, headers, body, duplex: "half" } as RestRequest);
  } catch (error) {
    // An answer that refuses the upload does not keep the rest of it from being sent.
    ended.abort();
    reader.cancel(error).catch(() => {});
    throw error;
  }
}

function streamOf(source: StreamSource | Blob): ReadableStream<Uint8Array> {
  if (source instanceof Blob) return source.stream();
  if (source instanceof ReadableStream) return source;
  const chunks = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}
