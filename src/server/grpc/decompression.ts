import type { Admission } from "../load/admissions.js";
import { severalMessages } from "../load/body-refusals.js";
import { inflate } from "../load/inflate.js";
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

/** What grpc-js keeps private. It sends the status that this rejects with. */
interface Decompressing {
  /** `identity` when the client has announced no compression; then grpc-js takes every message as it is. */
  readonly incomingEncoding: string;
  decompressMessage(frame: Buffer, encoding: string): Promise<Buffer> | Buffer;
}

/** The size of gRPC's frame around a message. */
export const FRAME_BYTES = 5;

/**
 * Makes grpc-js decompress messages within the limits that every front has. By itself it decompresses all messages that
 * have come at the same time, and counts none of what comes out: a megabyte of requests became a gigabyte.
 *
 * Calls without compression are left alone, because giving each of them a method of its own costs a sixth of a small
 * call.
 */
export function limitDecompression(call: InterceptedCall, limits: DecompressionLimits): void {
  const { admission, limitBytes, isSingle, onRefused } = limits;
  const inner = call as unknown as Decompressing;
  if (inner.incomingEncoding === "identity") return;
  const { decompressMessage } = inner;
  let messages = 0;

  const refuse = (error: unknown): Promise<never> => {
    onRefused();
    return Promise.reject(toStatus(error));
  };
  inner.decompressMessage = (frame, encoding) => {
    messages += 1;
    if (isSingle && messages > 1) return refuse(severalMessages());
    if (encoding !== "gzip" && encoding !== "deflate") return decompressMessage.call(inner, frame, encoding);
    return inflate(frame.subarray(FRAME_BYTES), encoding, { limitBytes, admission }).catch(refuse);
  };
}
