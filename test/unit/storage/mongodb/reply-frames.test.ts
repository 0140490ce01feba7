import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReplyFrames } from "../../../../src/storage/mongodb/reply-frames.js";
import { BROKEN_REPLIES, compressed, WHOLE_MESSAGES } from "../../../support/broken-replies.js";

const messages = fc.array(fc.constantFrom(...WHOLE_MESSAGES), { maxLength: 5 });

describe("the frames of answers", () => {
  it("are right wherever the network cuts them", () => {
    fc.assert(
      fc.property(messages, fc.infiniteStream(fc.integer({ min: 1, max: 50 })), (all, sizes) => {
        expect(takeInPieces(framesOf(), Buffer.concat(all), sizes)).toBeUndefined();
      }),
    );
  });

  it.each(Object.keys(BROKEN_REPLIES))("are wrong with %s, wherever it begins and however it arrives", (what) => {
    fc.assert(
      fc.property(messages, fc.infiniteStream(fc.integer({ min: 1, max: 50 })), (before, sizes) => {
        const bytes = Buffer.concat([...before, BROKEN_REPLIES[what] as Buffer]);
        expect(takeInPieces(framesOf(), bytes, sizes)).toEqual(expect.any(String));
      }),
    );
  });

  it("may be compressed where that was agreed on", () => {
    const message = compressed(Buffer.alloc(1000));
    const frames = framesOf({ isCompressed: true });
    expect(frames.take(Buffer.concat([message, message, ...WHOLE_MESSAGES]))).toBeUndefined();
    expect(frames.take(BROKEN_REPLIES["zero bytes"] as Buffer)).toBe("a message of 0 bytes");
  });

  it("may be as large as the protocol allows, and no larger", () => {
    const [message] = WHOLE_MESSAGES;
    const sized = (length: number) => {
      const head = Buffer.from(message);
      head.writeInt32LE(length, 0);
      head.writeInt32LE(length - 21, 21);
      return Buffer.concat([head, Buffer.alloc(100)]);
    };
    expect(framesOf().take(sized(48_000_000))).toBeUndefined();
    expect(framesOf().take(sized(48_000_001))).toBe("a message of 48000001 bytes");
  });
});

function framesOf({ isCompressed = false } = {}): ReplyFrames {
  return new ReplyFrames(() => isCompressed);
}

/** Returns what is wrong, as soon as anything is. */
function takeInPieces(frames: ReplyFrames, bytes: Buffer, sizes: Iterator<number>): string | undefined {
  for (let at = 0; at < bytes.length; ) {
    const size = sizes.next().value as number;
    const wrong = frames.take(bytes.subarray(at, at + size));
    if (wrong !== undefined) return wrong;
    at += size;
  }
  return undefined;
}
