import type { Collection, Document, Filter, Long, UpdateFilter } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { ArrivedAttachment, StoredAttachment } from "../history/log-store.js";
import { isWritable } from "../history/record-facts.js";
import {
  type AttachmentDocument,
  freeSlot,
  PRESENT,
  removal,
  rowFilter,
  storedSlot,
  toAttachment,
  toRow,
} from "./attachment-document.js";
import { int64 } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import { KEY_USAGE } from "./mongo-indexes.js";
import type { MongoRecords } from "./mongo-records.js";
import type { ServerClock } from "./server-clock.js";

interface Parts {
  readonly commands: MongoCommands;
  readonly clock: ServerClock;
  readonly records: Pick<MongoRecords, "readByUid">;
}

/**
 * The rows of the attachments of one namespace. Each change is one write of one document, whose filter names the states
 * that it may change; states never go back, so a write that is carried out late or twice changes nothing more.
 */
export class MongoAttachmentRows {
  readonly #namespace: string;
  readonly #rows: Collection<AttachmentDocument>;
  readonly #parts: Parts;

  constructor(namespace: string, rows: Collection<AttachmentDocument>, parts: Parts) {
    this.#namespace = namespace;
    this.#rows = rows;
    this.#parts = parts;
  }

  /**
   * Adds the row before it looks whether the session lives: if it does, the row was there in time for every sweep of
   * the session. If not, the row is taken back; one that a dead process leaves is swept like any that arrives.
   */
  async begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone"> {
    const { commands } = this.#parts;
    const row = toRow(this.#namespace, attachment);
    await commands.settle(call, async () => {
      try {
        await commands.write(call, (limits) => this.#rows.insertOne(row, limits));
      } catch (error) {
        if (!duplicateKey(error)) throw error;
      }
    });
    if (await this.#lives(attachment.uid, call)) return "stored";
    await this.remove(attachment.log, call);
    return "gone";
  }

  /** Whether an attachment with this log arrives. */
  async arrives(log: string, call?: Call): Promise<boolean> {
    return (await this.#findOne(rowFilter(this.#namespace, log), call))?.state === "arriving";
  }

  /**
   * The unique index decides which of several attachments with an id is the stored one. The session is looked at before
   * that; if it is deleted in between, its sweep removes the row like its others.
   */
  async complete(arrived: ArrivedAttachment, call?: Call): Promise<StoredAttachment | "gone"> {
    const { commands } = this.#parts;
    const { log, size, sha256, createTimeMicros, seenMs } = arrived;
    for (;;) {
      const row = await this.findLog(log, call);
      if (row?.state === "stored") return row;
      if (row?.state !== "arriving" || !(await this.#lives(row.uid, call))) return "gone";
      const arriving = { ...rowFilter(this.#namespace, log), state: "arriving" as const };
      const facts = { size: int64(size), sha256, create_time: int64(createTimeMicros), seen_ms: int64(seenMs) };
      const stored = { ...facts, state: "stored" as const, slot: storedSlot(row.attachmentId) };
      try {
        await commands.settle(call, () =>
          commands.write(call, (limits) => this.#rows.updateOne(arriving, { $set: stored }, limits)),
        );
      } catch (error) {
        if (!duplicateKey(error)) throw error;
        const [first] = await this.find(row.uid, [row.attachmentId], call);
        // It may have been doomed meanwhile, which frees its id.
        if (first !== undefined) return first;
      }
    }
  }

  async find(uid: string, attachmentIds: readonly string[], call?: Call): Promise<readonly StoredAttachment[]> {
    if (attachmentIds.length === 0) return [];
    const slots = [...new Set(attachmentIds)].map(storedSlot);
    return this.#find(
      { uid, slot: { $in: slots }, namespace: this.#namespace, state: "stored" },
      {},
      slots.length,
      call,
    );
  }

  async findLog(log: string, call?: Call): Promise<StoredAttachment | null> {
    const row = await this.#findOne({ ...rowFilter(this.#namespace, log), state: { $in: PRESENT } }, call);
    return row && toAttachment(row);
  }

  list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]> {
    const from = afterLog < `${uid}.` ? `${uid}.` : afterLog;
    const filter = { _id: { $gt: from, $lt: `${uid}/` }, uid, namespace: this.#namespace, state: { $in: PRESENT } };
    return this.#find(filter, { _id: 1 }, limit, call);
  }

  listSeen(
    state: AttachmentDocument["state"],
    untilMs: number,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]> {
    const seen = { namespace: this.#namespace, state, seen_ms: { $gte: int64(0), $lte: int64(untilMs) } };
    return this.#find(seen, { seen_ms: 1 }, limit, call);
  }

  async change(
    log: string,
    { seenMs, state, pieces }: { readonly seenMs: number; readonly state?: "doomed"; readonly pieces?: number },
    call?: Call,
  ): Promise<void> {
    const changed = {
      seen_ms: int64(seenMs),
      ...(state !== undefined && { state, slot: freeSlot(log) }),
      ...(pieces !== undefined && { pieces }),
    };
    await this.#update(log, { $set: changed }, call);
  }

  /** Hides a row. `forget` deletes it later. */
  async remove(log: string, call?: Call): Promise<void> {
    const removedMs = await this.#parts.clock.timeMs(call);
    await this.#update(log, removal(removedMs), call);
  }

  /** Deletes a row that was removed. */
  async forget(log: string, call?: Call): Promise<void> {
    const { commands } = this.#parts;
    const removed = { ...rowFilter(this.#namespace, log), state: "removed" as const };
    await commands.settle(call, () => commands.write(call, (limits) => this.#rows.deleteOne(removed, limits)));
  }

  async usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }> {
    const sums = {
      _id: null,
      bytes: { $sum: "$size" },
      arriving: { $sum: { $cond: [{ $eq: ["$state", "arriving"] }, 1, 0] } },
    };
    const [found] = await this.#parts.commands.read(call, (limits) =>
      this.#rows
        .aggregate<{ bytes: Long | number; arriving: number }>(
          [{ $match: { uid, state: { $in: PRESENT } } }, { $group: sums }],
          { ...limits, hint: KEY_USAGE },
        )
        .toArray(),
    );
    return { bytes: Number(found?.bytes ?? 0), arriving: found?.arriving ?? 0 };
  }

  /** Whether the session of a row takes entries: it lives, or it is being restored. */
  async #lives(uid: string, call?: Call): Promise<boolean> {
    const record = await this.#parts.records.readByUid(uid, call);
    return record !== null && isWritable(record);
  }

  async #update(log: string, update: UpdateFilter<AttachmentDocument> | Document[], call?: Call): Promise<void> {
    const { commands } = this.#parts;
    const present = { ...rowFilter(this.#namespace, log), state: { $in: PRESENT } };
    await commands.settle(call, () => commands.write(call, (limits) => this.#rows.updateOne(present, update, limits)));
  }

  #findOne(filter: Filter<AttachmentDocument>, call?: Call): Promise<AttachmentDocument | null> {
    return this.#parts.commands.read(call, (limits) => this.#rows.findOne(filter, limits));
  }

  async #find(
    filter: Filter<AttachmentDocument>,
    sort: Readonly<Record<string, 1>>,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]> {
    const rows = await this.#parts.commands.read(call, (limits) =>
      this.#rows
        .find(filter, { ...limits, limit, batchSize: limit + 1 })
        .sort(sort)
        .toArray(),
    );
    return rows.map(toAttachment);
  }
}
