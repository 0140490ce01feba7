import { unknownFlags, unnamedCompression } from "../limits/body-errors.js";
import {
  type Compression,
  type InflateOptions,
  inflate,
  namedCompression,
  UnknownCompression,
} from "../limits/inflate.js";
import { type Status, toStatus } from "./status.js";

/** The size of gRPC's frame around a message. */
export const FRAME_BYTES = 5;
const COMPRESSED_FLAG = 1;
const KNOWN: readonly Compression[] = ["gzip", "deflate"];
/** The compressions that the port announces, as the header `grpc-accept-encoding` lists them. */
const ACCEPTED = "identity,deflate,gzip";

/** Refuses a call whose header names a compression that cannot be undone, whether or not its message has it. */
export function checkCompression(encoding: string | undefined): void {
  namedCompression(encoding, KNOWN);
}

/**
 * The message in a frame, decompressed within the limits that every front has. By itself grpc-js decompresses all
 * messages that have come at the same time, and counts none of what comes out: a megabyte of requests became a
 * gigabyte. It takes a message for plain that is marked as compressed by a call that names no compression.
 */
export function messageIn(frame: Buffer, encoding: string, options: InflateOptions): Promise<Buffer> | Buffer {
  const flags = frame[0] ?? 0;
  const message = frame.subarray(FRAME_BYTES);
  if (flags === 0) return message;
  if (flags !== COMPRESSED_FLAG) throw unknownFlags(flags);
  const compression = namedCompression(encoding, KNOWN);
  if (compression === undefined) throw unnamedCompression();
  return inflate(message, compression, options);
}

/** The status for a call that is refused. */
export function refusal(error: unknown): Status {
  const status = toStatus(error);
  if (error instanceof UnknownCompression) status.metadata.set("grpc-accept-encoding", ACCEPTED);
  return status;
}
