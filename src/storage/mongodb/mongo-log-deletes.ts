import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Segment } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { PRESENT, removal } from "./attachment-document.js";
import type { MongoCollections } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import type { ServerClock } from "./server-clock.js";

/** How many uids one query looks up. */
const UIDS = 100;
const BEHIND_ALL = "\u{10FFFF}";
/** How many pieces one command deletes. They are much larger than entries. */
const PIECES = 100;

type Target = { readonly uid: string } | Segment;
interface Place {
  readonly log: string;
  readonly seq: number;
}

/** Deletes entries and pieces for sweeps and repairs. */
export class MongoLogDeletes {
  readonly #collections: MongoCollections;
  readonly #commands: MongoCommands;
  readonly #clock: ServerClock;

  constructor(collections: MongoCollections, commands: MongoCommands, clock: ServerClock) {
    this.#collections = collections;
    this.#commands = commands;
    this.#clock = clock;
  }

  /** Rows of attachments are only hidden, as `MongoPieces` explains. */
  async delete(target: Target, limit: number, call?: Call): Promise<boolean> {
    const { messages, pieces } = this.#collections;
    const areMore = await Promise.all([
      this.#deletePlaces(placesIn(messages), target, limit, call),
      this.#deletePlaces(placesIn(pieces), target, Math.min(limit, PIECES), call),
    ]);
    if ("uid" in target) await this.#removeRows(target.uid, call);
    return areMore.includes(true);
  }

  /**
   * Finds the places first and deletes them by range, because a delete has no limit of its own. Ranges end before a
   * bound: not every server includes that of `$lte` on a field that is not the last one of the index.
   */
  async #deletePlaces(collection: Collection<Place>, target: Target, limit: number, call?: Call): Promise<boolean> {
    const filter =
      "uid" in target
        ? { log: { $gte: `${target.uid}.`, $lt: afterUid(target.uid) } }
        : { log: target.log, seq: { $gte: target.first, $lt: target.last + 1 } };
    const sort = "uid" in target ? ({ log: 1, seq: 1 } as const) : ({ seq: 1 } as const);
    const places = await this.#commands.read(call, (limits) =>
      collection
        .find(filter, { ...limits, projection: { _id: 0, log: 1, seq: 1 }, limit, batchSize: limit + 1 })
        .sort(sort)
        .toArray(),
    );
    for (const { log, first, last } of rangesOf(places)) {
      const range = { log, seq: { $gte: first, $lt: last + 1 } };
      await this.#commands.settle(call, () =>
        this.#commands.write(call, (limits) => collection.deleteMany(range, limits)),
      );
    }
    return places.length === limit;
  }

  async #removeRows(uid: string, call?: Call): Promise<void> {
    const { attachments } = this.#collections;
    const present = { uid, state: { $in: PRESENT } };
    const found = await this.#commands.read(call, (limits) =>
      attachments.findOne(present, { ...limits, projection: { _id: 1 } }),
    );
    if (found === null) return;
    const removed = removal(await this.#clock.timeMs(call));
    await this.#commands.settle(call, () =>
      this.#commands.write(call, (limits) => attachments.updateMany(present, removed, limits)),
    );
  }

  async listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    const { messages, pieces, attachments } = this.#collections;
    const firstLogs = [
      (from: string) => this.#firstLog(placesIn(messages), from, call),
      (from: string) => this.#firstLog(placesIn(pieces), from, call),
      async (from: string) => {
        const rows = { _id: { $gte: from, $lt: BEHIND_ALL }, state: { $in: PRESENT } };
        const options = { projection: { _id: 1 }, sort: { _id: 1 } } as const;
        const row = await this.#commands.read(call, (limits) => attachments.findOne(rows, { ...limits, ...options }));
        return row?._id;
      },
    ];
    const orphans = new Set<string>();
    for (const firstLog of firstLogs) {
      for (let after = ""; orphans.size < limit; ) {
        const uids = await this.#ownersAfter(after, firstLog);
        const last = uids.at(-1);
        if (last === undefined) break;
        const known = await this.#knownOf(uids, call);
        for (const uid of uids) if (!known.has(uid)) orphans.add(uid);
        after = afterUid(last);
      }
    }
    return [...orphans].slice(0, limit);
  }

  /** The next uids that own something; asks the index for the first log after each. */
  async #ownersAfter(
    after: string,
    firstLog: (from: string) => Promise<string | undefined>,
  ): Promise<readonly string[]> {
    const uids: string[] = [];
    for (let from = after; uids.length < UIDS; ) {
      const log = await firstLog(from);
      if (log === undefined) break;
      const uid = ownerOf(log);
      uids.push(uid);
      from = afterUid(uid);
    }
    return uids;
  }

  async #firstLog(collection: Collection<Place>, from: string, call?: Call): Promise<string | undefined> {
    const [next] = await this.#commands.read(call, (limits) =>
      collection
        .find(
          { log: { $gte: from, $lt: BEHIND_ALL } },
          { ...limits, projection: { _id: 0, log: 1 }, limit: 1, batchSize: 2 },
        )
        .sort({ log: 1, seq: 1 })
        .toArray(),
    );
    return next?.log;
  }

  async #knownOf(uids: readonly string[], call?: Call): Promise<ReadonlySet<string>> {
    const { sessions } = this.#collections;
    const found = await this.#commands.read(call, (limits) =>
      sessions.find({ _id: { $in: [...uids] } }, { ...limits, projection: { _id: 1 }, batchSize: UIDS + 1 }).toArray(),
    );
    return new Set(found.map(({ _id }) => _id));
  }
}

function placesIn(collection: unknown): Collection<Place> {
  return collection as Collection<Place>;
}

/** The first name after all logs of a uid, because "/" follows ".". */
function afterUid(uid: string): string {
  return `${uid}/`;
}

function rangesOf(places: readonly Place[]): Segment[] {
  const ranges = new Map<string, Segment>();
  for (const { log, seq } of places) ranges.set(log, { log, first: ranges.get(log)?.first ?? seq, last: seq });
  return [...ranges.values()];
}
