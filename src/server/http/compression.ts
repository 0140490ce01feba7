import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import Negotiator from "negotiator";

export type Encoding = "br" | "gzip";

const ENCODINGS: readonly Encoding[] = ["br", "gzip"];

/** What the types of Negotiator lack: the order of encodings that the client likes equally. */
interface Chooser {
  encoding(available: string[], options?: { readonly preferred: readonly string[] }): string | undefined;
}

/** Below this size, compression costs more than it saves. */
export const MIN_COMPRESSED_BYTES = 1024;

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** The encoding that an Accept-Encoding header prefers; undefined for none. */
export function chooseEncoding(acceptEncoding: string | undefined): Encoding | undefined {
  if (!acceptEncoding) return undefined;
  const negotiator: Chooser = new Negotiator({ headers: { "accept-encoding": acceptEncoding } });
  const chosen = negotiator.encoding([...ENCODINGS, "identity"], { preferred: ENCODINGS });
  return ENCODINGS.find((encoding) => encoding === chosen);
}

export function compress(bytes: Uint8Array, encoding: Encoding): Promise<Buffer> {
  if (encoding === "gzip") return gzipAsync(bytes);
  return brotliAsync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
}
