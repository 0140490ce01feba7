import { compressedFlag } from "@connectrpc/connect/protocol";
import { invalidArgument } from "../../api/api-error.js";
import type { ByteString } from "../../domain/byte-string.js";
import { bodyTooLarge, noMessage, severalMessages, unknownFlags } from "../limits/body-errors.js";

/** The size of the frame before a message: a byte of flags, and four that tell how long the message is. */
export const FRAME_BYTES = 5;

/** Puts a frame before a message, in one copy. */
export function frameOf(flags: number, message: ByteString | Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_BYTES + message.length);
  frame[0] = flags;
  frame.writeUInt32BE(message.length, 1);
  if (typeof message === "string") frame.write(message, FRAME_BYTES, "latin1");
  else frame.set(message, FRAME_BYTES);
  return frame;
}

export interface OpenedFrame {
  readonly message: Buffer;
  readonly isCompressed: boolean;
}

/** Opens the only frame of a body. */
export function openFrame(body: Buffer, limitBytes: number): OpenedFrame {
  if (body.length === 0) throw noMessage();
  if (body.length < FRAME_BYTES) throw invalidArgument("The request ends within the frame of its message");
  const length = body.readUInt32BE(1);
  if (length > limitBytes) throw bodyTooLarge(limitBytes);
  const end = FRAME_BYTES + length;
  if (body.length < end) throw invalidArgument("The request ends within its message");
  if (body.length > end) throw severalMessages();
  const flags = body[0]!;
  if ((flags & ~compressedFlag) !== 0) throw unknownFlags(flags);
  return { message: body.subarray(FRAME_BYTES), isCompressed: flags !== 0 };
}
