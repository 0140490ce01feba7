import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import { unknownFlags, unnamedCompression } from "../limits/body-errors.js";
import { type InflateOptions, inflate } from "../limits/inflate.js";
import { type Status, toStatus } from "./status.js";

/** The size of gRPC's frame around a message. */
export const FRAME_BYTES = 5;
const COMPRESSED_FLAG = 1;
const NO_COMPRESSION = "identity";
/** The compressions that the port announces, as the header `grpc-accept-encoding` lists them. */
const ACCEPTED = "identity,deflate,gzip";

/** Refuses a call whose header names a compression that cannot be undone, whether or not its message has it. */
export function checkCompression(encoding: string | undefined): void {
  if (encoding === undefined || encoding === NO_COMPRESSION || encoding === "" || isKnown(encoding)) return;
  throw new UnknownCompression(encoding);
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
  if (!isKnown(encoding)) throw unnamedCompression();
  return inflate(message, encoding, options);
}

/** The status for a call that is refused. */
export function refusal(error: unknown): Status {
  const status = toStatus(error);
  if (error instanceof UnknownCompression) status.metadata.set("grpc-accept-encoding", ACCEPTED);
  return status;
}

function isKnown(encoding: string): encoding is "gzip" | "deflate" {
  return encoding === "gzip" || encoding === "deflate";
}

class UnknownCompression extends ApiError {
  constructor(encoding: string) {
    super(Code.Unimplemented, `Unknown compression ${encoding}: use gzip, deflate or identity`);
  }
}
