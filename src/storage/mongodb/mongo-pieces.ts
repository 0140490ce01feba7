import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import { LATE_MS } from "../history/blocked-uid.js";
import type { PieceDocument } from "./attachment-document.js";
import type { MongoAttachmentRows } from "./mongo-attachment-rows.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import type { MongoLogDeletes } from "./mongo-log-deletes.js";
import type { ServerClock } from "./server-clock.js";

/** How many removed rows are cleared at a time. */
const BATCH = 100;
const PIECES = 100;

interface Parts {
  readonly commands: MongoCommands;
  readonly clock: ServerClock;
  readonly rows: MongoAttachmentRows;
  readonly deletes: MongoLogDeletes;
}

/**
 * The pieces of attachments. No step both looks at a row and stores a piece, so a piece may arrive after its row was
 * removed. Such a row stays, hidden, until no piece can be under way any more, and `clearLate` deletes both. A piece
 * that took longer than that is taken back by the process that stored it, like entries of slow writers.
 */
export class MongoPieces {
  readonly #pieces: Collection<PieceDocument>;
  readonly #parts: Parts;

  constructor(pieces: Collection<PieceDocument>, parts: Parts) {
    this.#pieces = pieces;
    this.#parts = parts;
  }

  async put(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone"> {
    const { clock, deletes, rows } = this.#parts;
    const sinceMs = clock.knownMs();
    if (!(await rows.arrives(log, call))) return "gone";
    await this.#store({ _id: `${log} ${seq}`, log, seq, size: bytes.length, bytes }, call);
    if (clock.knownMs() - sinceMs <= LATE_MS || (await rows.arrives(log, call))) return "stored";
    // The row may have been forgotten since it was looked at, so no sweep would find this piece.
    await deletes.delete({ log, first: seq, last: seq }, 1, call);
    return "gone";
  }

  async #store(piece: PieceDocument, call?: Call): Promise<void> {
    const { commands } = this.#parts;
    const { _id, log } = piece;
    await commands.settle(call, async () => {
      try {
        await commands.write(call, (limits) => this.#pieces.insertOne(piece, limits));
      } catch (error) {
        if (!duplicateKey(error)) throw error;
        await commands.write(call, (limits) => this.#pieces.replaceOne({ _id, log }, piece, limits));
      }
    });
  }

  async read(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]> {
    const options = { projection: { _id: 0, seq: 1, bytes: 1 }, promoteBuffers: true, limit, batchSize: limit + 1 };
    const found = await this.#parts.commands.read(call, (limits) =>
      this.#pieces
        .find({ log, seq: limit === 1 ? first : { $gte: first, $lt: first + limit } }, { ...limits, ...options })
        .sort({ seq: 1 })
        .toArray(),
    );
    const gap = found.findIndex(({ seq }, i) => seq !== first + i);
    return (gap < 0 ? found : found.slice(0, gap)).map(({ bytes }) => bytes);
  }

  async last(log: string, call?: Call): Promise<number> {
    const [last] = await this.#parts.commands.read(call, (limits) =>
      this.#pieces
        .find({ log }, { ...limits, projection: { _id: 0, seq: 1 }, limit: 1, batchSize: 2 })
        .sort({ seq: -1 })
        .toArray(),
    );
    return last?.seq ?? 0;
  }

  /** Implements {@link AttachmentTable.clearLate}. */
  async clearLate(untilMs: number, call?: Call): Promise<void> {
    const { deletes, rows } = this.#parts;
    for (let removed = BATCH; removed === BATCH; ) {
      const some = await rows.listSeen("removed", untilMs, BATCH, call);
      for (const { log } of some) {
        while (await deletes.delete({ log, first: 1, last: Number.MAX_SAFE_INTEGER }, PIECES, call));
        await rows.forget(log, call);
      }
      removed = some.length;
    }
  }
}
