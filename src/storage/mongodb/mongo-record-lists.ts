import type { Collection, Db, Filter } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { RecordFilter, RecordPage, SessionRecord, Sweepable } from "../history/log-store.js";
import { int64 } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { LIVING, type RecordDocument, toRecord } from "./record-document.js";

const EARLIEST = int64(Number.MIN_SAFE_INTEGER);

/** Lists of the records of one namespace. Every list has its key, and goes along it. */
export class MongoRecordLists {
  readonly #namespace: string;
  readonly #db: Db;
  readonly #sessions: Collection<RecordDocument>;
  readonly #commands: MongoCommands;

  constructor(namespace: string, db: Db, sessions: Collection<RecordDocument>, commands: MongoCommands) {
    this.#namespace = namespace;
    this.#db = db;
    this.#sessions = sessions;
    this.#commands = commands;
  }

  async list({ parentId }: RecordFilter, { limit, after }: RecordPage, call?: Call): Promise<readonly SessionRecord[]> {
    const listed = { namespace: this.#namespace, ...(parentId ? { parent_id: parentId } : {}), tombstone: LIVING };
    if (!after) return this.#newestFirst(listed, limit, call);
    const update_time = int64(after.updateTimeMicros);
    // Two ranges of the key rather than one filter: what ties with the place, then what is older.
    const ties = { ...listed, update_time, session_id: { $gte: "", $lt: after.sessionId } };
    const older = { ...listed, update_time: { $gte: EARLIEST, $lt: update_time } };
    const pages = await Promise.all([this.#newestFirst(ties, limit, call), this.#newestFirst(older, limit, call)]);
    return pages.flat().slice(0, limit);
  }

  async touch(times: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    if (times.size === 0) return;
    const updates = [...times].map(([uid, micros]) => ({
      updateOne: {
        filter: { _id: uid, namespace: this.#namespace, tombstone: LIVING },
        update: { $max: { update_time: int64(micros) } },
      },
    }));
    await this.#commands.settle(call, () =>
      this.#commands.write(call, (limits) => this.#sessions.bulkWrite(updates, { ...limits, ordered: false })),
    );
  }

  async listSweepable(ageMs: number, limit: number, call?: Call): Promise<readonly Sweepable[]> {
    const before = new Date((await this.#serverTimeMs(call)) - ageMs);
    const old = { namespace: this.#namespace, forks: 0, sweep_time: { $gt: new Date(0), $lte: before } };
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find(old, { ...limits, limit, batchSize: limit + 1 })
        .sort({ sweep_time: 1 })
        .toArray(),
    );
    return found.map(toRecord).map((record) => ({
      record,
      dropped: record.dropped.filter(({ droppedAtMs }) => (droppedAtMs ?? Number.POSITIVE_INFINITY) <= +before),
    }));
  }

  /** By `_id`; the namespace is looked at in passing: only repairs come this way. */
  async scan(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find({ _id: { $gt: afterUid }, namespace: this.#namespace }, { ...limits, limit, batchSize: limit + 1 })
        .sort({ _id: 1 })
        .hint("_id_")
        .toArray(),
    );
    return found.map(toRecord);
  }

  async #newestFirst(filter: Filter<RecordDocument>, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find(filter, { ...limits, limit, batchSize: limit + 1 })
        .sort({ update_time: -1, session_id: -1 })
        .toArray(),
    );
    return found.map(toRecord);
  }

  async #serverTimeMs(call?: Call): Promise<number> {
    // The driver repeats reads by itself, but no plain command.
    const hello = await this.#commands.settle(call, () =>
      this.#commands.read(call, (limits) => this.#db.command({ hello: 1 }, limits)),
    );
    return (hello.localTime as Date).getTime();
  }
}
