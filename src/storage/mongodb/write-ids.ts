import { randomBytes } from "node:crypto";
import { ObjectId } from "mongodb";

const WRITER_AT = 4;
const WRITER_BYTES = 5;

/** Ids of documents and writes that carry whose they are, so that a change can be told from one's own. */
export class WriteIds {
  readonly #writer = randomBytes(WRITER_BYTES);

  next(): ObjectId {
    const id = new ObjectId();
    id.id.set(this.#writer, WRITER_AT);
    return id;
  }

  isOurs(id: ObjectId): boolean {
    return this.#writer.equals(id.id.subarray(WRITER_AT, WRITER_AT + WRITER_BYTES));
  }
}
