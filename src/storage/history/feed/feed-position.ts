import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import { DomainError, invalidArgument } from "../../../domain/errors.js";

const TAG_BYTES = 6;
const BLOCK_BYTES = 16;
const ALGORITHM = "aes-128-ecb";

/** From where a reader resumes: everything up to this place was told in its last state, at this time. */
export interface FeedPosition {
  readonly place: number;
  /** The store's time, in milliseconds. */
  readonly timeMs: number;
}

/**
 * Positions in one feed, as texts. They name the feed, and are encrypted in one block with a key that only the store
 * knows: places are shared by all sessions of a namespace, so how far one is from the next would tell a caller that is
 * bound to an owner how much others do.
 */
export class FeedPositions {
  readonly #tag: Buffer;
  readonly #key: Buffer;
  #last: (FeedPosition & { readonly text: string }) | undefined;

  constructor(feedId: string) {
    this.#tag = digestOf(`tag ${feedId}`).subarray(0, TAG_BYTES);
    this.#key = digestOf(`key ${feedId}`).subarray(0, BLOCK_BYTES);
  }

  encode({ place, timeMs }: FeedPosition): string {
    if (this.#last?.place === place && this.#last.timeMs === timeMs) return this.#last.text;
    const block = Buffer.alloc(BLOCK_BYTES);
    block.writeBigInt64BE(BigInt(place));
    block.writeBigInt64BE(BigInt(Math.floor(timeMs)), 8);
    const cipher = createCipheriv(ALGORITHM, this.#key, null).setAutoPadding(false);
    const text = Buffer.concat([this.#tag, cipher.update(block), cipher.final()]).toString("base64url");
    this.#last = { place, timeMs, text };
    return text;
  }

  /** `failed_precondition`: the position is one of another feed. `invalid_argument`: it is none. */
  decode(text: string): FeedPosition {
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length !== TAG_BYTES + BLOCK_BYTES || bytes.toString("base64url") !== text) throw unknownToken();
    if (!bytes.subarray(0, TAG_BYTES).equals(this.#tag)) {
      throw mustListAnew("resume_token belongs to a feed that was begun anew since");
    }
    const cipher = createDecipheriv(ALGORITHM, this.#key, null).setAutoPadding(false);
    const block = Buffer.concat([cipher.update(bytes.subarray(TAG_BYTES)), cipher.final()]);
    const [place, timeMs] = [Number(block.readBigInt64BE()), Number(block.readBigInt64BE(8))];
    if (!Number.isSafeInteger(place) || !Number.isSafeInteger(timeMs) || place < 0) throw unknownToken();
    return { place, timeMs };
  }
}

export function mustListAnew(reason: string): DomainError {
  return new DomainError("failed_precondition", `${reason}; list the sessions anew, and watch without a token`);
}

function unknownToken(): DomainError {
  return invalidArgument("resume_token is not a token that was given out");
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
