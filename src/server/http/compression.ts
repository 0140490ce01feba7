import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

export type Encoding = "br" | "gzip";

const ENCODINGS: readonly Encoding[] = ["br", "gzip"];

/** Below this size, compression costs more than it saves. */
export const MIN_COMPRESSED_BYTES = 1024;

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** The encoding that an Accept-Encoding header prefers; undefined for none. */
export function chooseEncoding(acceptEncoding: string | undefined): Encoding | undefined {
  if (!acceptEncoding) return undefined;
  const qualities = readQualities(acceptEncoding);
  const identity = qualities.get("identity") ?? 0;
  let best: Encoding | undefined;
  let bestQuality = 0;
  for (const encoding of ENCODINGS) {
    const quality = qualities.get(encoding) ?? qualities.get("*") ?? 0;
    if (quality > bestQuality && quality >= identity) [best, bestQuality] = [encoding, quality];
  }
  return best;
}

export function compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === "gzip") return gzipAsync(bytes);
  return brotliAsync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
}

/** The quality of each item of an Accept or Accept-Encoding header; an invalid one counts as 0. */
export function readQualities(header: string): Map<string, number> {
  const qualities = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    if (name === "") continue;
    const q = parameters
      .find((parameter) => /^q\s*=/.test(parameter))
      ?.split("=")[1]
      ?.trim();
    const quality = q === undefined ? 1 : /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(q) ? Number(q) : 0;
    qualities.set(name, quality);
  }
  return qualities;
}
