import type { Collection, Filter, Long } from "mongodb";
import type { Call } from "../../domain/call.js";
import type {
  BinFilter,
  BinPage,
  ExpiryBounds,
  RecordFilter,
  RecordPage,
  SessionRecord,
  Usage,
  UsageFilter,
} from "../history/log-store.js";
import { int64 } from "./entry-document.js";
import type { FeedPlaces } from "./feed-places.js";
import type { MongoCommands } from "./mongo-commands.js";
import {
  KEY_BIN,
  KEY_BIN_ID,
  KEY_BIN_OWNER,
  KEY_CREATOR,
  KEY_DRAFTING,
  KEY_OWNER,
  KEY_PURGE,
  KEY_UID,
} from "./mongo-indexes.js";
import { LIVING, type RecordDocument, toRecord } from "./record-document.js";

const EARLIEST = int64(Number.MIN_SAFE_INTEGER);

interface Sums {
  readonly sessions: number;
  readonly counted: number;
  readonly bytes: Long | number;
}

/** Lists of the records of one namespace. Each kind of list scans an index of its own. */
export class MongoRecordLists {
  readonly #namespace: string;
  readonly #sessions: Collection<RecordDocument>;
  readonly #commands: MongoCommands;
  readonly #places: FeedPlaces;

  constructor(namespace: string, sessions: Collection<RecordDocument>, commands: MongoCommands, places: FeedPlaces) {
    this.#namespace = namespace;
    this.#sessions = sessions;
    this.#commands = commands;
    this.#places = places;
  }

  async list(
    { parentId, labels = [], owner }: RecordFilter,
    { limit, after }: RecordPage,
    call?: Call,
  ): Promise<readonly SessionRecord[]> {
    const listed = {
      namespace: this.#namespace,
      ...(parentId ? { parent_id: parentId } : {}),
      // Null finds those without one.
      ...(owner !== undefined && { owner: owner || null }),
      // The index finds the first label of `$all`.
      ...(labels.length > 0 ? { labels: labels.length === 1 ? labels[0] : { $all: labels } } : {}),
      tombstone: LIVING,
    } as Filter<RecordDocument>;
    if (!after) return this.#newestFirst(listed, limit, call);
    const update_time = int64(after.updateTimeMicros);
    // Two ranges of the index instead of one filter: first what ties with the cursor's update time, then what is older.
    const ties = { ...listed, update_time, session_id: { $gte: "", $lt: after.sessionId } };
    const older = { ...listed, update_time: { $gte: EARLIEST, $lt: update_time } };
    const pages = await Promise.all([this.#newestFirst(ties, limit, call), this.#newestFirst(older, limit, call)]);
    return pages.flat().slice(0, limit);
  }

  async touch(times: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    if (times.size === 0) return;
    // Always in the same order, because on servers where a command is a transaction, two commands for the same records
    // must not wait for each other.
    const sorted = [...times].sort(([a], [b]) => (a < b ? -1 : 1));
    const place = await this.#places.next(call);
    const updates = sorted.map(([uid, micros], i) => ({
      updateOne: {
        filter: { _id: uid, namespace: this.#namespace, tombstone: LIVING },
        // One command has one time, and places of their own spare readers many changes at one place.
        update: [
          { $set: { update_time: { $max: ["$update_time", int64(micros)] }, place: { $add: [place, int64(i)] } } },
        ],
      },
    }));
    await this.#commands.settle(call, () =>
      this.#commands.write(call, (limits) => this.#sessions.bulkWrite(updates, { ...limits, ordered: false })),
    );
  }

  async addBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    const updates = this.#bytesOf(bytes, (more) => ({
      // Only numbers are at least 0.
      filter: { bytes: { $gte: 0 } },
      update: [{ $set: { bytes: { $max: [int64(0), { $add: ["$bytes", int64(more)] }] } } }],
    }));
    if (updates.length === 0) return;
    await this.#commands.writeOnce(call, (limits) => this.#sessions.bulkWrite(updates, { ...limits, ordered: false }));
  }

  async setBytes(bytes: ReadonlyMap<string, number>, call?: Call): Promise<void> {
    const updates = this.#bytesOf(bytes, (counted) => ({ filter: {}, update: { $set: { bytes: int64(counted) } } }));
    if (updates.length === 0) return;
    await this.#commands.settle(call, () =>
      this.#commands.write(call, (limits) => this.#sessions.bulkWrite(updates, { ...limits, ordered: false })),
    );
  }

  async usage({ owner, key }: UsageFilter, call?: Call): Promise<Usage> {
    const counted = {
      namespace: this.#namespace,
      ...(owner !== undefined && { owner: owner || null }),
      tombstone: LIVING,
      ...(key !== undefined && { creator_key: key }),
    };
    const isCounted = { $cond: [{ $gte: ["$bytes", 0] }, 1, 0] };
    const sums = { _id: null, sessions: { $sum: 1 }, counted: { $sum: isCounted }, bytes: { $sum: "$bytes" } };
    const hint = owner === undefined ? KEY_CREATOR : KEY_OWNER;
    const [found] = await this.#commands.read(call, (limits) =>
      this.#sessions.aggregate<Sums>([{ $match: counted }, { $group: sums }], { ...limits, hint }).toArray(),
    );
    if (found === undefined) return { sessions: 0, bytes: 0, uncounted: 0 };
    return { sessions: found.sessions, bytes: Number(found.bytes), uncounted: found.sessions - found.counted };
  }

  /** Updates always in the same order, as `touch` does. */
  #bytesOf(
    bytes: ReadonlyMap<string, number>,
    updateOf: (bytes: number) => { readonly filter: object; readonly update: object },
  ) {
    const sorted = [...bytes].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([uid, number]) => {
      const { filter, update } = updateOf(number);
      return { updateOne: { filter: { _id: uid, namespace: this.#namespace, ...filter }, update } };
    });
  }

  async listExpired(
    { expireTimeMicros, updateTimeMicros }: ExpiryBounds,
    limit: number,
    call?: Call,
  ): Promise<readonly SessionRecord[]> {
    const expired = await this.#upTo("expire_time", expireTimeMicros, limit, call);
    if (expired.length === limit || updateTimeMicros === undefined) return expired;
    const uids = new Set(expired.map(({ uid }) => uid));
    const unchanged = await this.#upTo("update_time", updateTimeMicros, limit, call);
    return [...expired, ...unchanged.filter(({ uid }) => !uids.has(uid))].slice(0, limit);
  }

  async #upTo(field: "expire_time" | "update_time", micros: number, limit: number, call?: Call) {
    // Times are whole numbers, so `$lt` one more replaces `$lte`: not every server includes the bound of `$lte` on a
    // field that is not the last one of the index.
    const range = { $gte: EARLIEST, $lt: int64(micros + 1) };
    const filter = { namespace: this.#namespace, tombstone: LIVING, [field]: range };
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find(filter as Filter<RecordDocument>, { ...limits, limit, batchSize: limit + 1 })
        .sort({ [field]: 1 })
        .toArray(),
    );
    return found.map(toRecord);
  }

  /** Deleted sessions that can be brought back, the newest delete first. */
  async listBinned({ owner, sessionId }: BinFilter, { limit, after }: BinPage, call?: Call) {
    const listed = {
      namespace: this.#namespace,
      ...(owner !== undefined && { owner: owner || null }),
      ...(sessionId !== undefined && { session_id: sessionId }),
    };
    const hint = sessionId !== undefined ? KEY_BIN_ID : owner === undefined ? KEY_BIN : KEY_BIN_OWNER;
    const page = async (range: object): Promise<readonly SessionRecord[]> => {
      const filter = { ...listed, ...range } as Filter<RecordDocument>;
      const found = await this.#commands.read(call, (limits) =>
        this.#sessions
          .find(filter, { ...limits, limit, batchSize: limit + 1 })
          .sort({ delete_time: -1, session_id: -1 })
          .hint(hint)
          .toArray(),
      );
      return found.map(toRecord);
    };
    if (after === undefined) return page({ delete_time: { $gte: EARLIEST } });
    const delete_time = int64(after.deleteTimeMicros);
    const older = { delete_time: { $gte: EARLIEST, $lt: delete_time } };
    // No two with the same id have the same time.
    if (sessionId !== undefined) return page(older);
    const ties = { delete_time, session_id: { $gte: "", $lt: after.sessionId } };
    const pages = await Promise.all([page(ties), page(older)]);
    return pages.flat().slice(0, limit);
  }

  /** Those of them whose time is over. */
  async listDue(untilMicros: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const due = { namespace: this.#namespace, purge_time: { $gte: EARLIEST, $lt: int64(untilMicros + 1) } };
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find(due as Filter<RecordDocument>, { ...limits, limit, batchSize: limit + 1 })
        .sort({ purge_time: 1 })
        .hint(KEY_PURGE)
        .toArray(),
    );
    return found.map(toRecord);
  }

  async listSweepable(untilMs: number, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    // Rule: sweep-unforked-only.
    const old = { namespace: this.#namespace, forks: 0, sweep_time: { $gte: new Date(0), $lte: new Date(untilMs) } };
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find(old, { ...limits, limit, batchSize: limit + 1 })
        .sort({ sweep_time: 1 })
        .toArray(),
    );
    return found.map(toRecord);
  }

  async listDrafting(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const after = { namespace: this.#namespace, drafting: true, _id: { $gt: afterUid }, tombstone: LIVING } as const;
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find(after, { ...limits, limit, batchSize: limit + 1 })
        .sort({ _id: 1 })
        .hint(KEY_DRAFTING)
        .toArray(),
    );
    return found.map(toRecord);
  }

  async scan(afterUid: string, limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find({ namespace: this.#namespace, _id: { $gt: afterUid } }, { ...limits, limit, batchSize: limit + 1 })
        .sort({ _id: 1 })
        .hint(KEY_UID)
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
}
