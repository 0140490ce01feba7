import type { Db, Document } from "mongodb";
import type { Call } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { collectionsOf, type MongoCollections } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { isUnknownOutcome, mongoError } from "./mongo-errors.js";
import { KEY_PLACE, KEY_ROW_PLACE } from "./mongo-indexes.js";
import { nextPlace } from "./record-feed.js";

/** How old the last place that this process has read may be when it writes. */
const FRESH_MS = 20_000;

interface PlaceClocks {
  /** The server's time as far as it is known, where updates cannot ask for it. */
  readonly timeMs?: (() => number) | undefined;
  readonly steadyMs?: () => number;
}

type Collections = Pick<MongoCollections, "sessions" | "departures" | "feeds">;

/**
 * The last place in the feed of a namespace. A change gets a later place than the last one that its process has read
 * some seconds ago, so that places go on when the server's clock is set back or another server takes over.
 */
export class FeedPlaces {
  readonly #namespace: string;
  readonly #collections: Collections;
  readonly #commands: MongoCommands;
  readonly #clocks: PlaceClocks;
  #known = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(namespace: string, collections: Collections, commands: MongoCommands, clocks: PlaceClocks = {}) {
    this.#namespace = namespace;
    this.#collections = collections;
    this.#commands = commands;
    this.#clocks = clocks;
  }

  /**
   * The place of a change that is made now, as an expression for its update. The last place is read first when what is
   * known of it is older than some seconds.
   */
  async next(call?: Call): Promise<Document> {
    if (this.#steadyMs() - this.#readAtMs > FRESH_MS) await this.last(call);
    return nextPlace(this.#known, this.#clocks.timeMs?.());
  }

  /** The last place that is visible; 0 when there is none. */
  async last(call?: Call): Promise<number> {
    const readAtMs = this.#steadyMs();
    const { sessions, departures } = this.#collections;
    const namespace = this.#namespace;
    const latest = { place: { $gt: 0 } };
    const options = { projection: { _id: 0, place: 1 }, sort: { place: -1 } } as const;
    // All of these end with the call, which then has one listener instead of several for each command.
    const within = { deadlineMs: call?.deadlineMs };
    const reads = Promise.all([
      this.#commands.read(within, (limits) =>
        sessions.findOne({ namespace, ...latest }, { ...limits, ...options, hint: KEY_PLACE }),
      ),
      this.#commands.read(within, (limits) =>
        departures.findOne({ namespace, ...latest }, { ...limits, ...options, hint: KEY_ROW_PLACE }),
      ),
      this.#commands.read(within, (limits) =>
        sessions
          .find({ namespace, departures: { $exists: true } }, { ...limits, projection: { _id: 0, departures: 1 } })
          .toArray(),
      ),
      this.first(within),
    ]);
    const [state, row, waiting, first] = await untilCallEnd(reads, call);
    const places = waiting.flatMap((document) => (document.departures ?? []).map(({ place }) => Number(place)));
    const last = Math.max(Number(state?.place ?? 0), Number(row?.place ?? 0), first, ...places);
    this.#known = Math.max(this.#known, last);
    this.#readAtMs = Math.max(this.#readAtMs, readAtMs);
    return last;
  }

  /** The last place whose row was removed; 0 when none was. */
  async first(call?: Call): Promise<number> {
    const { feeds } = this.#collections;
    const feed = await this.#commands.read(call, (limits) => feeds.findOne({ _id: this.#namespace }, limits));
    return Number(feed?.first ?? 0);
  }

  #steadyMs(): number {
    return this.#clocks.steadyMs?.() ?? performance.now();
  }
}

/** Whether updates may ask for the server's time. DocumentDB refuses that. */
export async function hasNow(db: Db): Promise<boolean> {
  try {
    await collectionsOf(db).schema.updateOne({ _id: "none" as never }, [{ $set: { now: "$$NOW" } }]);
    return true;
  } catch (error) {
    if (isUnknownOutcome(mongoError(error))) throw error;
    return false;
  }
}
