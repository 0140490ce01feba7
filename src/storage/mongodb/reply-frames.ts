const OP_REPLY = 1;
const OP_COMPRESSED = 2012;
const OP_MSG = 2013;

const HEADER_BYTES = 16;
/** As much as a check of the longest kind of message needs: OP_REPLY up to the size of its document. */
const CHECKED_BYTES = HEADER_BYTES + 20 + 4;
/** The largest message of the protocol. */
const MOST_BYTES = 48_000_000;

/**
 * Checks the frames of what a server answers, before the driver reads them. The driver (7.7) believes every size: it
 * loops for ever, and stops the whole process, on a message of size 0, on a section of a negative size, and on a reply
 * of two billion documents. All servers answer with one document, so anything else is refused.
 */
export class ReplyFrames {
  readonly #isCompressed: () => boolean;
  /** The beginning of a message that has not arrived far enough to be checked. */
  #head = Buffer.alloc(0);
  /** Bytes of the message that was checked last which are still to come. */
  #left = 0;

  constructor(isCompressed: () => boolean) {
    this.#isCompressed = isCompressed;
  }

  /** Takes the next bytes, wherever the network has cut them. Returns what is wrong with them, if anything is. */
  take(chunk: Buffer): string | undefined {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, rest.length);
        this.#left -= skipped;
        rest = rest.subarray(skipped);
        continue;
      }
      const missing = CHECKED_BYTES - this.#head.length;
      const head = Buffer.concat([this.#head, rest.subarray(0, missing)]);
      const length = head.length < 4 ? undefined : head.readInt32LE(0);
      if (length !== undefined && (length < HEADER_BYTES || length > MOST_BYTES)) return `a message of ${length} bytes`;
      const isWhole = length !== undefined && head.length >= Math.min(length, CHECKED_BYTES);
      if (!isWhole) {
        this.#head = head;
        return undefined;
      }
      const wrong = this.#check(head.subarray(0, length), length);
      if (wrong !== undefined) return wrong;
      const taken = Math.min(length, head.length) - this.#head.length;
      this.#left = Math.max(0, length - head.length);
      this.#head = Buffer.alloc(0);
      rest = rest.subarray(taken);
    }
    return undefined;
  }

  #check(head: Buffer, length: number): string | undefined {
    const opcode = head.readInt32LE(12);
    switch (opcode) {
      case OP_MSG:
        // Flags and the kind of the first section come before the document.
        if (head.length < HEADER_BYTES + 9 || head[HEADER_BYTES + 4] !== 0) return "an OP_MSG that is no document";
        return checkSize(head.readInt32LE(HEADER_BYTES + 5), length - HEADER_BYTES - 5);
      case OP_REPLY:
        // Flags, the id of a cursor, the place of the first document and the number of documents come before it.
        if (head.length < CHECKED_BYTES || head.readInt32LE(HEADER_BYTES + 16) !== 1)
          return "an OP_REPLY that is not one document";
        return checkSize(head.readInt32LE(HEADER_BYTES + 20), length - HEADER_BYTES - 20);
      case OP_COMPRESSED:
        return this.#isCompressed() ? undefined : "a compressed message that was not agreed on";
      default:
        return `a message with the opcode ${opcode}`;
    }
  }
}

function checkSize(size: number, room: number): string | undefined {
  return size === room ? undefined : `a document of ${size} bytes where ${room} are left`;
}
