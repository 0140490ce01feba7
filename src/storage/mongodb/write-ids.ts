import { randomBytes } from "node:crypto";
import { ObjectId } from "mongodb";

const WRITER_AT = 4;
const WRITER_BYTES = 5;

/** Makes ids of documents and writes that say which process made them, so that a process recognises its own changes. */
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
