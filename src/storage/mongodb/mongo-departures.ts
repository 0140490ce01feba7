import type { Call } from "../../domain/call.js";
import type { Departure, FeedCursor } from "../history/log-store.js";
import { int64 } from "./entry-document.js";
import type { DepartureRow, MongoCollections } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_DEPARTURES, KEY_ROW_PLACE } from "./mongo-indexes.js";
import type { RecordDocument } from "./record-document.js";

const MOVED_AT_ONCE = 100;
const REMOVED_AT_ONCE = 1000;

type Collections = Pick<MongoCollections, "sessions" | "departures" | "feeds">;
/** A record, or what of it is about its departures. */
type Departed = Pick<RecordDocument, "_id" | "namespace" | "session_id" | "departures">;

const OF_DEPARTED = { namespace: 1, session_id: 1, departures: 1 } as const;

/**
 * The departures of a namespace. Each is stored in the record by the update that makes it, because one update is all
 * that servers do at once, and is moved to a row of its own right after that: as a row it can be read in the order of
 * places, and it outlives the record. While it is in both, readers get one of them.
 */
export class MongoDepartures {
  readonly #namespace: string;
  readonly #collections: Collections;
  readonly #commands: MongoCommands;

  constructor(namespace: string, collections: Collections, commands: MongoCommands) {
    this.#namespace = namespace;
    this.#collections = collections;
    this.#commands = commands;
  }

  /** Moves the departures of a record if that is possible now. Those that stay are moved by a sweep. */
  async move(document: Departed, call?: Call): Promise<void> {
    await this.moveNow(document, call).catch(() => {});
  }

  /** Moves the departures of a record. Rejects if some may not have been moved. */
  async moveNow(document: Departed, call?: Call): Promise<void> {
    const { sessions, departures } = this.#collections;
    const { _id, namespace, session_id } = document;
    const upserts = rowsOf(document).map(({ _id: id, ...row }) => ({
      updateOne: { filter: { _id: id }, update: { $setOnInsert: row }, upsert: true },
    }));
    if (upserts.length === 0) return;
    await this.#commands.settle(call, () =>
      this.#commands.write(call, (limits) => departures.bulkWrite(upserts, { ...limits, ordered: false })),
    );
    // Not if there is another one by now.
    const moved = { _id, namespace, session_id, departures: document.departures as never };
    await this.#commands.settle(call, () =>
      this.#commands.write(call, (limits) => sessions.updateOne(moved, { $unset: { departures: "" } }, limits)),
    );
  }

  /**
   * The departures at places after a cursor, in the order of places: those that are still in records, and at most
   * `limit` rows.
   */
  async after(
    { place, key = LAST_KEY }: FeedCursor,
    limit: number,
    call?: Call,
  ): Promise<{ readonly waiting: readonly Departure[]; readonly rows: readonly Departure[] }> {
    // In this order, because a departure is in a row before it leaves its record.
    const records = await this.#departed(undefined, call);
    const waiting = records.flatMap(rowsOf).map(toDeparture);
    const { departures } = this.#collections;
    const page = { limit, batchSize: limit + 1, hint: KEY_ROW_PLACE };
    const find = (range: object) =>
      this.#commands.read(call, (limits) =>
        departures
          .find({ namespace: this.#namespace, ...range }, { ...limits, ...page })
          .sort({ place: 1, uid: 1 })
          .toArray(),
      );
    const isWithin = key.startsWith(KEY_DEPARTED);
    const [ties, later] = await Promise.all([
      isWithin ? find({ place: int64(place), uid: { $gt: key.slice(1) } }) : [],
      find({ place: { $gt: int64(place) } }),
    ]);
    return { waiting, rows: [...ties, ...later].slice(0, limit).map(toDeparture) };
  }

  /** Removes rows before a place, after `first` of the feed says so. Resolves to how many. */
  async prune(before: number, call?: Call): Promise<number> {
    await this.#moveAll(call);
    const { departures, feeds } = this.#collections;
    const namespace = this.#namespace;
    for (let pruned = 0; ; ) {
      const old = await this.#commands.read(call, (limits) =>
        departures
          .find(
            { namespace, place: { $gt: int64(0), $lt: int64(before) } },
            { ...limits, projection: { place: 1 }, limit: REMOVED_AT_ONCE, batchSize: REMOVED_AT_ONCE + 1 },
          )
          .sort({ place: 1, uid: 1 })
          .hint(KEY_ROW_PLACE)
          .toArray(),
      );
      const last = old.at(-1);
      if (last === undefined) return pruned;
      const first = int64(Number(last.place));
      await this.#commands.settle(call, () =>
        this.#commands.write(call, (limits) =>
          feeds.updateOne({ _id: namespace }, { $max: { first } }, { ...limits, upsert: true }),
        ),
      );
      const removed = { namespace, place: { $gt: int64(0), $lt: first.add(1) } };
      await this.#commands.settle(call, () =>
        this.#commands.write(call, (limits) => departures.deleteMany(removed, limits)),
      );
      pruned += old.length;
    }
  }

  /** Moves what processes that were killed have left in records. */
  async #moveAll(call?: Call): Promise<void> {
    for (let after = ""; ; ) {
      const found = await this.#departed(after, call);
      for (const document of found) await this.moveNow(document, call);
      const last = found.at(-1);
      if (last === undefined) return;
      after = last._id;
    }
  }

  /** Records with departures: all of them, or some after a uid. */
  #departed(afterUid: string | undefined, call?: Call): Promise<readonly Departed[]> {
    const page = afterUid !== undefined && { limit: MOVED_AT_ONCE, batchSize: MOVED_AT_ONCE + 1 };
    const filter = { namespace: this.#namespace, _id: { $gt: afterUid ?? "" }, departures: { $exists: true } };
    return this.#commands.read(call, (limits) =>
      this.#collections.sessions
        .find(filter, { ...limits, ...page, projection: OF_DEPARTED })
        .sort({ _id: 1 })
        .hint(KEY_DEPARTURES)
        .toArray(),
    );
  }
}

/** The keys of departures begin with this in cursors, and those of states with the next digit. */
export const KEY_DEPARTED = "0";
/** After every key at a place. */
const LAST_KEY = "2";

function rowsOf({ _id, namespace, session_id, departures = [] }: Departed): readonly DepartureRow[] {
  return departures.map((departure) => ({
    _id: `${_id} ${departure.place}`,
    ...{ namespace, uid: _id, session_id },
    ...departure,
  }));
}

function toDeparture({ kind, place, uid, session_id, owner, labels }: DepartureRow): Departure {
  return { kind, place: Number(place), uid, sessionId: session_id, past: { owner, labels } };
}
