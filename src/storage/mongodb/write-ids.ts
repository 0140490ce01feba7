import { randomBytes } from "node:crypto";
import { ObjectId } from "mongodb";

const WRITER_AT = 4;
const WRITER_BYTES = 5;

/** Ids of documents and writes that carry whose they are, so that a change can be told from one's own. */
export class WriteIds {
  readonly #writer = randomBytes(WRITER_BYTES);

  next(): ObjectId {
    const bytes = Uint8Array.from(new ObjectId().id);
    bytes.set(this.#writer, WRITER_AT);
    return new ObjectId(bytes);
  }

  isOurs(id: ObjectId): boolean {
    return this.#writer.equals(id.id.subarray(WRITER_AT, WRITER_AT + WRITER_BYTES));
  }
}
