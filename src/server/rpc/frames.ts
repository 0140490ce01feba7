import { compressedFlag } from "@connectrpc/connect/protocol";
import type { ApiError } from "../../api/api-error.js";
import type { ByteString } from "../../domain/byte-string.js";
import { bodyTooLarge, cutOff, noMessage, severalMessages, unknownFlags } from "../limits/body-errors.js";

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
  if (body.length < FRAME_BYTES) throw endsWithin(body);
  const end = endOfFrame(body, limitBytes);
  if (body.length < end) throw endsWithin(body);
  if (body.length > end) throw severalMessages();
  return opened(body);
}

/**
 * Opens the frames of a body that arrives in chunks. `keep` is told how many bytes wait for the rest of their frame.
 */
export async function* openFrames(
  chunks: AsyncIterable<Buffer>,
  limitBytes: number,
  keep: (bytes: number) => void,
): AsyncGenerator<OpenedFrame> {
  let waiting: Buffer[] = [];
  let size = 0;
  /** How many bytes there must be before they are worth joining. */
  let needed = FRAME_BYTES;
  for await (const chunk of chunks) {
    waiting.push(chunk);
    size += chunk.length;
    keep(size);
    while (size >= needed) {
      const bytes = waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting, size);
      waiting = [bytes];
      const end = endOfFrame(bytes, limitBytes);
      needed = end;
      if (size < end) break;
      yield opened(bytes.subarray(0, end));
      waiting = [bytes.subarray(end)];
      size -= end;
      needed = FRAME_BYTES;
      keep(size);
    }
  }
  if (size > 0) throw endsWithin(Buffer.concat(waiting));
}

function endOfFrame(bytes: Buffer, limitBytes: number): number {
  const length = bytes.readUInt32BE(1);
  if (length > limitBytes) throw bodyTooLarge(limitBytes);
  return FRAME_BYTES + length;
}

function endsWithin(bytes: Buffer): ApiError {
  return cutOff(bytes.length < FRAME_BYTES ? "the frame of its message" : "its message");
}

function opened(frame: Buffer): OpenedFrame {
  const flags = frame[0]!;
  if ((flags & ~compressedFlag) !== 0) throw unknownFlags(flags);
  return { message: frame.subarray(FRAME_BYTES), isCompressed: flags !== 0 };
}
