import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { Semaphore } from "async-mutex";
import { ApiError, invalidArgument } from "../../api/api-error.js";
import type { Admission } from "./admissions.js";
import { bodyTooLarge, clientGone } from "./body-errors.js";

const DECODERS = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress };

/** A compression by its name in HTTP and gRPC. Which of them a client may use depends on the protocol. */
export type Compression = keyof typeof DECODERS;

export class UnknownCompression extends ApiError {
  constructor(name: string, known: readonly Compression[]) {
    super(Code.Unimplemented, `Unknown compression ${name}: use ${known.join(", ")} or identity`);
  }
}

/** The compression that an RPC names; undefined when it names none. Throws when it is not among the known ones. */
export function namedCompression(name: string | undefined, known: readonly Compression[]): Compression | undefined {
  if (name === undefined || name === "" || name === "identity") return undefined;
  const found = known.find((one) => one === name);
  if (found === undefined) throw new UnknownCompression(name, known);
  return found;
}

export interface InflateOptions {
  /** The most bytes that may come out. */
  readonly limitBytes: number;
  /** Counts what comes out, until the end of the request. */
  readonly admission: Admission;
  /** The error for more than `limitBytes`; `bodyTooLarge` when absent. */
  readonly tooLarge?: (limitBytes: number) => ApiError;
}

/**
 * How many decompressions run at a time. Each may grow to the largest allowed size, however small its input, and for a
 * moment takes twice its size.
 */
const running = new Semaphore(4);

/**
 * Decompresses the whole of a request's bytes. Rejects with `tooLarge`, with `resource_exhausted` when there is no room
 * for what comes out, with `invalid_argument` when the bytes are not a complete text of that compression, and with
 * `canceled` when the request ends meanwhile: what comes out would be counted nowhere, and others would wait for it.
 */
export function inflate(bytes: Buffer, compression: Compression, options: InflateOptions): Promise<Buffer> {
  return running.runExclusive(() => decode(bytes, compression, options));
}

function decode(
  bytes: Buffer,
  compression: Compression,
  { limitBytes, admission, tooLarge = bodyTooLarge }: InflateOptions,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (admission.hasEnded) return reject(clientGone());
    const decoder = DECODERS[compression]();
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (error: unknown) => {
      decoder.destroy();
      admission.release(size);
      reject(error);
    };
    const invalid = () => fail(invalidArgument(`The body is not valid ${compression}`));
    decoder.on("data", (chunk: Buffer) => {
      try {
        if (admission.hasEnded) throw clientGone();
        if (size + chunk.length > limitBytes) throw tooLarge(limitBytes);
        admission.hold(chunk.length);
        size += chunk.length;
        chunks.push(chunk);
      } catch (error) {
        fail(error);
      }
    });
    decoder.on("error", invalid);
    decoder.on("end", () => {
      // Node ignores what comes after the end, except after gzip, where it may be another member or padding.
      if (decoder.bytesWritten < bytes.length && compression !== "gzip") invalid();
      else resolve(Buffer.concat(chunks, size));
    });
    decoder.end(bytes);
  });
}
