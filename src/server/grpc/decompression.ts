import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { Admission } from "../limits/admissions.js";
import { severalMessages, unknownFlags, unnamedCompression } from "../limits/body-errors.js";
import { inflate } from "../limits/inflate.js";
import type { InterceptedCall } from "./call-answers.js";
import { toStatus } from "./status.js";

export interface DecompressionLimits {
  readonly admission: Admission;
  /** The most bytes of one message. */
  readonly limitBytes: number;
  /** Whether the client may send one message only. */
  readonly isSingle: boolean;
  /** Called before the answer to a message that is refused. */
  readonly onRefused: () => void;
}

const LIMITS = Symbol("limits");

/** What grpc-js keeps private. It sends the status that `decompressMessage` rejects with. */
interface Decompressing {
  /** `identity` when the client has announced no compression. */
  readonly incomingEncoding: string;
  /** `encoding` is `identity` for a message that is not compressed. */
  decompressMessage(frame: Buffer, encoding: string): Promise<Buffer> | Buffer;
  [LIMITS]?: DecompressionLimits & { messages: number };
}

/** The size of gRPC's frame around a message. */
export const FRAME_BYTES = 5;
const COMPRESSED_FLAG = 1;
/** The compressions that the port announces, as the header `grpc-accept-encoding` lists them. */
const ACCEPTED = "identity,deflate,gzip";

/** The class of calls whose method has been replaced. */
let limited: object | undefined;

/**
 * Makes grpc-js decompress messages within the limits that every front has, and refuse frames as gRPC asks. By itself
 * it decompresses all messages that have come at the same time, and counts none of what comes out: a megabyte of
 * requests became a gigabyte. It takes a message for plain that is marked as compressed by a call that names no
 * compression.
 *
 * The method is replaced for all calls at once, because giving each call one of its own costs a sixth of a small call.
 */
export function limitDecompression(call: InterceptedCall, limits: DecompressionLimits): void {
  const inner = call as unknown as Decompressing;
  const prototype = Object.getPrototypeOf(inner) as Decompressing;
  if (limited !== prototype) prototype.decompressMessage = decompress;
  limited = prototype;
  inner[LIMITS] = { ...limits, messages: 0 };
}

function decompress(this: Decompressing, frame: Buffer, encoding: string): Promise<Buffer> | Buffer {
  const limits = this[LIMITS];
  if (limits === undefined) throw new Error("The gate lets only calls through that it has limited");
  const refuse = (error: unknown): Promise<never> => {
    limits.onRefused();
    const status = toStatus(error);
    if (error instanceof UnknownCompression) status.metadata.set("grpc-accept-encoding", ACCEPTED);
    return Promise.reject(status);
  };
  limits.messages += 1;
  if (this.incomingEncoding !== "identity" && limits.isSingle && limits.messages > 1) return refuse(severalMessages());
  const flags = frame[0] ?? 0;
  const message = frame.subarray(FRAME_BYTES);
  if (flags === 0) return message;
  if (flags !== COMPRESSED_FLAG) return refuse(unknownFlags(flags));
  if (encoding === "identity") return refuse(unnamedCompression());
  if (encoding !== "gzip" && encoding !== "deflate") return refuse(new UnknownCompression(encoding));
  const { limitBytes, admission } = limits;
  return inflate(message, encoding, { limitBytes, admission }).catch(refuse);
}

class UnknownCompression extends ApiError {
  constructor(encoding: string) {
    super(Code.Unimplemented, `Unknown compression ${encoding}: use gzip, deflate or identity`);
  }
}
