import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import { unknownFlags, unnamedCompression } from "../limits/body-errors.js";
import { type InflateOptions, inflate } from "../limits/inflate.js";
import { type Status, toStatus } from "./status.js";

/** The size of gRPC's frame around a message. */
export const FRAME_BYTES = 5;
const COMPRESSED_FLAG = 1;
/** The compressions that the port announces, as the header `grpc-accept-encoding` lists them. */
const ACCEPTED = "identity,deflate,gzip";

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
  if (encoding === "identity") throw unnamedCompression();
  if (encoding !== "gzip" && encoding !== "deflate") throw new UnknownCompression(encoding);
  return inflate(message, encoding, options);
}

/** The status for a frame without a message that can be read. */
export function refusedFrame(error: unknown): Status {
  const status = toStatus(error);
  if (error instanceof UnknownCompression) status.metadata.set("grpc-accept-encoding", ACCEPTED);
  return status;
}

class UnknownCompression extends ApiError {
  constructor(encoding: string) {
    super(Code.Unimplemented, `Unknown compression ${encoding}: use gzip, deflate or identity`);
  }
}
